/** Graphs of files, names, and texts kept with runs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answerWait } from '../../operations/waits/answer-wait.ts';
import { inspectRun } from '../../operations/runs/inspect-run.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import { startRun } from '../../operations/runs/start-run.ts';
import { startWorkflow } from '../../operations/workflows/start-workflow.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import { type App, openApp } from '../open-app.ts';
import { readSavedText, type TextDialects } from './graph-loader.ts';

let cwd = '';
const apps: App[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-loader-'));
  for (const folder of ['workflows', 'here']) mkdirSync(join(cwd, folder));
});
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function open(options: Partial<Parameters<typeof openApp>[0]> = {}): Promise<App> {
  const app = await openApp({ cwd, storeUrl: 'runs.db', ...options });
  apps.push(app);
  return app;
}

const write = (path: string, text: string): void => writeFileSync(join(cwd, path), text);
const echo = (name: string, message: string): string =>
  `name: ${name}\nblocks:\n  - { id: say, type: EchoBlock, inputs: { message: ${message} } }\noutputs: { said: "\${say.echoed}" }\n`;

test('D13 a file finds the workflows it calls beside it first, then in the folders', async () => {
  write('workflows/a.yaml', echo('near', 'folder'));
  write('workflows/b.yaml', echo('far', 'folder'));
  write('here/near.yaml', echo('near', 'beside'));
  write(
    'here/main.yaml',
    `name: main
blocks:
  - { id: near, type: Workflow, inputs: { workflow: near } }
  - { id: far, type: Workflow, inputs: { workflow: far } }
outputs: { near: "\${near.said}", far: "\${far.said}" }
`,
  );
  const app = await open();
  const { result } = await startRun.run(app, { file: 'here/main.yaml', runId: 'r' });
  expect(result?.outputs).toEqual({
    near: expect.stringContaining('beside'),
    far: expect.stringContaining('folder'),
  });
});

test('D14 an inline workflow is held to the grants of the process that goes on with it', async () => {
  const text = `name: inline
blocks:
  - { id: ask, type: Prompt, inputs: { prompt: "Go?" } }
  - { id: act, type: Shell, inputs: { command: "echo done" }, depends_on: [ask] }
outputs: { done: "\${act.stdout}" }
`;
  const first = await open({ allow: ['inline', 'shell'] });
  await startWorkflow.run(first, { text, runId: 'r' });
  await answerWait.run(first, { run: 'r', value: 'yes' });
  await first.close();
  const second = await open();
  await expect(resumeRun.run(second, { run: 'r' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await second.close();
  const third = await open({ allow: ['shell'] });
  expect((await resumeRun.run(third, { run: 'r' })).outputs).toEqual({ done: 'done\n' });
});

test('D1 a run of another process is inspected from the text kept with it, its file gone', async () => {
  write('here/a.yaml', echo('a', 'hello'));
  const first = await open();
  await startRun.run(first, { file: 'here/a.yaml', runId: 'r' });
  await first.close();
  rmSync(join(cwd, 'here'), { recursive: true });
  const second = await open();
  expect(await inspectRun.run(second, { run: 'r' })).toMatchObject({
    status: 'completed',
    outputs: { said: expect.stringContaining('hello') },
    source: join(cwd, 'here/a.yaml'),
  });
});

test('P6 what cannot be read says why', async () => {
  mkdirSync(join(cwd, 'folder.yaml'));
  write('here/big.yaml', `name: x\n#${'x'.repeat(6 * 1024 * 1024)}`);
  const app = await open();
  await expect(app.loadGraph('nowhere.yaml')).rejects.toMatchObject({ code: 'GRAPH_PARSE' });
  await expect(app.loadGraph('folder.yaml')).rejects.toMatchObject({ code: 'GRAPH_PARSE' });
  await expect(app.loadGraph('here/big.yaml')).rejects.toMatchObject({ code: 'GRAPH_PARSE' });
  await expect(app.loadWorkflow('here/x.ts')).rejects.toMatchObject({ code: 'GRAPH_PARSE' });
  await expect(app.loadGraph('nobody')).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND' });
});

test('DOT1 Y1 a file that is no UTF-8 is refused with its line', async () => {
  const latin = (path: string, text: string): void => writeFileSync(join(cwd, path), text, 'latin1');
  const odd =
    'digraph odd {\nstart [shape=Mdiamond]\nexit [shape=Msquare]\nx [shape=parallelogram, tool_command="echo é"]\nstart -> x -> exit\n}';
  latin('here/odd.dot', odd);
  latin('here/odd.yaml', echo('odd', 'é'));
  const app = await open();
  for (const [file, line] of [
    ['here/odd.dot', 4],
    ['here/odd.yaml', 3],
  ] as const)
    await expect(app.loadWorkflow(file)).rejects.toMatchObject({
      code: 'GRAPH_PARSE',
      data: { file, reason: `line ${line} is no UTF-8: save the file as UTF-8` },
    });
});

test('D14.1 the text kept with a run is read in the dialect that it names; one that is not known here is told by name', async () => {
  const dialects: TextDialects = {
    other: async () => ({ readSaved: (text) => ({ name: `other ${text.length}` }) as TextWorkflow }),
    yaml: () => Promise.reject(new Error('not asked for')),
  };
  await expect(readSavedText(dialects, '{"dialect":"other","x":1}')).resolves.toEqual({ name: 'other 25' });
  for (const [text, reason] of [
    ['{"dialect":"flow","x":1}', 'its dialect flow is not known here (known: other, yaml)'],
    ['{"dialect":"constructor"}', 'its dialect constructor is not known here (known: other, yaml)'],
    ['name: plain', 'it names no dialect'],
  ] as const)
    await expect(readSavedText(dialects, text)).rejects.toMatchObject({ code: 'GRAPH_PARSE', data: { reason } });
});

test('D14.2 each tenant has an engine of its own over one store: the same ids are other runs, and all close together', async () => {
  write('workflows/ask.yaml', 'name: ask\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n');
  const app = await open();
  const [a, b] = [app.ofTenant('a'), app.ofTenant('b')];
  expect([a.engine === app.ofTenant('a').engine, a.engine === b.engine, a.engine === app.engine]).toEqual([
    true,
    false,
    false,
  ]);
  await startWorkflow.run(a, { workflow: 'ask', runId: 'r' });
  await expect(inspectRun.run(b, { run: 'r' })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await startWorkflow.run(b, { workflow: 'ask', runId: 'r' });
  await answerWait.run(a, { run: 'r', wait: 'q', value: 'yes', by: 'person' });
  expect((await resumeRun.run(a, { run: 'r' })).status).toBe('completed');
  expect((await inspectRun.run(b, { run: 'r' })).status).toBe('paused');
  await app.close();
  for (const { engine } of [a, b, app]) await expect(engine.resume('r')).rejects.toThrow('the store engine is closed');
});
