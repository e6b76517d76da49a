/**
 * Somebody unpacks an archive with a configuration, workflows, modules and a store, and looks at it. The oracle is the file `ran`, which each
 * piece of code in the archive writes when it is executed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { environment, main, openFolder, type Folder } from '../cli/cairn.ts';
import { scale } from '../support/scale.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 900_000 });

const marks = "import { appendFileSync as mark } from 'node:fs';\nmark(new URL('ran', import.meta.url), 'x');\n";
const library = join(import.meta.dirname, '../../src/index.ts');
const module = `import { AgentGraph, END, functionNode, START } from ${JSON.stringify(library)};
export const graph = new AgentGraph({}, { id: 'looked-at' }).addNode('only', functionNode(() => 'done')).addEdge(START, 'only').addEdge('only', END).compile();
`;
const pipeline = 'digraph looked { graph [goal="look"]; s [shape=Mdiamond]; e [shape=Msquare]; s -> e }\n';

/** What each command is given. Commands that are not here change something, and are in `changing`. */
const reading: Readonly<Record<string, readonly string[]>> = {
  inbox: [],
  plan: ['looked.dot'],
  workflows: [],
  schema: [],
  convert: ['--to', 'yaml', 'looked.dot'],
  lint: ['looked.dot'],
  fmt: ['looked.dot'],
  draw: ['r'],
  ls: [],
  log: ['r'],
  audit: ['r'],
  checkpoints: [],
  show: ['r'],
  state: ['r'],
  diff: ['r@0', 'r'],
  blame: ['r', 'status'],
  bisect: ['r', '--when', 'status == "completed"'],
  graph: ['r'],
  'post-mortem': ['r'],
  preview: ['r'],
  check: [],
  export: ['r', '-'],
  backup: ['copy.backup'],
  verify: [],
  identity: [],
  stats: [],
  workers: [],
  doctor: [],
  completion: ['runs'],
};
const changing =
  'run resume answer link signal signal-with-start fork cancel label tag prune cleanup rm import restore hold release migrate worker schedule limits dataset experiment mcp serve studio'.split(
    ' ',
  );

/** The store of a run of a module, which by then writes `ran`, beside whatever configuration is asked for. */
function openArchive(): Folder {
  const folder = openFolder();
  folder.write('looked.dot', pipeline);
  folder.write('evil.mjs', module);
  const { code, err } = folder.cairn('run', 'evil.mjs', '--run-id', 'r');
  expect([code, err]).toEqual([0, expect.any(String)]);
  folder.write('evil.mjs', marks + module);
  return folder;
}

const hasRun = (folder: Folder): boolean => existsSync(join(folder.path, 'ran'));
const forget = (folder: Folder): void => rmSync(join(folder.path, 'ran'), { force: true });
/** What else an archive can hold so that a program which looks there runs it. */
const traps: Readonly<Record<string, string>> = {
  '.env': 'NODE_OPTIONS=--import=./evil.mjs\nCAIRN_STORE=evil.mjs\n',
  '.npmrc': 'node-options=--import=./evil.mjs\n',
  'package.json': '{ "type": "module", "imports": { "#config": "./evil.mjs" }, "main": "./evil.mjs" }',
  'cairn.config.cjs': "require('node:fs').appendFileSync(__dirname + '/ran', 'x');\n",
  'cairn.config.mts': marks,
  'workflow.config.js': marks,
  'yaml.js': marks,
  node: '#!/bin/sh\ntouch ran\n',
  'node_modules/yaml/index.js': marks,
  'node_modules/pg/index.js': marks,
  'node_modules/ai/index.js': marks,
  'node_modules/redis/index.js': marks,
  'node_modules/cairn-workflows/index.js': marks,
};
function plant(folder: Folder, name: string): void {
  const path = join(folder.path, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, traps[name] ?? '', { mode: 0o755 });
  if (name.startsWith('node_modules/'))
    writeFileSync(join(dirname(path), 'package.json'), '{ "type": "module", "main": "index.js" }');
}

const configNames = ['cairn.config.ts', 'cairn.config.mjs', 'cairn.config.js'];
const config = `${marks}export default {};\n`;

test('D15.1 every command is known to read or to change something', () => {
  const listed = [
    ...openFolder()
      .cairn('--help')
      .out.matchAll(/^ {2}([a-z][a-z-]+) {2,}/gm),
  ].map(([, name = '']) => name);
  expect(listed.length).toBeGreaterThan(35);
  expect(listed.filter((name) => name !== 'help').toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
    [...Object.keys(reading), ...changing].toSorted((a, b) => (a < b ? -1 : 1)),
  );
});

test('D15.1 a command that only reads runs no configuration that is code, refuses, and names the way', () => {
  const folder = openArchive();
  for (const name of configNames) {
    folder.write(name, config);
    const commands = name === configNames[0] ? Object.entries(reading) : [['ls', []] as const];
    for (const [command, args] of commands) {
      const { code, out, err } = folder.cairn(command, ...args);
      expect([command, hasRun(folder)]).toEqual([command, false]);
      const refusal = [
        `cairn: ${name} is code, and what only reads runs no code [CODE_NOT_RUN]`,
        `--config ${name}`,
        'cairn.config.json',
      ];
      // `fmt` needs no configuration.
      const expected = command === 'fmt' ? [] : refusal;
      expect([command, code, refusal.filter((part) => err.includes(part))]).toEqual([
        command,
        command === 'fmt' ? 0 : 2,
        expected,
      ]);
      expect([command, command === 'fmt' ? '' : out]).toEqual([command, '']);
    }
    rmSync(join(folder.path, name));
  }
});

