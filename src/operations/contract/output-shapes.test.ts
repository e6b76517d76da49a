/** Every operation is done as doors do it: what it gives fits the schema that it declares, and shows no secret of the run. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { storyPage } from '../../app/draw/story-page.ts';
import { openApp, type App } from '../../app/open-app.ts';
import { writeRunFolder } from '../../app/run-folder/run-folder.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import type { PostMortem } from '../../history/explain/story.ts';
import type { Store } from '../../ports/store.ts';
import { startRun } from '../../testing/store-suite/examples.ts';
import { schemaDefect, schemaFaults } from '../../schema/json-schema.ts';
import type { Fields } from './operation.ts';
import { outputWords } from './output-words.ts';
import { perform } from './perform.ts';
import { toJson } from './to-json.ts';

type AnyOperation = {
  readonly name: string;
  readonly input: Fields;
  readonly outputSchema: JsonSchema;
  readonly isReadOnly: boolean;
  run(context: unknown, input: unknown): Promise<unknown>;
};

let cwd = '';
let app: App;
const used = new Set<string>();
const planted = 'hunter2-planted';
const shownMeanwhile: unknown[] = [];
let operations: Readonly<Record<string, AnyOperation>> = {};

beforeEach(async () => {
  shownMeanwhile.length = 0;
  cwd = mkdtempSync(join(tmpdir(), 'cairn-shapes-'));
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(
    join(cwd, 'workflows/ask.yaml'),
    'name: ask\ninputs: { password: { type: str } }\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n  - { id: e, type: EchoBlock, depends_on: [q], inputs: { message: hi } }\noutputs: { said: "${e.echoed}", access_token: "${inputs.password}", body: \'{"Api-Key": "${inputs.password}"}\' }\n',
  );
  writeFileSync(join(cwd, 'workflows/broken.yaml'), 'name: broken\nblocks: 7\n');
  app = await openApp({ cwd, storeUrl: 'runs.db' });
  operations = await allOperations();
});
afterEach(async () => {
  await app.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function allOperations(): Promise<Readonly<Record<string, AnyOperation>>> {
  const folder = join(import.meta.dirname, '..');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\/[a-z-]+\.ts$/u.test(name),
  );
  const modules = await Promise.all(files.map((name) => import(join(folder, name)) as Promise<object>));
  const exported = modules.flatMap((module) => Object.entries(module as Record<string, unknown>));
  return Object.fromEntries(
    exported.filter((entry): entry is [string, AnyOperation] => {
      const [, value] = entry;
      return typeof value === 'object' && value !== null && 'outputSchema' in value;
    }),
  );
}

/** Runs an operation and checks its output. */
async function run(name: string, input: unknown, more: object = {}): Promise<Record<string, unknown>> {
  const operation = operations[name];
  if (operation === undefined) throw new Error(`no operation ${name}`);
  const output = await perform(
    operation,
    { ...app, watch: (event: unknown) => shownMeanwhile.push(event), ...more },
    input,
  );
  const shown: unknown = JSON.parse(JSON.stringify(toJson(output)));
  expect(schemaFaults(operation.outputSchema, shown, name)).toEqual([]);
  expect(JSON.stringify([shown, toJson(shownMeanwhile)])).not.toContain(planted);
  used.add(name);
  return output as Record<string, unknown>;
}

/** Defines a limit of which two keys are in use, one with a run in line. */
async function editedLimit(store: Store): Promise<void> {
  const definition = { concurrency: 1, requestsPerMinute: 60, tokensPerMinute: 600, burst: 2, isPer: true };
  const holders = [{ runId: 'i', of: 'run', count: 1 }];
  const changes = [
    { name: 'limit shown', version: '1', body: JSON.stringify({ definition, seen: [] }) },
    { name: 'place shown:ann', version: '1', body: JSON.stringify({ holders }) },
  ];
  const claim = await startRun(store, 'in-line', { tenant: 'default', schedule: {} });
  await store.limits?.write({ tenant: 'default', changes, park: [{ claim, line: 'shown:ann', rank: 0 }] });
}

