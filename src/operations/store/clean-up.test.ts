/** Cleaning up by settings. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import { type App, openApp } from '../../app/open-app.ts';
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { answerWait } from '../waits/answer-wait.ts';
import { cleanUp, type CleanUpInput, type CleanUpReport } from './clean-up.ts';
import { forkRun } from '../runs/fork-run.ts';
import { inspectRun } from '../runs/inspect-run.ts';
import { listCheckpoints } from '../checkpoints/list-checkpoints.ts';
import { resumeRun } from '../runs/resume-run.ts';
import { startWorkflow } from '../workflows/start-workflow.ts';

const text = (name: string, checkpoint = ''): string => `name: ${name}
${checkpoint}
blocks:
  - id: one
    type: EchoBlock
    inputs: { message: hello }
  - id: ask
    type: Prompt
    inputs: { prompt: "And?" }
    depends_on: [one]
  - id: two
    type: EchoBlock
    inputs: { message: "\${ask.response}" }
    depends_on: [ask]
outputs:
  said: "\${ask.response}"
`;

const hour = 3_600_000;

let cwd = '';
let app: App;
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-cleanup-'));
  app = await openApp({ cwd, storeUrl: 'memory:', allow: ['inline'] });
});
afterEach(async () => {
  await app.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function pause(runId: string, name = 'flow', checkpoint?: string): Promise<void> {
  await startWorkflow.run(app, { text: text(name, checkpoint), runId });
}

async function finish(runId: string): Promise<void> {
  await answerWait.run(app, { run: runId, value: 'yes' });
  await resumeRun.run(app, { run: runId });
}

/** Cleans up as if so much time had gone by. */
function clean(
  settings: CheckpointSettings | undefined,
  laterMs = 0,
  input: CleanUpInput = {},
): Promise<CleanUpReport> {
  return cleanUp.run({ ...app, now: () => Date.now() + laterMs, settingsOf: () => Promise.resolve(settings) }, input);
}

async function seqs(runId: string): Promise<readonly number[]> {
  const { checkpoints } = await listCheckpoints.run(app, { limit: 1_000 });
  return checkpoints.filter((each) => each.runId === runId).map(({ seq }) => seq);
}

/** @param graphs - how many have settings */
const nothing = (graphs: number): CleanUpReport => ({
  counts: { graphs, removed: 0, pruned: 0, checkpoints: 0, skipped: 0 },
  removed: [],
  pruned: [],
  skipped: [],
  blobs: 0,
});

test('D17 without settings nothing goes, however old it is', async () => {
  await pause('a');
  await finish('a');
  expect(await clean(undefined, 10_000 * hour)).toEqual(nothing(0));
});

test('D19 the newest checkpoints of a workflow over its runs are kept, and every head', async () => {
  for (const runId of ['a', 'b']) {
    await pause(runId);
    await finish(runId);
  }
  await pause('other', 'other');
  const [before, head] = [await seqs('b'), (await seqs('a'))[0]];
  expect(before.length).toBeGreaterThan(3);
  const dry = await clean({ max_per_workflow: 3 }, 0, { dryRun: true });
  expect([await seqs('b'), dry.pruned.map(({ runId }) => runId)]).toEqual([before, ['b', 'a']]);
  await clean({ max_per_workflow: 3 });
  expect(await seqs('b')).toEqual(before.slice(0, 3));
  expect(await seqs('a')).toEqual([head]);
  expect((await inspectRun.run(app, { run: 'a' })).outputs).toEqual({ said: 'yes' });
  expect(await clean({ max_per_workflow: 3 })).toEqual(nothing(2));
});

test('D18 ended runs older than their settings keep them are removed whole; paused ones never', async () => {
  for (const runId of ['ended', 'paused']) await pause(runId);
  await finish('ended');
  expect((await clean({ ttl_seconds: 3600 }, hour / 2)).removed).toEqual([]);
  expect((await clean({ ttl_seconds: 3600 }, 2 * hour, { dryRun: true })).removed).toHaveLength(1);
  expect((await clean({ ttl_seconds: 3600 }, 2 * hour)).removed.map(({ runId }) => runId)).toEqual(['ended']);
  await expect(inspectRun.run(app, { run: 'ended' })).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
  expect((await clean({ ttl_seconds: 1, keep_paused: false }, 10_000 * hour)).removed).toEqual([]);
  await finish('paused');
  expect((await inspectRun.run(app, { run: 'paused' })).outputs).toEqual({ said: 'yes' });
});

test('D20 a paused run is left wholly alone, or pruned to what it needs to go on', async () => {
  await pause('p');
  const before = await seqs('p');
  expect(await clean({ max_per_workflow: 1 })).toEqual(nothing(1));
  expect(await seqs('p')).toEqual(before);
  const { pruned } = await clean({ max_per_workflow: 1, keep_paused: false });
  expect(pruned.map(({ runId }) => runId)).toEqual(['p']);
  expect((await seqs('p')).length).toBeLessThan(before.length);
  await finish('p');
  expect((await inspectRun.run(app, { run: 'p' })).outputs).toEqual({ said: 'yes' });
});

