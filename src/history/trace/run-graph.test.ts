import { expect, test } from 'vitest';
import { ModelHistory } from '../../../test/history/model-history.ts';
import { graphRuns, type RunGraph } from './run-graph.ts';

const read = async (history: ModelHistory, runId: string): Promise<RunGraph> =>
  graphRuns(
    { tenant: 'default', store: history.store, blobs: history.blobs, isWorkerDead: () => undefined, now: () => 0 },
    await history.readRun(runId),
  );

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