test('D23 C2.1 every operation gives what its schema says, and shows nothing that stands under the name of a secret', async () => {
  const password = { input: { password: planted } };
  const text = 'name: small\nblocks:\n  - { id: e, type: EchoBlock, inputs: { message: hi } }\n';
  await run('checkWorkflow', { text });
  await run('checkWorkflow', { text: 'name: 7' });
  await run('planWorkflow', { file: 'ask' });
  await run('listWorkflows', {});
  await run('describeWorkflow', { workflow: 'ask' });
  await run('readWorkflowText', { workflow: 'ask' });
  await run('convertWorkflow', { text, source: 'small.yaml', to: 'dot' });
  await run('convertWorkflow', { text, source: 'small.yaml', to: 'cairn' });
  const pipeline =
    'digraph g { start [shape=Mdiamond] work [prompt="Do."] exit [shape=Msquare] start -> work -> exit }';
  expect(await run('lintWorkflow', { text: pipeline, source: 'g.dot' })).toMatchObject({ isValid: true });
  await run('lintWorkflow', { text: 'name: 7', source: 'broken.yaml' });
  await run('formatWorkflow', { text: pipeline, source: 'g.dot' });
  await run('startRun', { file: 'ask', runId: 'a', ...password });
  await run('startWorkflow', { workflow: 'ask', runId: 'b', detach: true, ...password });
  await run('startWorkflow', { workflow: 'ask', runId: 'c', ...password });
  await run('inspectRun', { run: 'a' });
  await run('listWaits', {});
  await run('checkRuns', {});
  await run('readExperiments', {});
  await run('readStanding', { run: 'a' });
  await run('listRuns', {});
  await run('listCheckpoints', {});
  await run('answerWait', { run: 'a', value: 'yes', by: 'person' });
  await run('answerWaits', { run: 'c', answers: { q: 'yes' } });
  await run('resumeRun', { run: 'a' });
  await run('auditRun', { run: 'a' });
  const { entries } = await run('readLog', { run: 'a' });
  const [{ checkpointId }] = entries as [{ checkpointId: string }];
  await run('showCheckpoint', { checkpoint: checkpointId });
  await run('describeCheckpoint', { checkpoint: checkpointId });
  await run('readRunStructure', { checkpoint: checkpointId });
  await run('readOverviews', { run: ['a'] });
  await run('readState', { checkpoint: 'a' });
  await expect(run('readState', { checkpoint: 'a', pipeline: true })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  expect(await run('readState', { checkpoint: 'a', path: 'input.password' })).toMatchObject({ value: '[redacted]' });
  expect(await run('readState', { checkpoint: 'a', path: 'outputs.outputs.body' })).toMatchObject({
    value: '{"Api-Key": "[redacted]"}',
  });
  // It is there: the run itself, and a library's caller, have it.
  const stored = await operations['readState']?.run(app, { checkpoint: 'a', path: 'outputs.outputs' });
  expect(JSON.stringify(stored).split(planted)).toHaveLength(3);
  await run('readState', { checkpoint: 'a', path: 'outputs' });
  await run('diffCheckpoints', { a: 'a@0', b: 'a' });
  expect(await run('blameValue', { checkpoint: 'a', path: 'input.password' })).toMatchObject({
    parts: [{ value: '[redacted]', seq: 0 }],
  });
  await run('labelRun', { run: 'a', set: { tier: 'gold' } });
  await run('tagCheckpoint', { checkpoint: 'a@0', name: 'begin' });
  await run('tagCheckpoint', { checkpoint: 'a@0', name: 'begin', remove: true });
  await run('previewRun', { checkpoint: 'a@1' });
  await run('forkRun', { checkpoint: 'a@1', runId: 'f', run: true });
  await run('bisectRun', { checkpoint: 'a', when: 'has(outputs.e)' });
  await run('bisectRun', { checkpoint: 'a', when: 'input.password > 3' });
  await run('forkRun', { checkpoint: 'a@1', runId: 'g', set: { 'input.password': planted } });
  expect(await run('graphRuns', { run: 'g' })).toMatchObject({
    runs: [{ runId: 'a' }, { runId: 'f' }, { changed: { set: [{ value: '[redacted]' }] }, isCurrent: true }],
  });
  await run('postMortem', { checkpoint: 'a' });
  const writeFolder = () => Promise.resolve({ folder: 'f', checkpoints: 1, visits: 1, artifacts: 0 });
  await run('exportFiles', { checkpoint: 'a', files: 'f' }, { writeFolder });
  await run('postMortem', { checkpoint: 'g', picture: true });
  expect(await run('draw', { target: 'ask' })).toMatchObject({ isRun: false });
  expect(await run('draw', { target: 'a' })).toMatchObject({ isRun: true });
  await run('signalRun', { run: 'b', name: 'paid', value: { password: planted } });
  await run('signalWithStart', { workflow: 'ask', runId: 's', name: 'paid', value: 1, ...password });
  await run('auditRun', { run: 'b' });
  await run('listRuns', { group: 'error' });
  await run('changeRuns', { action: 'cancel', status: ['paused'], graph: ['none'][0], dryRun: true });
  await run('cancelRun', { run: 'b' });
  await run('schedule', { action: 'add', target: 'ask', cron: '0 2 * * *', ...password });
  expect(await run('schedule', { action: 'list' })).toMatchObject({
    schedules: [{ input: { password: '[redacted]' } }],
  });
  expect(await run('listSchedules', {})).toMatchObject({ schedules: [{ input: { password: '[redacted]' } }] });
  expect(await run('changeSchedule', { name: 'ask', action: 'pause' })).toMatchObject({
    schedules: [{ input: { password: '[redacted]' } }],
  });
  await run('schedule', { action: 'remove', target: 'ask' });
  await run('verifyRuns', {});
  await run('holdRuns', { all: true });
  await run('releaseRuns', { all: true });
  await run('examineStore', {}, { examinePlace: async () => [], openStore: async () => undefined });
  const pieces: string[] = [];
  await run('exportRun', { checkpoint: 'a' }, { write: async (piece: string) => void pieces.push(piece) });
  const lines = async function* (): AsyncGenerator<string> {
    yield* pieces;
  };
  await run('importRun', { runId: 'i' }, { text: lines() });
  await run('pruneRuns', { all: true });
  await run('cleanUp', { dryRun: true });
  await run('deleteCheckpoint', { checkpoint: 'c' });
  await run('removeRun', { run: 'i' });
  await run('storeIdentity', {});
  await run('listWorkers', { all: true });
  await run('readStats', { sizes: true });
  await editedLimit(app.store);
  await run('changeDataset', { action: 'add', name: 'gold', run: ['a'], input: { password: planted }, expected: 1 });
  await run('listDatasets', {});
  const definition = { name: 'shown', workflow: 'ask', dataset: { runs: ['a'] }, arms: { same: {} } };
  await run('runExperiment', { definition });
  await run('readExperiments', { name: 'shown', with: 'shown' });
  await run('removeExperiment', { name: 'shown' });
  await run('listLimits', {});
  await run('changeLimits', { action: 'set', name: 'shown', concurrency: 2 });
  await run('changeLimits', { action: 'pause', name: 'shown' });
  // An export is the run itself.
  expect(pieces.join('')).toContain(planted);
  pieces.length = 0;
  await run(
    'exportRun',
    { checkpoint: 'a', masked: true },
    { write: async (piece: string) => void pieces.push(piece) },
  );
  expect(pieces.join('')).not.toContain(planted);
  expect(pieces.length).toBeGreaterThan(3);
  await expect(run('importRun', { runId: 'm' }, { text: lines() })).rejects.toMatchObject({ code: 'EXPORT_MASKED' });
  expect(shownMeanwhile.length).toBeGreaterThan(5);
  expect([...used].sort()).toEqual(Object.keys(operations).sort());
});

/** Everything that a run is told of by. What operations give is looked through by {@link run}; the texts are returned. */
async function tellAll(
  runId: string,
  ...paths: string[]
): Promise<Readonly<Record<'page' | 'folder' | 'masked', string>>> {
  for (const name of ['inspectRun', 'readStanding', 'readLog', 'graphRuns']) await run(name, { run: runId });
  for (const name of ['showCheckpoint', 'describeCheckpoint', 'readState', 'postMortem', 'previewRun'])
    await run(name, { checkpoint: runId });
  for (const path of paths) {
    await run('readState', { checkpoint: runId, path });
    await run('blameValue', { checkpoint: runId, path });
  }
  await run('diffCheckpoints', { a: `${runId}@0`, b: runId });
  await run('bisectRun', { checkpoint: runId, when: 'status == "failed"' });
  await run('listWaits', {});
  const files = mkdtempSync(join(cwd, 'files-'));
  await run(
    'exportFiles',
    { checkpoint: runId, files },
    {
      writeFolder: (place: App, found: never, folder: string) =>
        writeRunFolder(place, found, folder, { workspaces: [] }),
    },
  );
  const folder = readdirSync(files, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(files, name)).isFile())
    .map((name) => `${name}\n${readFileSync(join(files, name), 'utf8')}`);
  const pieces: string[] = [];
  await run(
    'exportRun',
    { checkpoint: runId, masked: true },
    { write: async (piece: string) => void pieces.push(piece) },
  );
  const page = storyPage((await operations['postMortem']?.run(app, { checkpoint: runId })) as PostMortem);
  const told = { page, folder: folder.join('\n'), masked: pieces.join('') };
  for (const [name, text] of Object.entries(told)) expect([name, text.includes(planted)]).toEqual([name, false]);
  return told;
}

