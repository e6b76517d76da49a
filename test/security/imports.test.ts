/**
 * Somebody sends an exported run. The oracle is the file `ran`, which its command, the module that it names, or the file that its schedule
 * names would write.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { CairnError } from '../../src/errors.ts';
import { openApp, type App } from '../../src/app/open-app.ts';
import { scale } from '../support/scale.ts';
import { importRun, type ImportRunOutput } from '../../src/operations/store/move-runs.ts';
import { resumeRun } from '../../src/operations/runs/resume-run.ts';
import { startRun } from '../../src/operations/runs/start-run.ts';
import { answerWait } from '../../src/operations/waits/answer-wait.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';

vi.setConfig({ testTimeout: 600_000 });

const folders: string[] = [];
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function open(
  allow: readonly string[] = [],
  modules: readonly string[] = [],
): Promise<{ readonly app: App; readonly cwd: string }> {
  const cwd = mkdtempSync(join(tmpdir(), 'cairn-imports-'));
  folders.push(cwd);
  if (modules.length > 0) writeFileSync(join(cwd, 'cairn.config.json'), JSON.stringify({ modules }));
  const app = await openApp({ cwd, storeUrl: 'runs.db', allow });
  apps.push(app);
  return { app, cwd };
}

const yaml = (ran: string): string => `name: sent
blocks:
  - { id: ask, type: ConfirmOperation, inputs: { operation: go, message: Go? } }
  - { id: act, type: Shell, depends_on: [ask], inputs: { command: "touch ${ran}" } }
`;
const dot = (ran: string): string => `digraph Sent {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  act [shape=parallelogram, tool_command="touch ${ran}"]
  ask [shape=hexagon, label="Go?"]
  start -> ask
  ask -> act [label="[Y] Yes"]
  act -> exit
}
`;

/** Honest exports that were made already, by dialect and the file that the command would write. */
const exported = new Map<string, string>();

/** The export of a run that waits before its command, as its sender could write it: `change` alters its header's meta. */
async function sent(
  ran: string,
  dialect: 'yaml' | 'dot',
  change: (meta: Record<string, unknown>) => Record<string, unknown> = (meta) => meta,
): Promise<string> {
  const name = `${dialect} ${ran}`;
  const text = exported.get(name) ?? (await exportOf(ran, dialect));
  exported.set(name, text);
  return text.replace(/"meta":"([^"]*)"/, (_, meta: string) => {
    const changed = change(JSON.parse(Buffer.from(meta, 'base64').toString()) as Record<string, unknown>);
    return `"meta":"${Buffer.from(JSON.stringify(changed)).toString('base64')}"`;
  });
}

async function exportOf(ran: string, dialect: 'yaml' | 'dot'): Promise<string> {
  const { app, cwd } = await open();
  const file = `sent.${dialect}`;
  writeFileSync(join(cwd, file), dialect === 'yaml' ? yaml(ran) : dot(ran));
  await startRun.run(app, { file, runId: 'r' });
  let text = '';
  for await (const piece of app.engine.history.export('r')) text += piece;
  return text;
}

async function* pieces(text: string): AsyncGenerator<string> {
  yield text;
}

/** Answers what the run asks, and goes on with it. @returns its status, or the code of the error that stopped it */
async function goOn(app: App, run: string): Promise<string> {
  try {
    await answerWait.run(app, { run, value: 'yes' });
    return (await resumeRun.run(app, { run })).status;
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
}

/** What an export may say of itself, and as what. */
const lieKeys = [
  'isImported',
  'isTrusted',
  'trust',
  'trusted',
  'origin',
  'source',
  'exportName',
  'allow',
  'permissions',
  'grants',
  'labels',
  'tenant',
  'isOwn',
  '__proto__',
] as const;
const lieValues = [
  true,
  false,
  null,
  0,
  1,
  '',
  'file',
  'evil.mjs',
  '../evil.mjs',
  'inline',
  ['shell'],
  { shell: true },
  { isTrusted: true },
] as const;

test('N8.1 an imported run is held to the grants, whatever its export says of itself', async () => {
  const random = createSeededRandom(6_112);
  let imported = 0;
  const ran = join((await open()).cwd, 'ran');
  for (let round = 0; round < scale(5, 200); round += 1) {
    const { app, cwd } = await open();
    writeFileSync(
      join(cwd, 'evil.mjs'),
      `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');\n`,
    );
    const lies = (count: number): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: count }, () => [random.pick(lieKeys), random.pick(lieValues)]));
    const inMeta = lies(random.integer(4));
    const honest = await sent(ran, random.pick(['yaml', 'dot']), (meta) => ({ ...meta, ...inMeta }));
    const [header = '', ...rest] = honest.split('\n');
    const inHeader = lies(random.chance(0.5) ? 0 : random.integer(3));
    const text = [JSON.stringify({ ...JSON.parse(header), ...inHeader }), ...rest].join('\n');
    const move = random.chance(0.5);
    const output = await importRun.run({ ...app, text: pieces(text) }, { move }).catch((error: unknown) => error);
    expect(existsSync(ran)).toBe(false);
    // A lie of a wrong kind is refused.
    if (output instanceof CairnError) continue;
    imported += 1;
    const { runId, needs, isTrusted } = output as ImportRunOutput;
    expect([isTrusted, needs.join('; ')]).toEqual([false, expect.stringContaining('shell')]);
    expect([inMeta, inHeader, await goOn(app, runId), existsSync(ran)]).toEqual([
      inMeta,
      inHeader,
      'PERMISSION_DENIED',
      false,
    ]);
    const fork = await app.engine.fork({ runId, seq: 0 });
    await expect(resumeRun.run(app, { run: fork.runId })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(existsSync(ran)).toBe(false);
  }
  expect(imported).toBeGreaterThan(0);
});

