/** Many runs are changed by a run of its own: what a filter names is fixed, and each is tried once unless it has gone on (D51, D52). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openApp, type App } from '../../app/open-app.ts';
import { perform } from '../contract/perform.ts';
import * as operations from '../table.ts';
import { bulkGraph, type BulkTarget } from './bulk-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-bulk-'));
writeFileSync(join(folder, 'ask.yaml'), 'name: ask\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n');
writeFileSync(
  join(folder, 'fail.yaml'),
  'name: fail\ninputs: { code: { type: int, default: 3 } }\nblocks:\n  - { id: breaks, type: Shell, inputs: { command: "exit ${inputs.code}" } }\n',
);
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function house(count: number, file = 'ask.yaml'): Promise<App> {
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  for (let i = 0; i < count; i += 1)
    await perform(operations.run, app, { file, runId: `r${i}`, label: { tier: i % 2 === 0 ? 'gold' : 'free' } });
  return app;
}

const statuses = async (app: App): Promise<readonly string[]> => {
  const { runs } = await perform(operations.listRuns, app, { limit: 100 });
  return runs
    .filter(({ graphId }) => graphId !== 'bulk')
    .map(({ runId, status }) => `${runId} ${status}`)
    .toReversed();
};

test('D51 a dry run says how many runs a filter names, shows some, and changes nothing', async () => {
  const app = await house(12);
  const dry = await perform(operations.changeRuns, app, { action: 'cancel', status: ['paused'], dryRun: true });
  expect([dry.count, dry.sample.length, dry.sample[0], dry.runId]).toEqual([
    12,
    10,
    { runId: 'r11', graphId: 'ask', status: 'paused' },
    undefined,
  ]);
  expect(new Set((await statuses(app)).map((line) => line.split(' ')[1]))).toEqual(new Set(['paused']));
});

test('D51 a dry run is counted by the store, and only the runs that are shown are read', async () => {
  const app = await house(50);
  let read = 0;
  const listRuns: typeof app.store.listRuns = async (query) => {
    const page = await app.store.listRuns(query);
    read += page.rows.length;
    return page;
  };
  const place = { ...app, store: { ...app.store, listRuns } };
  const ask = { action: 'cancel', label: { tier: 'gold' }, dryRun: true } as const;
  const dry = await perform(operations.changeRuns, place, ask);
  expect([dry.count, dry.sample.length, read]).toEqual([25, 10, 10]);
  // Who is stopped shows only when the runs are read, and a store need not count.
  const store = { ...app.store };
  delete store.countRuns;
  expect((await perform(operations.changeRuns, { ...app, store }, ask)).count).toBe(25);
  expect((await perform(operations.changeRuns, app, { ...ask, status: ['stopped', 'paused'] })).count).toBe(25);
});

test('D51 what the filter names is cancelled by a run of its own, which says what became of them', async () => {
  const app = await house(4);
  const done = await perform(operations.changeRuns, app, {
    action: 'cancel',
    label: { tier: 'gold' },
    reason: 'over',
    by: 'ann',
  });
  expect([done.count, done.status, done.result, done.runId]).toEqual([
    2,
    'completed',
    { done: 2, moved: 0, failed: 0, failures: [] },
    expect.stringMatching(/^cairn:bulk:/u),
  ]);
  expect(await statuses(app)).toEqual(['r0 cancelled', 'r1 paused', 'r2 cancelled', 'r3 paused']);
  // It is no target of the next one, nor are schedules.
  await perform(operations.schedule, app, { action: 'add', target: 'ask.yaml', cron: '0 2 * * *' });
  const dry = await perform(operations.changeRuns, app, { action: 'cancel', since: '1d', dryRun: true });
  expect(dry.sample.map(({ runId }) => runId).toSorted()).toEqual(['r0', 'r1', 'r2', 'r3']);
});

test('D51 failed runs are removed and resumed by their error, and listed by it', async () => {
  const app = await house(3, 'fail.yaml');
  await perform(operations.run, app, { file: 'fail.yaml', runId: 'other', input: { code: 4 } });
  const { groups = [] } = await perform(operations.listRuns, app, { group: 'error' });
  expect(groups.map(({ count, runs }) => [count, runs])).toEqual([
    [3, ['r2', 'r1', 'r0']],
    [1, ['other']],
  ]);
  const code = groups[0]?.code ?? '';
  const { runs } = await perform(operations.listRuns, app, { error: code, limit: 2 });
  expect(runs.map(({ runId }) => runId)).toEqual(['other', 'r2']);
  const gone = await perform(operations.changeRuns, app, { action: 'rm', error: code });
  expect([gone.count, gone.result?.done, await statuses(app)]).toEqual([4, 4, []]);
});

test('D52 a run that went on since it was chosen is left alone, one that stands as wanted counts, and each failure is named', async () => {
  const app = await house(3);
  const heads = await Promise.all(
    ['r0', 'r1', 'r2', 'none'].map(async (runId): Promise<BulkTarget> => [
      runId,
      (await app.store.readRun({ tenant: app.tenant, runId }))?.head ?? 0,
    ]),
  );
  await perform(operations.answer, app, { run: 'r0', value: 'yes' });
  await perform(operations.resume, app, { run: 'r0' });
  await perform(operations.cancel, app, { run: 'r1' });
  const work = { action: 'cancel', targets: heads };
  const handle = await app.engine.start(bulkGraph(app), work, { runId: 'cairn:bulk:x', origin: 'bulk' });
  expect((await handle.result()).state.outputs['change']).toEqual({ done: 2, moved: 2, failed: 0, failures: [] });
  expect(await statuses(app)).toEqual(['r0 completed', 'r1 cancelled', 'r2 cancelled']);
  const resumed = await perform(operations.changeRuns, app, { action: 'resume', status: ['cancelled'] });
  expect(resumed.result).toMatchObject({ failed: 2, failures: [{ code: 'RUN_CANCELLED' }, { code: 'RUN_CANCELLED' }] });
});

test('D52 stopped in the middle and taken up again, it goes on where it was', async () => {
  const app = await house(60);
  const targets = (await perform(operations.listRuns, app, { limit: 100 })).runs.map(({ runId, head }): BulkTarget => [
    runId,
    head,
  ]);
  const start = { runId: 'cairn:bulk:y', origin: 'bulk', detach: true } as const;
  await app.engine.start(bulkGraph(app), { action: 'cancel', targets }, start);
  const rest = await app.engine.advance('cairn:bulk:y', { forMs: 1 });
  expect(rest.status).not.toBe('failed');
  const handle = await app.engine.resume('cairn:bulk:y');
  expect((await handle.result()).state.outputs['change']).toMatchObject({ done: 60, moved: 0, failed: 0 });
});

test('D51 without a filter nothing is changed', async () => {
  const app = await house(1);
  await expect(perform(operations.changeRuns, app, { action: 'rm' })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});

test('D51 runs are named one by one, fit the filter that is given with them, and are chosen by the node that failed', async () => {
  const app = await house(3);
  const done = await perform(operations.changeRuns, app, { action: 'cancel', runs: ['r0', 'r2', 'r2', 'gone'] });
  expect([done.count, done.result?.done]).toEqual([2, 2]);
  expect(await statuses(app)).toEqual(['r0 cancelled', 'r1 paused', 'r2 cancelled']);
  // What has changed since they were looked at is left alone: each has to fit the filter still.
  const fitting = { action: 'cancel', runs: ['r0', 'r1'], status: ['paused'], label: { tier: 'free' }, dryRun: true };
  expect((await perform(operations.changeRuns, app, fitting)).sample.map(({ runId }) => runId)).toEqual(['r1']);
  const others = { ...fitting, label: { tier: 'gold' } };
  expect((await perform(operations.changeRuns, app, others)).count).toBe(0);
  await perform(operations.run, app, { file: 'fail.yaml', runId: 'broken' });
  const byNode = async (node: string): Promise<number> =>
    (await perform(operations.changeRuns, app, { action: 'rm', node, dryRun: true })).count;
  expect([await byNode('breaks'), await byNode('q')]).toEqual([1, 0]);
});

test('D51 runs are counted by their status, and an overview says in a line why one failed', async () => {
  const app = await house(2);
  await perform(operations.run, app, { file: 'fail.yaml', runId: 'broken' });
  const { counts, runs } = await perform(operations.listRuns, app, { group: 'status' });
  expect([counts, runs]).toEqual([
    [
      { status: 'paused', count: 2 },
      { status: 'failed', count: 1 },
    ],
    [],
  ]);
  const byNode = await perform(operations.listRuns, app, { node: 'breaks', group: 'status' });
  expect(byNode.counts).toEqual([{ status: 'failed', count: 1 }]);
  const overviews = await perform(operations.overviews, app, { run: ['r0', 'broken'] });
  expect(overviews.runs.map(({ error }) => error)).toEqual([
    undefined,
    { code: expect.any(String) as string, message: expect.stringContaining('3') as string, node: 'breaks' },
  ]);
});

test('D51 labels of all runs that a filter names are set and removed, by whom is in their audit, and what has them so is done', async () => {
  const app = await house(3);
  await perform(operations.cancel, app, { run: 'r2' });
  const change = { action: 'label', label: { tier: 'gold' }, set: { redrive: 'monday' }, unset: ['tier'], by: 'ann' };
  expect((await perform(operations.changeRuns, app, { ...change, dryRun: true })).count).toBe(2);
  const done = await perform(operations.changeRuns, app, change);
  expect([done.count, done.result]).toEqual([2, { done: 2, moved: 0, failed: 0, failures: [] }]);
  const { runs } = await perform(operations.listRuns, app, { label: { redrive: 'monday' } });
  expect(runs.map(({ runId, labels }) => [runId, labels])).toEqual([
    ['r2', { redrive: 'monday' }],
    ['r0', { redrive: 'monday' }],
  ]);
  expect((await perform(operations.changeRuns, app, change)).count).toBe(0);
  const { acts } = await perform(operations.audit, app, { run: 'r2' });
  expect(acts.at(-1)).toMatchObject({
    act: 'label',
    by: 'ann',
    runId: 'r2',
    said: { set: { redrive: 'monday' }, unset: ['tier'] },
  });
  for (const bad of [{}, { set: { tier: 'x' }, unset: ['tier'] }])
    await expect(
      perform(operations.changeRuns, app, { action: 'label', status: ['paused'], ...bad }),
    ).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  await expect(
    perform(operations.changeRuns, app, { action: 'cancel', status: ['paused'], set: { a: 'b' } }),
  ).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});