test('D18 a run that was forked from stays as long as its forks do', async () => {
  await pause('r');
  await finish('r');
  await forkRun.run(app, { checkpoint: 'r', runId: 'f', answer: { ask: 'no' } });
  const later = await clean({ ttl_seconds: 1 }, hour);
  expect([later.removed, later.skipped]).toEqual([[], [{ runId: 'r', because: 'forked' }]]);
  await resumeRun.run(app, { run: 'f' });
  expect((await clean({ ttl_seconds: 1 }, hour)).removed.map(({ runId }) => runId)).toEqual(['f', 'r']);
});

test('D20 a run that somebody works on is left as it is', async () => {
  await pause('r');
  await finish('r');
  const { claim } = await app.store.claimRun({ tenant: app.tenant, runId: 'r', workerId: 'w', leaseMs: hour });
  expect((await clean({ max_per_workflow: 1 })).skipped).toEqual([{ runId: 'r', because: 'busy' }]);
  if (claim !== undefined) await app.store.releaseClaim(claim);
  expect((await clean({ max_per_workflow: 1 })).pruned).toHaveLength(1);
});

test('D21 a workflow cleans up after its runs by what it says itself, before what the configuration says', async () => {
  await app.close();
  writeFileSync(join(cwd, 'cairn.config.json'), '{ "checkpoint": { "max_per_workflow": 2 } }');
  app = await openApp({ cwd, storeUrl: 'memory:', allow: ['inline'] });
  for (const [name, checkpoint] of [
    ['two', undefined],
    ['one', 'checkpoint: { max_per_workflow: 1 }'],
    ['all', 'checkpoint: { auto_cleanup: false }'],
  ] as const) {
    await pause(name, name, checkpoint);
    await finish(name);
  }
  const counts = [(await seqs('two')).length, (await seqs('one')).length, (await seqs('all')).length > 4];
  expect(counts).toEqual([2, 1, true]);
});

test('D21 a process that lives long cleans up now and then, tells what went wrong, and goes on', async () => {
  await app.close();
  writeFileSync(join(cwd, 'cairn.config.json'), '{ "checkpoint": { "max_per_workflow": 1, "auto_cleanup": false } }');
  const errors: unknown[] = [];
  let tell: (error: unknown) => void = () => undefined;
  const told = new Promise((resolve) => {
    tell = resolve;
  });
  app = await openApp({
    cwd,
    storeUrl: 'memory:',
    allow: ['inline'],
    cleanUpEvery: 5,
    report: (error) => {
      errors.push(error);
      tell(error);
    },
  });
  await pause('r');
  await finish('r');
  await until('the cleaning up leaves one checkpoint of r', async () => (await seqs('r')).length === 1, 5);
  expect(errors).toEqual([]);
  await app.store.close();
  expect(await told).toMatchObject({ code: 'STORE_CLOSED' });
});

test('D21 a process that lives long cleans up as often as the workflow of a run wants it, and as long as that says', async () => {
  await app.close();
  app = await openApp({ cwd, storeUrl: 'memory:', allow: ['inline'], cleanUpEvery: hour });
  await pause('kept', 'other', 'checkpoint: { ttl_seconds: 1000 }');
  await finish('kept');
  await pause('r', 'flow', 'checkpoint: { ttl_seconds: 1, cleanup_interval_seconds: 1, auto_cleanup: false }');
  await finish('r');
  const isThere = async (run: string): Promise<boolean> => {
    const found = await app.store.readRun({ tenant: app.tenant, runId: run });
    return found !== undefined;
  };
  await until('the run has gone', async () => !(await isThere('r')), 50);
  expect(await isThere('kept')).toBe(true);
}, 30_000);

test('D18 D17 `retention` of a workflow comes before that of the configuration, which is for workflows that say nothing', async () => {
  await app.close();
  writeFileSync(join(cwd, 'cairn.config.json'), JSON.stringify({ retention: { runs: 1 } }));
  app = await openApp({ cwd, storeUrl: 'memory:', allow: ['inline'] });
  const echo = (name: string, retention: string): string => `name: ${name}
${retention}
blocks:
  - id: one
    type: EchoBlock
    inputs: { message: hello }
`;
  for (const n of [1, 2, 3, 4]) {
    await startWorkflow.run(app, { text: echo('own', 'retention: { runs: 3 }'), runId: `own-${n}` });
    await startWorkflow.run(app, { text: echo('other', ''), runId: `other-${n}` });
  }
  await cleanUp.run(app, {});
  const { rows } = await app.store.listRuns({ tenant: app.tenant });
  expect(rows.map(({ runId }) => runId).sort()).toEqual(['other-4', 'own-2', 'own-3', 'own-4']);
});