test('C2.1 M16 H4.1 parameters of a pipeline under names of secrets are told nowhere, in no copy that it makes of them', async () => {
  const params = ['token', 'cookie', 'credentials', 'github_token'];
  writeFileSync(
    join(cwd, 'workflows/tok.dot'),
    `digraph tok { graph [goal="g", params="${params.join()}"] start [shape=Mdiamond] exit [shape=Msquare] start -> exit }`,
  );
  const input = Object.fromEntries(params.map((name) => [name, planted]));
  await run('startRun', { file: join(cwd, 'workflows/tok.dot'), runId: 't', input });
  const { page, folder } = await tellAll('t', 'scratch', 'input');
  await run('readState', { checkpoint: 't', pipeline: true });
  for (const name of params) {
    expect(page).toContain(`scratch.graph\\.${name}`);
    expect(folder).toContain(`"graph.${name}": "[redacted]"`);
  }
});

test('C2.1 M16 H4.1 what a node named like a secret asks and gives is told nowhere', async () => {
  const name = 'ask-secret';
  writeFileSync(
    join(cwd, `workflows/${name}.yaml`),
    `name: ${name}\ninputs: { password: { type: str } }\nblocks:\n  - { id: password, type: GetInput, inputs: { prompt: "Password?" } }\n  - { id: token, type: EchoBlock, depends_on: [password], inputs: { message: "\${inputs.password}" } }\n`,
  );
  await run('startRun', { file: name, runId: 'p', input: { password: planted } });
  await tellAll('p', 'input');
  await run('answerWait', { run: 'p', value: planted, by: 'person' });
  await run('resumeRun', { run: 'p' });
  const { page, folder } = await tellAll('p', 'outputs', 'outputs.password', 'outputs.token');
  expect(page).toContain('answered &quot;[redacted]&quot; by person');
  expect(folder).toContain('"answer": "[redacted]"');
  // It is there: the library has it.
  const stored = JSON.stringify(await operations['postMortem']?.run(app, { checkpoint: 'p' }));
  expect(stored.split(planted).length).toBeGreaterThan(3);
});