test('N8.1 a person trusts an import, or grants what it asks for', async () => {
  const trusting = await open();
  const text = await sent(join(trusting.cwd, 'ran'), 'yaml');
  const { runId } = await importRun.run({ ...trusting.app, text: pieces(text) }, { trust: true });
  expect([await goOn(trusting.app, runId), existsSync(join(trusting.cwd, 'ran'))]).toEqual(['completed', true]);
  const granting = await open(['shell']);
  const other = await sent(join(granting.cwd, 'ran'), 'dot');
  const copy = await importRun.run({ ...granting.app, text: pieces(other) }, {});
  expect([await goOn(granting.app, copy.runId), existsSync(join(granting.cwd, 'ran'))]).toEqual(['completed', true]);
});

test('N8.1 an import is not trusted by being repeated, and imports no module that it names, listed in a configuration or not', async () => {
  const { app, cwd } = await open();
  const ran = join(cwd, 'ran');
  const text = await sent(ran, 'yaml');
  await importRun.run({ ...app, text: pieces(text) }, { move: true });
  await expect(importRun.run({ ...app, text: pieces(text) }, { move: true, trust: true })).rejects.toMatchObject({
    code: 'RUN_EXISTS',
  });
  writeFileSync(
    join(cwd, 'evil.mjs'),
    `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');\n`,
  );
  const bare = await sent(ran, 'yaml', (meta) => ({ ...meta, text: undefined, source: 'evil.mjs' }));
  const { runId } = await importRun.run({ ...app, text: pieces(bare) }, {});
  expect([await goOn(app, runId), existsSync(ran)]).toEqual(['CODE_NOT_RUN', false]);
});

const graphModule = (ran: string): string => `import { writeFileSync } from 'node:fs';
import { AgentGraph, END, functionNode, START } from '${new URL('../../src/index.ts', import.meta.url).href}';
export const graph = new AgentGraph({}, { id: 'deploy' })
  .addNode('ask', functionNode(async (ctx) => void (await ctx.ask({ prompt: 'Go?' })), { effect: 'human' }))
  .addNode('act', functionNode(() => writeFileSync(${JSON.stringify(ran)}, 'yes'), { effect: 'write' }))
  .addEdge(START, 'ask').addEdge('ask', 'act').addEdge('act', END).compile();
`;

test.each(['by its path', 'by its graph'])(
  'N8.1 a run of somebody else starts a module of the operator only by a grant: %s',
  async (how) => {
    const ran = join((await open()).cwd, 'ran');
    const of = async (allow: readonly string[]): Promise<App> => {
      const { app, cwd } = await open(allow, ['deploy.ts']);
      writeFileSync(join(cwd, 'deploy.ts'), graphModule(ran));
      return app;
    };
    const sender = await of([]);
    await startRun.run(sender, { file: 'deploy.ts', runId: 'r' });
    let text = '';
    for await (const piece of sender.engine.history.export('r')) text += piece;
    text = text.replace(/"meta":"([^"]*)"/, (_, meta: string) => {
      const {
        source: _source,
        exportName: __,
        ...others
      } = JSON.parse(Buffer.from(meta, 'base64').toString()) as Record<string, unknown>;
      const changed = { ...others, ...(how === 'by its path' && { source: 'deploy.ts' }) };
      return `"meta":"${Buffer.from(JSON.stringify(changed)).toString('base64')}"`;
    });
    for (const allow of [[], ['module=other.ts'], ['module=deploy.ts']]) {
      const app = await of(allow);
      const { runId } = await importRun.run({ ...app, text: pieces(text) }, {});
      const isGranted = allow.includes('module=deploy.ts');
      expect([allow, await goOn(app, runId), existsSync(ran)]).toEqual([
        allow,
        isGranted ? 'completed' : 'CODE_NOT_RUN',
        isGranted,
      ]);
    }
  },
);
