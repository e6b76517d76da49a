/** What follows the failure of a run, and its time limit, in each dialect (E6.10, E7.5). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openApp, type App } from '../src/app/open-app.ts';
import { perform } from '../src/operations/contract/perform.ts';
import * as operations from '../src/operations/table.ts';
import { flow, workflow } from '../src/index.ts';
import { z } from 'zod';

const folder = mkdtempSync(join(tmpdir(), 'cairn-ends-'));
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a file that fails. @returns where it stands, and what its last steps were */
async function runFile(name: string, text: string): Promise<{ readonly status: unknown; readonly kinds: string }> {
  writeFileSync(join(folder, name), text);
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  const { runId, result } = await perform(operations.run, app, { file: name, runId: 'r' });
  const { entries } = await perform(operations.log, app, { run: runId, all: true });
  const kinds = entries
    .toReversed()
    .flatMap(({ change }) => change.map(({ kind, node = [] }) => [kind, ...node].join(' ')));
  return { status: result?.status, kinds: kinds.join(', ') };
}

const yaml = `name: report
time_limit: { after: 2h, counts_waits: false }
on_run_failure: tell
blocks:
  - { id: build, type: Shell, inputs: { command: exit 3 } }
  - { id: more, type: EchoBlock, inputs: { message: more }, depends_on: [build] }
  - { id: tell, type: Shell, inputs: { command: 'echo "build: \${blocks.build.exit_code}" > told.txt' } }
`;

test('E7.5 in YAML a block follows the failure of the run, and sees what has ended', async () => {
  const { status, kinds } = await runFile('report.yaml', yaml);
  expect(status).toBe('failed');
  expect(kinds).toMatch(/fail, intent tell, .*settle tell, end$/u);
  const [{ graph }] = [await (apps.at(-1) as App).loadGraph('report.yaml')];
  expect(graph.policies).toMatchObject({ timeLimit: { ms: 7_200_000, countsWaits: false }, onRunFailure: 'tell' });
});

test.each([
  ['on_run_failure: none', 'onRunFailure is "none", which is no node'],
  ['on_run_failure: more', 'an edge leads to or from the node of onRunFailure'],
  ['time_limit: soon', '`time_limit` is "soon"'],
])('E7 E6.10 in YAML %s is refused by name', async (line, words) => {
  writeFileSync(
    join(folder, 'bad.yaml'),
    yaml
      .replace(/on_run_failure.*\n|time_limit.*\n/gu, '')
      .replace('blocks:', `${line}\nblocks:`)
      .replace(/build: \$\{.*?\}/u, 'told'),
  );
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  await expect(app.loadGraph('bad.yaml')).rejects.toThrow(words);
});

const dot = (edges: string): string => `digraph report {
  graph [goal="report", time_limit="2h", on_run_failure=tell]
  start [shape=Mdiamond]; done [shape=Msquare]
  build [shape=parallelogram, tool_command="exit 3"]
  tell [shape=parallelogram, tool_command="echo told"]
  start -> build -> done
  ${edges}
}
`;

test('E7.5 in DOT a stage without edges follows the failure of the run', async () => {
  const { status, kinds } = await runFile('report.dot', dot(''));
  expect(status).toBe('failed');
  expect(kinds).toMatch(/fail, .*settle tell, end$/u);
  const { graph } = await (apps.at(-1) as App).loadGraph('report.dot');
  expect(graph.policies).toMatchObject({ timeLimit: 7_200_000, onRunFailure: 'tell' });
});

test('E7.5 in DOT an edge of that stage, and a stage that is not there, are refused', async () => {
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  writeFileSync(join(folder, 'bad.dot'), dot('build -> tell'));
  await expect(app.loadGraph('bad.dot')).rejects.toThrow('which follows the failure of the run');
  writeFileSync(join(folder, 'bad.dot'), dot('').replace('on_run_failure=tell', 'on_run_failure=nobody'));
  await expect(app.loadGraph('bad.dot')).rejects.toThrow('there is no stage nobody');
});

const cancelled = {
  'held.yaml': `name: held
on_cancel: release
blocks:
  - { id: reserve, type: Shell, inputs: { command: echo 4B } }
  - { id: confirm, type: AskChoice, inputs: { question: 'Take it?', choices: ['yes', 'no'] }, depends_on: [reserve] }
  - { id: release, type: Shell, inputs: { command: 'echo "released \${blocks.reserve.stdout}"' } }
`,
  'held.dot': `digraph held {
  graph [goal="a seat", on_cancel=release]
  start [shape=Mdiamond]; done [shape=Msquare]
  reserve [shape=parallelogram, tool_command="echo 4B"]
  confirm [shape=hexagon, label="Take it?"]
  release [shape=parallelogram, tool_command="echo released"]
  start -> reserve -> confirm
  confirm -> done [label="Yes"]
}
`,
};

test.each(Object.entries(cancelled))(
  'E7.4 in %s what the file names follows a cancel, and nothing else leads to it',
  async (name, text) => {
    writeFileSync(join(folder, name), text);
    const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
    apps.push(app);
    const { runId, result } = await perform(operations.run, app, { file: name, runId: 'r' });
    expect(result?.status).toBe('paused');
    await perform(operations.cancel, app, { run: runId, reason: 'she is ill' });
    const { entries } = await perform(operations.log, app, { run: runId, all: true });
    const ended = entries
      .toReversed()
      .flatMap(({ change }) => change.map(({ kind, node = [] }) => [kind, ...node].join(' ')));
    expect(ended.join(', ')).toMatch(/cancel, .*settle release, (?:end|cancel)$/u);
    expect((await app.loadGraph(name)).graph.policies.onCancel).toBe('release');
  },
);

test('E7.4 in DOT an edge of that stage, and a stage that is not there, are refused', async () => {
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  const text = cancelled['held.dot'];
  writeFileSync(join(folder, 'bad.dot'), text.replace('  confirm -> done', '  reserve -> release\n  confirm -> done'));
  await expect(app.loadGraph('bad.dot')).rejects.toThrow('which follows a cancel');
  writeFileSync(join(folder, 'bad.dot'), text.replace('on_cancel=release', 'on_cancel=nobody'));
  await expect(app.loadGraph('bad.dot')).rejects.toThrow('there is no stage nobody');
});

test('E7.5 in a workflow and in a flow it is a step beside the others', async () => {
  const fails = (): never => {
    throw new Error('no');
  };
  const line = workflow('line', { timeLimit: 5_000 })
    .input(z.object({}))
    .step('a', fails)
    .onRunFailure('tell', ({ failure }) => failure?.message)
    .returns(() => 1)
    .compile();
  const web = flow(
    'web',
    { a: { run: fails }, b: { run: () => 2 }, tell: { run: ({ failure }) => failure?.node } },
    { onRunFailure: 'tell', timeLimit: { ms: 5_000, countsWaits: false } },
  ).compile();
  const first = await line.invoke({});
  const second = await web.invoke({});
  expect([first.status, (first.state.outputs as { tell?: unknown }).tell, second.status, second.state.outputs]).toEqual(
    ['failed', 'no', 'failed', { b: 2, tell: 'a' }],
  );
  expect([line.graph.policies.timeLimit, web.graph.policies.timeLimit]).toEqual([
    5_000,
    { ms: 5_000, countsWaits: false },
  ]);
  await Promise.all([line.close(), web.close()]);
});