test('C2.1 of a node named like a secret it is told how it did and why it failed, and not what its error holds', async () => {
  writeFileSync(
    join(cwd, 'workflows/reset.yaml'),
    `name: reset\ninputs: { password: { type: str } }\nblocks:\n  - id: reset_password\n    type: Shell\n    effect: read\n    inputs: { command: 'echo "$X"; echo "no such user" >&2; exit 3', env: { X: "\${inputs.password}" } }\n`,
  );
  await run('startRun', { file: 'reset', runId: 'r', input: { password: planted } });
  const { page, folder, masked } = await tellAll('r', 'failures', 'failures.reset_password');
  const message = 'the command exited with 3: no such user';
  const failure = { name: 'NodeFailure', code: 'EXIT_CODE', message, data: '[redacted]' };
  const told = async (name: string, input: object): Promise<unknown> => toJson(await run(name, input));
  const failures = { reset_password: failure };
  expect(await told('diffCheckpoints', { a: 'r@0', b: 'r' })).toMatchObject({
    values: [{ path: ['failures', 'reset_password'], after: failure }],
    nodes: [{ path: ['reset_password'], after: { status: 'failed', visits: 1, attempt: 1, error: failure } }],
  });
  expect(await told('showCheckpoint', { checkpoint: 'r' })).toMatchObject({
    recorded: { values: [{ after: failure }] },
    view: { failures, state: { failures }, nodes: [{}, { status: 'failed', error: failure }] },
  });
  expect(await told('readState', { checkpoint: 'r' })).toMatchObject({ value: { failures } });
  expect(await told('inspectRun', { run: 'r' })).toMatchObject({ state: { failures } });
  expect(await told('postMortem', { checkpoint: 'r' })).toMatchObject({
    failures: { reset_password: { code: 'EXIT_CODE', message } },
  });
  expect(page).toContain(`reset_password failed: ${message} [EXIT_CODE]`);
  expect(folder).toContain(`"reset_password": {\n      "code": "EXIT_CODE",\n      "message": "${message}"`);
  expect(masked).toContain(message);
});

