/** Starting workflows, telling where they stand, answering, and their checkpoints. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type App, openApp } from '../../app/open-app.ts';
import { answerWait } from '../waits/answer-wait.ts';
import { answerWaits } from '../waits/answer-waits.ts';
import { listWaits } from '../waits/list-waits.ts';
import { checkWorkflow, planWorkflow } from './check-workflow.ts';
import { draw } from './draw.ts';
import { deleteCheckpoint } from '../store/delete-checkpoint.ts';
import { describeCheckpoint } from '../checkpoints/describe-checkpoint.ts';
import { describeWorkflow, listWorkflows } from './describe-workflow.ts';
import { forkRun } from '../runs/fork-run.ts';
import { inspectRun } from '../runs/inspect-run.ts';
import { listCheckpoints } from '../checkpoints/list-checkpoints.ts';
import { readLog } from '../checkpoints/read-log.ts';
import { removeRun } from '../runs/remove-run.ts';
import { resumeRun } from '../runs/resume-run.ts';
import { pruneRuns } from '../store/prune-runs.ts';
import { verifyRuns } from '../store/verify-runs.ts';
import { startWorkflow } from './start-workflow.ts';
import { tagCheckpoint } from '../checkpoints/tag-checkpoint.ts';

const approval = `name: approval
tags: [ops, ask]
inputs:
  what: { type: str, default: cake }
blocks:
  - id: say
    type: EchoBlock
    inputs: { message: "about \${inputs.what}" }
  - id: sure
    type: ConfirmOperation
    inputs: { message: "Take \${inputs.what}?", operation: take }
    depends_on: [say]
  - id: kind
    type: AskChoice
    inputs: { question: "Which?", choices: [small, large] }
    depends_on: [say]
  - id: take
    type: EchoBlock
    inputs: { message: taken }
    depends_on: [sure, kind]
    condition: "\${sure.confirmed}"
outputs:
  kind: "\${kind.choice}"
  taken: "\${take.succeeded}"
`;

let cwd = '';
let app: App;
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-operations-'));
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(join(cwd, 'workflows/approval.yaml'), approval);
  app = await openApp({ cwd, storeUrl: 'memory:', allow: ['inline'] });
});
afterEach(async () => {
  await app.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function start(runId: string): Promise<void> {
  await startWorkflow.run(app, { workflow: 'approval', runId });
}

async function finish(runId: string, sure = 'yes'): Promise<void> {
  await answerWaits.run(app, { run: runId, answers: { sure, kind: '2' } });
  await resumeRun.run(app, { run: runId });
}

test('D2 a workflow is started by its name, answered and resumed to its declared outputs', async () => {
  const started = await startWorkflow.run(app, { workflow: 'approval', runId: 'r' });
  expect(started.result).toMatchObject({ status: 'paused', runId: 'r' });
  expect(started.result?.outputs).toBeUndefined();
  expect(await inspectRun.run(app, { run: 'r' })).toMatchObject({
    status: 'paused',
    graphId: 'approval',
    waits: [{ node: ['sure'] }, { node: ['kind'] }],
    progress: { completed: ['say'], wave: 1, waveCount: 3, percent: 25 },
  });
  const answered = await answerWaits.run(app, { run: 'r', answers: { sure: 'no', kind: 'LARGE please' } });
  expect(answered.answered.map(({ wait }) => wait?.node)).toEqual([['sure'], ['kind']]);
  expect((await inspectRun.run(app, { run: 'r' })).hasMessages).toBe(true);
  const standing = await resumeRun.run(app, { run: 'r' });
  expect([standing.status, standing.outputs, standing.skipped]).toEqual([
    'completed',
    { kind: 'large', taken: false },
    ['take'],
  ]);
  expect(await inspectRun.run(app, { run: 'r' })).toMatchObject({
    outputs: { kind: 'large', taken: false },
    progress: { completed: ['say', 'sure', 'kind'], skipped: ['take'], percent: 100, wave: 3 },
  });
});

test('D7 of several answers all are taken or none: not where a name fits nothing, an answer does not fit, or a question has another', async () => {
  await start('r');
  const unknown = answerWaits.run(app, { run: 'r', answers: { sure: 'yes', other: 'x' } });
  await expect(unknown).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND' });
  expect((await inspectRun.run(app, { run: 'r' })).hasMessages).toBe(false);
  const unfit = answerWaits.run(app, { run: 'r', answers: { sure: 'yes', kind: '3' } });
  await expect(unfit).rejects.toMatchObject({
    code: 'ANSWER_INVALID',
    message: expect.stringMatching(/kind: .*; none of the 2 was taken/) as string,
  });
  expect((await inspectRun.run(app, { run: 'r' })).hasMessages).toBe(false);
  await answerWaits.run(app, { run: 'r', answers: { kind: '1' } });
  const late = answerWaits.run(app, { run: 'r', answers: { sure: 'yes', kind: '2' } });
  await expect(late).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
  const { waitId } = (await app.engine.waits('r')).find(({ node }) => node[0] === 'sure') ?? { waitId: '' };
  expect(await app.store.readMessages({ tenant: app.tenant, runId: 'r' })).toHaveLength(1);
  await expect(
    app.engine.answerAll('r', [
      [waitId, true],
      ['w_gone', 1],
    ]),
  ).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND' });
  expect(await app.store.readMessages({ tenant: app.tenant, runId: 'r' })).toHaveLength(1);
});

test('D10 workflows are listed by tag, described, checked and planned without running anything', async () => {
  writeFileSync(join(cwd, 'workflows/broken.yaml'), 'name: broken\nblocks: 5\n');
  (await app.openWorkflows()).reload();
  const listed = await listWorkflows.run(app, { tags: ['ask'] });
  expect(listed.workflows).toEqual([
    expect.objectContaining({ name: 'approval', blockCount: 4, asks: true, source: 'workflows/approval.yaml' }),
  ]);
  expect(listed.broken.map(({ source }) => source)).toEqual(['workflows/broken.yaml']);
  expect((await listWorkflows.run(app, { tags: ['ask', 'none'] })).workflows).toEqual([]);
  const described = await describeWorkflow.run(app, { workflow: 'approval' });
  expect(described.waves).toEqual([['say'], ['sure', 'kind'], ['take']]);
  expect(JSON.parse(JSON.stringify(described))).toMatchObject({ inputs: [{ name: 'what', default: 'cake' }] });
  expect(await planWorkflow.run(app, { file: 'workflows/approval.yaml' })).toEqual(described);
  const bad = await checkWorkflow.run(app, { text: approval.replace('EchoBlock', 'Echo') });
  expect([bad.isValid, bad.workflow, bad.violations.length]).toEqual([false, undefined, 1]);
  expect((await checkWorkflow.run(app, { text: approval })).isValid).toBe(true);
});

test('D1 an inline workflow resumes from the text kept with it, and a changed file is told of', async () => {
  await startWorkflow.run(app, { text: approval.replace('name: approval', 'name: inline'), runId: 'i' });
  await finish('i');
  expect((await inspectRun.run(app, { run: 'i' })).outputs).toEqual({ kind: 'large', taken: true });
  await start('r');
  writeFileSync(join(cwd, 'workflows/approval.yaml'), approval.replace('message: taken', 'message: other'));
  await answerWaits.run(app, { run: 'r', answers: { sure: 'yes', kind: '1' } });
  const standing = await resumeRun.run(app, { run: 'r' });
  expect(standing.definition?.became).toBe('changed');
  expect(standing.state.outputs['take']).toMatchObject({ echoed: expect.stringContaining('taken') });
});

test('D4 checkpoints of all runs are listed newest first, by workflow, in pages', async () => {
  await start('a');
  await start('b');
  await startWorkflow.run(app, { text: approval.replace('name: approval', 'name: inline'), runId: 'c' });
  await finish('a');
  const all = (await listCheckpoints.run(app, { limit: 1000 })).checkpoints;
  const times = all.map(({ createdAt }) => createdAt);
  expect(times).toEqual([...times].sort((x, y) => y - x));
  expect(all[0]).toMatchObject({ runId: 'a', isHead: true, isPaused: false });
  expect(new Set(all.map(({ runId }) => runId))).toEqual(new Set(['a', 'b', 'c']));
  const ofWorkflow = (await listCheckpoints.run(app, { workflow: 'inline', limit: 1000 })).checkpoints;
  expect(ofWorkflow).toEqual(all.filter(({ runId }) => runId === 'c'));
  const pages: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await listCheckpoints.run(app, { limit: 2, ...(cursor !== undefined && { cursor }) });
    pages.push(...page.checkpoints);
    cursor = page.cursor;
  } while (cursor !== undefined && pages.length <= all.length);
  expect(pages).toEqual(all);
  const paused = (await listCheckpoints.run(app, { paused: true })).checkpoints;
  expect(paused).toEqual(all.filter(({ isPaused }) => isPaused));
  expect(paused.map(({ prompt }) => prompt?.split('\n')[0])).toEqual(Array(3).fill('Confirm operation: Take cake?'));
});

test('D5 a checkpoint tells how far the run was there, also when it has gone on since', async () => {
  await start('r');
  const [paused] = (await listCheckpoints.run(app, { paused: true })).checkpoints;
  await finish('r');
  expect(await describeCheckpoint.run(app, { checkpoint: paused?.checkpointId ?? '' })).toMatchObject({
    runId: 'r',
    isPaused: true,
    isHead: false,
    status: 'paused',
    pausedNode: 'sure',
    completed: ['say'],
    wave: 1,
    waveCount: 3,
    percent: 25,
  });
  expect(await describeCheckpoint.run(app, { checkpoint: 'r@0' })).toMatchObject({
    completed: [],
    wave: 0,
    percent: 0,
  });
});

test('D6 deleting the newest checkpoint removes the run, unless it has forks', async () => {
  await start('r');
  await forkRun.run(app, { checkpoint: 'r', runId: 'f', answer: { sure: 'no' } });
  await expect(deleteCheckpoint.run(app, { checkpoint: 'r' })).rejects.toMatchObject({ code: 'HISTORY_HAS_FORKS' });
  expect(await deleteCheckpoint.run(app, { checkpoint: 'f' })).toMatchObject({ removed: 'run', runId: 'f' });
  expect((await deleteCheckpoint.run(app, { checkpoint: 'r' })).removed).toBe('run');
  await expect(inspectRun.run(app, { run: 'r' })).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
});

test('W3 D6 the same answer again is acknowledged after the run has ended, another is refused with the first', async () => {
  await start('r');
  const { waits } = await inspectRun.run(app, { run: 'r' });
  const wait = waits.find(({ name, node }) => [name, ...node].includes('sure'))?.waitId ?? '';
  await finish('r');
  expect((await inspectRun.run(app, { run: 'r' })).status).toBe('completed');
  const said = (await answerWait.run(app, { run: 'r', wait, value: 'yes' })).value;
  expect(said).toBe('yes');
  await expect(answerWait.run(app, { run: 'r', wait, value: 'no' })).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
});

test('W2 D7 several answers are acknowledged again by name after the end of a run, as typed, as one alone is', async () => {
  await start('r');
  await finish('r');
  const again = { run: 'r', answers: { sure: 'yes', kind: '2' } };
  expect((await answerWaits.run(app, again)).answered).toEqual([
    { waitId: 'sure', value: 'yes' },
    { waitId: 'kind', value: 'large' },
  ]);
  const alone = await answerWait.run(app, { run: 'r', wait: 'kind', value: '2' });
  expect(alone).toEqual({ runId: 'r', waitId: 'kind', value: 'large' });
  const other = answerWaits.run(app, { run: 'r', answers: { sure: 'yes', kind: '1' } });
  await expect(other).rejects.toMatchObject({ code: 'WAIT_CLOSED', data: { answer: 'large' } });
  const unknown = answerWaits.run(app, { run: 'r', answers: { sure: 'yes', knd: '2' } });
  await expect(unknown).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND', data: { waitId: 'knd' } });
});

test('D6 a closed pause whose answer forks take over is deleted for whoever lists, names or forks it; forks from before keep the answer', async () => {
  await start('r');
  const { seq: pause } = await inspectRun.run(app, { run: 'r' });
  await expect(deleteCheckpoint.run(app, { checkpoint: `r@${pause - 1}` })).rejects.toMatchObject({
    code: 'CHECKPOINT_NEEDED',
    data: { reason: 'what it opened is still open' },
  });
  await finish('r');
  const outputs = (await inspectRun.run(app, { run: 'r' })).outputs;
  for (const seq of [pause, pause - 1]) {
    const checkpoint = `r@${seq}`;
    expect(await deleteCheckpoint.run(app, { checkpoint })).toMatchObject({ removed: 'checkpoint' });
    for (const act of [
      () => describeCheckpoint.run(app, { checkpoint }),
      () => forkRun.run(app, { checkpoint }),
      () => deleteCheckpoint.run(app, { checkpoint }),
    ])
      await expect(act()).rejects.toMatchObject({ code: expect.stringMatching(/^CHECKPOINT_(?:NOT_FOUND|PRUNED)$/) });
  }
  const listed = (await listCheckpoints.run(app, { limit: 100 })).checkpoints.map(({ seq }) => seq);
  expect(listed).not.toContain(pause);
  expect(listed).not.toContain(pause - 1);
  expect(
    (await readLog.run(app, { run: 'r' })).entries.every(({ seq, tags }) => seq !== pause && tags.length === 0),
  ).toBe(true);
  const forked = await forkRun.run(app, { checkpoint: 'r@1', run: true });
  expect((await inspectRun.run(app, { run: forked.fork.runId })).outputs).toEqual(outputs);
  expect((await verifyRuns.run(app, {})).isValid).toBe(true);
  await removeRun.run(app, { run: forked.fork.runId });
  // Pruning takes the rows when nothing needs them, marks and all.
  await pruneRuns.run(app, { run: 'r' });
  expect(await app.store.readTags({ tenant: app.tenant, runId: 'r' })).toEqual([]);
  expect((await inspectRun.run(app, { run: 'r' })).outputs).toEqual(outputs);
});

test('D6 an older checkpoint goes if nothing needs it, and says what needs it otherwise', async () => {
  await start('r');
  await tagCheckpoint.run(app, { checkpoint: 'r@1', name: 'here' });
  const kept = deleteCheckpoint.run(app, { checkpoint: 'r@1' });
  await expect(kept).rejects.toMatchObject({ code: 'CHECKPOINT_NEEDED', data: { reason: 'it has the tag here' } });
  await finish('r');
  const before = (await inspectRun.run(app, { run: 'r' })).outputs;
  expect(await deleteCheckpoint.run(app, { checkpoint: 'r@0' })).toMatchObject({ removed: 'checkpoint' });
  await expect(describeCheckpoint.run(app, { checkpoint: 'r@0' })).rejects.toMatchObject({
    code: 'CHECKPOINT_PRUNED',
    data: { remains: expect.stringMatching(/\.1$/) },
  });
  expect((await inspectRun.run(app, { run: 'r' })).outputs).toEqual(before);
  await expect(answerWait.run(app, { run: 'r', wait: 'sure', value: 'no' })).rejects.toMatchObject({
    code: 'WAIT_CLOSED',
  });
});

test('W2 G10 no door lists a question of a run that has failed, and each says why its answer is not taken', async () => {
  const text = `name: beside
blocks:
  - { id: ask, type: GetInput, inputs: { prompt: "Which?" } }
  - { id: first, type: GetInput, inputs: { prompt: "First?" } }
  - { id: breaks, type: EchoBlock, inputs: { message: x }, condition: "\${first.input_value > 1}", depends_on: [first] }
`;
  writeFileSync(join(cwd, 'workflows/beside.yaml'), text);
  await startWorkflow.run(app, { workflow: 'beside', runId: 'r' });
  await answerWait.run(app, { run: 'r', wait: 'first', value: 'x' });
  expect((await resumeRun.run(app, { run: 'r' })).status).toBe('failed');
  expect((await inspectRun.run(app, { run: 'r' })).waits).toEqual([]);
  expect((await listWaits.run(app, { run: 'r' })).waits).toEqual([]);
  for (const refused of [
    answerWait.run(app, { run: 'r', wait: 'ask', value: 'x' }),
    answerWaits.run(app, { run: 'r', answers: { ask: 'x' } }),
  ])
    await expect(refused).rejects.toMatchObject({
      code: 'WAIT_NOT_FOUND',
      message: 'run r has no open wait ask: it is failed',
      hint: expect.stringContaining('A failed run asks again when it is resumed.'),
    });
});

test('N14 a picture of what is neither a run nor a workflow is refused, and both are named', async () => {
  await expect(draw.run(app, { target: 'approvl' })).rejects.toThrow(
    expect.objectContaining({
      code: 'WORKFLOW_NOT_FOUND',
      message: 'no workflow approvl, and no run of that id',
      hint: 'There are, nearest first: approval.',
    }),
  );
});