test('D15.1 the code that the user names is run, and so is the module that lint is given', () => {
  const folder = openArchive();
  folder.write('cairn.config.mjs', config);
  expect(folder.cairn('lint', 'evil.mjs').code).toBe(0);
  expect(hasRun(folder)).toBe(true);
  forget(folder);
  expect(folder.cairn('ls', '--config', 'cairn.config.mjs').out).toMatch(/^r +completed/m);
  expect(hasRun(folder)).toBe(true);
  forget(folder);
  expect(folder.cairn('ls', '--store', '.cairn/cairn.db').out).toMatch(/^r +completed/m);
  expect(hasRun(folder)).toBe(false);
});

test('D15.1 beside data no code is run by what reads, whatever is combined', () => {
  const random = createSeededRandom(20_261_127);
  const folder = openArchive();
  const commands = Object.entries(reading);
  for (let round = 0; round < scale(7, 150); round += 1) {
    const trap = random.pick(Object.keys(traps));
    plant(folder, trap);
    const data = random.pick(['cairn.config.json', 'cairn.config.yaml']);
    const store = random.pick([{}, { store: 'sqlite:.cairn/cairn.db' }]);
    const code = random.pick(configNames);
    const [command, args] = random.pick(commands);
    const words = [command, ...args, ...random.pick([[], ['--json'], ['--config', data]])];
    folder.write(data, JSON.stringify({ ...store, workflows: ['.'] }));
    folder.write(code, config);
    const reply = folder.cairn(...words);
    expect([words.join(' '), hasRun(folder)]).toEqual([words.join(' '), false]);
    // Only the preview's module is asked for: the store and the configuration are read as data.
    expect([words.join(' '), reply.err.includes('CODE_NOT_RUN')]).toEqual([words.join(' '), command === 'preview']);
    for (const name of [data, code, trap]) rmSync(join(folder.path, name), { recursive: true });
    rmSync(join(folder.path, 'node_modules'), { recursive: true, force: true });
  }
});

test('D15.2 preview imports a module only if the user or the configuration names it', () => {
  const folder = openArchive();
  const refused = folder.cairn('preview', 'r@0');
  expect([refused.code, hasRun(folder)]).toEqual([2, false]);
  expect(refused.err).toContain('evil.mjs is code, and what only reads runs no code [CODE_NOT_RUN]');
  expect(refused.err).toContain('--file evil.mjs');
  expect(folder.cairn('preview', 'r@0', '--file', 'evil.mjs').out).toContain('only');
  expect(hasRun(folder)).toBe(true);
  forget(folder);
  folder.write('cairn.config.json', '{ "modules": ["evil.mjs"] }');
  expect(folder.cairn('preview', 'r@0').out).toContain('only');
  expect(hasRun(folder)).toBe(true);
});

test('D15.1 the Tab key expands nothing that a store holds', () => {
  const folder = openArchive();
  const database = new DatabaseSync(join(folder.path, '.cairn/cairn.db'));
  const ids = ['$(touch${IFS}ran)', '`touch${IFS}ran`', 'a;touch ran', '-x', "r'", 'r"'];
  database.exec('PRAGMA foreign_keys = OFF');
  const columns = (database.prepare("SELECT name FROM pragma_table_info('runs')").all() as { name: string }[]).map(
    ({ name }) => name,
  );
  for (const id of ids) {
    const values = columns.map((name) => (name === 'run_id' ? '?' : name)).join(', ');
    database.prepare(`INSERT INTO runs (${columns.join(', ')}) SELECT ${values} FROM runs WHERE run_id = 'r'`).run(id);
  }
  database.close();
  const offered = folder.cairn('completion', 'runs').out.split('\n');
  expect(offered.filter((line) => ids.includes(line))).toEqual([]);
  // A cairn that offers them all the same: the script alone must not expand them.
  const script = `cairn() { printf '%s\\n' '$(touch ran)' '\`touch ran\`' r; }
source <(node ${JSON.stringify(main)} completion bash); COMP_WORDS=(cairn log ''); COMP_CWORD=2; _cairn; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = spawnSync('bash', ['-c', script], { cwd: folder.path, env: environment(), encoding: 'utf8' });
  expect(stdout.split('\n').slice(0, 3)).toEqual(['$(touch ran)', '`touch ran`', 'r']);
  expect(hasRun(folder)).toBe(false);
});

test('D15.1 what runs things runs the configuration, and data comes from the data alone', () => {
  const folder = openArchive();
  folder.write('cairn.config.mjs', config);
  folder.write('cairn.config.json', '{ "store": "sqlite:other.db" }');
  expect(folder.cairn('run', 'looked.dot', '--run-id', 'd').code).toBe(0);
  expect(hasRun(folder)).toBe(true);
  expect(folder.cairn('ls', '--store', 'other.db').out).toMatch(/^d +completed/m);
  for (const said of ["store: 'sqlite:third.db'", 'workflows: ["."]', 'allow: ["inline"]']) {
    folder.write('cairn.config.mjs', `export default { ${said} };\n`);
    const { code, err } = folder.cairn('run', 'looked.dot');
    expect([code, err]).toEqual([2, expect.stringMatching(/belongs into cairn\.config\.json.*\[CONFIG_INVALID\]/)]);
  }
  // The code of a folder belongs to the data beside it, also when it is named.
  folder.write('cairn.config.mjs', config);
  expect(folder.cairn('ls', '--config', 'cairn.config.mjs').out).toMatch(/^d +completed/m);
});