test('C2.1 a goal gate named like a secret tells how it ended', async () => {
  writeFileSync(
    join(cwd, 'workflows/gate.dot'),
    'digraph gate { graph [goal="g"] start [shape=Mdiamond] exit [shape=Msquare] token [shape=parallelogram, goal_gate=true, retry_target=start, idempotent=true, tool_command="true"] start -> token -> exit }',
  );
  await run('startRun', { file: join(cwd, 'workflows/gate.dot'), runId: 'g' });
  expect(await run('postMortem', { checkpoint: 'g' })).toMatchObject({ result: { gates: { token: 'success' } } });
  expect(await run('readState', { checkpoint: 'g', pipeline: true })).toMatchObject({
    value: { goalGateStatus: { token: 'success' } },
  });
});

test('D23 each schema is one that can be checked, and says what an object must have', () => {
  expect(Object.keys(operations).length).toBeGreaterThan(30);
  for (const { name, outputSchema } of Object.values(operations)) {
    expect([name, schemaDefect(outputSchema)]).toEqual([name, undefined]);
    expect([name, (outputSchema['required'] as readonly string[]).length > 0]).toEqual([name, true]);
  }
});

test('D23 each property of an output is described, and each word of the list of descriptions is one of an output', () => {
  const used = new Set<string>();
  const undescribed: string[] = [];
  const walk = (schema: JsonSchema, at: string): void => {
    const {
      properties = {},
      items,
      additionalProperties,
    } = schema as {
      readonly properties?: Readonly<Record<string, JsonSchema>>;
      readonly items?: JsonSchema;
      readonly additionalProperties?: boolean | JsonSchema;
    };
    for (const [name, property] of Object.entries(properties)) {
      used.add(name);
      if (typeof property['description'] !== 'string') undescribed.push(`${at}.${name}`);
      walk(property, `${at}.${name}`);
    }
    if (items !== undefined) walk(items, at);
    if (typeof additionalProperties === 'object') walk(additionalProperties, at);
  };
  for (const { name, outputSchema } of Object.values(operations)) walk(outputSchema, name);
  expect(used.size).toBeGreaterThan(150);
  expect(undescribed).toEqual([]);
  expect(Object.keys(outputWords).filter((word) => !used.has(word))).toEqual([]);
});
