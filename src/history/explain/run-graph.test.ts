import { expect, test } from 'vitest';
import type { RunRow, Store } from '../../ports/store.ts';
import { ModelHistory, type ModelOp } from '../../../test/history/model-history.ts';
import { graphRuns, type RunGraph } from './run-graph.ts';

const read = async (history: ModelHistory, runId: string, store: Store = history.store): Promise<RunGraph> =>
  graphRuns(
    { tenant: 'default', store, blobs: history.blobs, isWorkerDead: () => undefined, now: () => 0 },
    (await store.readRun({ tenant: 'default', runId })) as RunRow,
  );

function silent(row: RunRow): RunRow {
  const { hasForks: _, hasTags: __, ...rest } = row;
  return rest;
}

/** The store, but its rows tell nothing of forks and tags. */
const silentStore = (store: Store): Store => ({
  ...store,
  readRun: async (key) => {
    const row = await store.readRun(key);
    return row && silent(row);
  },
  listRuns: async (query) => {
    const page = await store.listRuns(query);
    return { ...page, rows: page.rows.map(silent) };
  },
});

/** The store, with the calls that are made of it. */
function watched(store: Store, calls: string[]): Store {
  const reads = ['readRun', 'listRuns', 'readTags', 'readCheckpoints'] as const;
  const call =
    (name: (typeof reads)[number]) =>
    (...args: readonly unknown[]): unknown => {
      calls.push(name);
      return (store[name] as (...given: readonly unknown[]) => unknown)(...args);
    };
  return { ...store, ...Object.fromEntries(reads.map((name) => [name, call(name)])) };
}

test('N12 of a fork without forks and tags of its own its first checkpoint is read, and no more', async () => {
  const history = new ModelHistory();
  const first = await history.start('first');
  for (const runId of ['a', 'b', 'c']) await history.fork(first, 0, runId);
  const calls: string[] = [];
  expect((await read(history, 'first', watched(history.store, calls))).runs).toHaveLength(4);
  expect(calls).toEqual(['readRun', 'listRuns', 'readCheckpoints', 'readCheckpoints', 'readCheckpoints']);
});

test('N12 the tree of any of its runs is the same: the original first, each before its forks, the one named marked', async () => {
  const history = new ModelHistory();
  const first = await history.start('first');
  for (const n of [1, 2, 3]) await first.commit([['s', ['frame', 'channels', 'scratch', 'n'], n]]);
  await history.fork(first, 2, 'late');
  const early = await history.fork(first, 1, 'early');
  await early.commit([]);
  await history.fork(early, 2, 'inner');
  await history.store.tagCheckpoint({ tenant: 'default', runId: 'first' }, { name: 'good', seq: 2 });
  const graphs = await Promise.all(['first', 'inner'].map((runId) => read(history, runId)));
  // A store of somebody else's may tell less with a run's row.
  expect(await read(history, 'inner', silentStore(history.store))).toEqual(graphs[1]);
  for (const { runId, runs } of graphs) {
    expect(runs.map((run) => [run.runId, run.parent?.runId, run.parent?.seq])).toEqual([
      ['first', undefined, undefined],
      ['early', 'first', 1],
      ['inner', 'early', 2],
      ['late', 'first', 2],
    ]);
    expect(runs.filter(({ isCurrent }) => isCurrent).map((run) => run.runId)).toEqual([runId]);
    expect(runs[0]).toMatchObject({ head: 3, tags: [{ name: 'good', seq: 2 }] });
    expect(runs[0]?.changed).toBeUndefined();
    expect(runs[1]?.changed).toEqual({ set: [], answers: [], isOtherGraph: false });
  }
});

test('N12 what a fork was given stands under its path, with `\\.` for a dot within a key; records of earlier versions are read alike', async () => {
  const history = new ModelHistory();
  const first = await history.start('first');
  const scratch = (key: string, value: unknown): ModelOp => ['s', ['frame', 'channels', 'scratch', key], value];
  const ops = [scratch('a.b', 5), scratch('a', { b: 6, 'c.d': 7 }), scratch('x.y', { z: 8 })];
  await history.fork(first, 0, 'now', ops, {
    set: ['scratch.a\\.b', 'scratch.a', 'scratch.a.c\\.d', 'scratch.x\\.y.z', 'outputs.n', 'scratch.'],
  });
  await history.fork(first, 0, 'before', ops, { set: ['scratch.a.b', 'scratch.a', 'scratch.x.y.z'] });
  const { runs } = await read(history, 'first');
  const given = (runId: string): unknown => runs.find((run) => run.runId === runId)?.changed?.set;
  const all = [
    { path: 'scratch.a\\.b', value: 5 },
    { path: 'scratch.a', value: { b: 6, 'c.d': 7 } },
    { path: 'scratch.x\\.y.z', value: 8 },
  ];
  expect(given('before')).toEqual(all);
  expect(given('now')).toEqual([
    ...all.slice(0, 2),
    { path: 'scratch.a.c\\.d', value: 7 },
    ...all.slice(2),
    { path: 'outputs.n' },
    { path: 'scratch.' },
  ]);
});
