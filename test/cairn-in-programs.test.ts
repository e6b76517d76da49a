/** What a command can do, a program can: each command beside the function that does the same, and some of them done. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, expectTypeOf, test } from 'vitest';
import * as library from '../src/index.ts';
import { openCairn, type Cairn, type RunProgress } from '../src/index.ts';
import type { AnyOperation } from '../src/operations/contract/operation.ts';
import * as operations from '../src/operations/table.ts';
import * as http from '../src/http/index.ts';
import * as storeDoor from '../src/store.ts';
import * as mcp from '../src/mcp/index.ts';

const commands = join(import.meta.dirname, '../src/cli/commands');

/** What does the same as a command, where it is not the method of its name. Never called: the type checker knows whether it is there. */
const elsewhere: Readonly<Record<string, () => unknown>> = {
  backup: () => storeDoor.backUp,
  restore: () => storeDoor.restore,
  worker: () => library.createWorker,
  mcp: () => mcp.startMcpServer,
  serve: () => http.createHandler,
  link: () => http.createAnswerLinks,
  doctor: () => cairn.history.examine(),
  export: () => cairn.history.export('nobody'),
  import: () => cairn.history.import(cairn.history.export('nobody')),
  // Of a shell, a database and a browser, not of runs: a store's tables are made when it is opened.
  completion: () => true,
  migrate: () => true,
  studio: () => true,
};

let folder = '';
let cairn: Cairn;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-program-'));
  cairn = await openCairn({ cwd: folder, store: 'memory:', allow: ['shell'] });
});
afterEach(async () => {
  await cairn.close();
  rmSync(folder, { recursive: true, force: true });
});

test('D24 each command has its function in the library', () => {
  const names = readdirSync(commands).flatMap((file) =>
    [...readFileSync(join(commands, file), 'utf8').matchAll(/^export (?:const|function) (\w+)Command\b/gmu)].map(
      ([, name = '']) =>
        name.replace(/^(?:runRun|create)/u, (begin) => (begin === 'runRun' ? 'run' : '')).toLowerCase(),
    ),
  );
  expect(names.length).toBeGreaterThan(35);
  const named = Object.entries<AnyOperation>(operations).map(([method, { command }]) => [
    command?.replaceAll('-', ''),
    method,
  ]);
  const methods: Readonly<Record<string, string>> = { ...Object.fromEntries(named), schema: 'schema' };
  const missing = names.filter((name) => !((methods[name] ?? '') in cairn) && !Object.hasOwn(elsewhere, name));
  expect(missing).toEqual([]);
  expect(Object.keys(elsewhere).filter((name) => !names.includes(name))).toEqual([]);
});

const text = `name: greet
inputs:
  who: { type: string, required: true }
blocks:
  - { id: hello, type: EchoBlock, inputs: { message: "hello \${inputs.who}" } }
  - { id: ok, type: ConfirmOperation, depends_on: [hello], inputs: { operation: send, message: "Send it?" } }
  - { id: last, type: EchoBlock, depends_on: [ok], inputs: { message: "\${blocks.hello.outputs.echoed}!" } }
outputs:
  said: { value: "\${blocks.last.outputs.echoed}" }
`;

test('D24 a program plans, checks, runs, answers and inspects a workflow of a file, typed', async () => {
  writeFileSync(join(folder, 'greet.yaml'), text);
  const plan = await cairn.plan({ file: 'greet.yaml' });
  expect(plan.blocks.map(({ id }) => id)).toEqual(['hello', 'ok', 'last']);
  expect(await cairn.check({ text: text.replace('hello.outputs', 'helo.outputs') })).toMatchObject({ isValid: false });
  expect((await cairn.workflows()).workflows).toEqual([]);
  expect(await cairn.schema()).toMatchObject({ type: 'object' });

  const started = await cairn.run({ file: 'greet.yaml', input: { who: 'Ada' }, runId: 'r' });
  expect(started.result?.status).toBe('paused');
  const { progress } = await cairn.inspect({ run: 'r' });
  expectTypeOf(progress).toEqualTypeOf<RunProgress>();
  expect(progress).toMatchObject({ completed: ['hello'], wave: 1, waveCount: 3 });
  await cairn.answer({ run: 'r', value: 'yes' });
  const done = await cairn.resume({ run: 'r' });
  expect([done.status, done.outputs]).toEqual(['completed', { said: 'Echo: Echo: hello Ada!' }]);
  await expect(cairn.resume({ run: 'nobody' })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});

test('C2.1 what a program is given of a run is what was computed, not what is shown', async () => {
  writeFileSync(
    join(folder, 'login.yaml'),
    'name: login\ninputs:\n  password: { type: string }\nblocks:\n  - { id: a, type: EchoBlock, inputs: { message: "${inputs.password}" } }\n',
  );
  await cairn.run({ file: 'login.yaml', input: { password: 'open sesame' }, runId: 'r' });
  expect(await cairn.state({ checkpoint: 'r', path: 'input.password' })).toMatchObject({ value: 'open sesame' });
});

test('11.8.6 D24 an interviewer answers what a pipeline of a file asks', async () => {
  const dot = `digraph p {
    start [shape=Mdiamond]
    exit [shape=Msquare]
    ship [shape=hexagon, label="Ship it?"]
    name [shape=hexagon, human.type=freeform, label="Under which name?"]
    start -> ship
    ship -> name [label=Yes]
    ship -> exit [label=No]
    name -> exit
  }`;
  writeFileSync(join(folder, 'ship.dot'), dot);
  await cairn.run({ file: 'ship.dot', runId: 's' });
  const result = await library.interview(cairn.engine, 's', library.queueInterviewer(['Yes', 'version 2']));
  expect(result).toMatchObject({ status: 'completed', state: { scratch: { 'human.gate.text': 'version 2' } } });
});
