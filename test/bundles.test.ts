/** A program that is bundled with the package runs in another folder, as it would unbundled; it needs no optional package to be bundled. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtMain } from './support/built-package.ts';

const root = join(import.meta.dirname, '..');
const top = mkdtempSync(join(tmpdir(), 'cairn-bundles-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** Where the program is written: the package alone is installed there. */
const source = join(top, 'source');
const installed = join(source, 'node_modules/cairn-workflows');

const program = `
import { writeFileSync } from 'node:fs';
import { openCairn } from 'cairn-workflows';
import * as cairnAgents from 'cairn-workflows/agents';
import * as cairnAiSdk from 'cairn-workflows/ai-sdk';
import * as cairnBlocks from 'cairn-workflows/nodes';
import * as cairnCheckpoint from 'cairn-workflows/checkpoint';
import * as cairnDot from 'cairn-workflows/dot';
import * as cairnMcp from 'cairn-workflows/mcp';
import * as cairnModels from 'cairn-workflows/models';
import * as cairnStore from 'cairn-workflows/store';
import * as cairnSqlite from 'cairn-workflows/stores/sqlite';
import * as cairnTesting from 'cairn-workflows/testing';

const doors = [cairnAgents, cairnAiSdk, cairnBlocks, cairnCheckpoint, cairnDot, cairnMcp, cairnModels, cairnStore, cairnSqlite, cairnTesting];
const codeOf = async (act) => { try { await act(); return 'ok'; } catch (error) { return error.code + ': ' + error.data?.package; } };

async function main() {
  writeFileSync('greet.yaml', \`
name: greet
blocks:
  - { id: hello, type: EchoBlock, inputs: { message: hello } }
outputs: { said: { value: "\\\${blocks.hello.outputs.echoed}" } }
\`);
  writeFileSync('ask.yaml', \`
name: ask
blocks:
  - { id: rows, type: Sql, inputs: { engine: sqlite, path: ":memory:", sql: "select 40 + 2 as answer" } }
outputs: { rows: { value: "\\\${blocks.rows.outputs.rows}" } }
\`);
  const cairn = await openCairn({ store: 'sqlite:runs.db', allow: ['sqlite', 'fs'] });
  const run = async (file) => {
    const { runId } = await cairn.run({ file });
    const { status, error, outputs } = await cairn.inspect({ run: runId });
    return { status, ...(error === undefined ? { outputs } : { error: error.message }) };
  };
  const greeted = await run('greet.yaml');
  const asked = await run('ask.yaml');
  const { svg } = await cairn.draw({ target: 'greet.yaml' });
  const served = await codeOf(() => cairnMcp.startMcpServer({}));
  await cairn.close();
  console.log(JSON.stringify({ doors: doors.every((door) => Object.keys(door).length > 0), greeted, asked, drawn: svg.startsWith('<svg'), served }));
}
main();
`;

beforeAll(() => {
  mkdirSync(installed, { recursive: true });
  cpSync(join(root, 'package.json'), join(installed, 'package.json'));
  cpSync(dirname(builtMain), join(installed, 'dist'), { recursive: true });
  writeFileSync(join(source, 'program.mjs'), program);
}, 120_000);

test.each([
  ['ES modules', { format: 'esm', minify: false }],
  ['CommonJS', { format: 'cjs', minify: false }],
  ['minified', { format: 'esm', minify: true }],
] as const)('P5 a bundle as %s runs in another folder', { timeout: 180_000 }, async (name, options) => {
  const folder = join(top, name.replace(' ', '-'));
  mkdirSync(folder);
  const file = join(folder, options.format === 'esm' ? 'program.mjs' : 'program.cjs');
  const { warnings } = await build({
    ...options,
    entryPoints: [join(source, 'program.mjs')],
    outfile: file,
    bundle: true,
    platform: 'node',
    target: 'node22',
    logLevel: 'silent',
  });
  // CommonJS has no `import.meta`, whose folder is only one of those that are looked through.
  expect(warnings.map(({ id }) => id).filter((id) => id !== 'empty-import-meta')).toEqual([]);
  const runIn = (cwd: string): unknown => JSON.parse(execFileSync(process.execPath, [file], { cwd, encoding: 'utf8' }));
  const everywhere = {
    doors: true,
    greeted: { status: 'completed', outputs: { said: 'Echo: hello' } },
    drawn: true,
    served: 'CONFIG_MISSING_PEER: @modelcontextprotocol/server',
  };
  expect(runIn(folder)).toEqual({
    ...everywhere,
    asked: { status: 'failed', error: 'node rows failed: package cairn-workflows is not installed' },
  });
  // The process of Sql on SQLite is a file of the package: it is found where the package is installed.
  expect(runIn(source)).toMatchObject({ ...everywhere, asked: { status: 'completed' } });
});

const blockingProgram = `
import { AgentGraph, createWorker, END, START, openStore } from 'cairn-workflows';
async function main() {
  const store = openStore('sqlite:blocked.db');
  const begun = [];
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('hold', () => { begun.push('hold'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_500); })
    .addNode('after', () => begun.push('after'), { effectClass: 'external' })
    .addEdge(START, 'hold').addEdge('hold', 'after').addEdge('after', END)
    .compile({ store, leaseMs: 1_500, wakes: false });
  const worker = createWorker({ graphs: [graph], pollMs: 100, onRested: ({ status }) => {
    console.log(JSON.stringify({ status, begun }));
    process.exit();
  } });
  // The thread of the worker comes up meanwhile.
  setTimeout(() => graph.start({}, { detach: true }), 1_000);
}
main();
`;

test(
  'O2.9 a bundle renews leases while its event loop is blocked, with no file beside it',
  { timeout: 60_000 },
  async () => {
    const folder = join(top, 'blocked');
    mkdirSync(folder);
    writeFileSync(join(source, 'blocking.mjs'), blockingProgram);
    const outfile = join(folder, 'program.cjs');
    const options = { format: 'cjs', minify: true, keepNames: true, platform: 'node', target: 'node22' } as const;
    await build({ ...options, entryPoints: [join(source, 'blocking.mjs')], outfile, bundle: true, logLevel: 'silent' });
    const said = execFileSync(process.execPath, [outfile], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(JSON.parse(said)).toEqual({ status: 'completed', begun: ['hold', 'after'] });
  },
);
