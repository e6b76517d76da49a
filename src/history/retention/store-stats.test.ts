/** What a store holds, counted (H11). */
import { expect, test } from 'vitest';
import { AgentGraph, createMemoryStore, END, humanNode, openHistory, START } from '../../index.ts';
import { collect } from '../../../test/support/small-graphs.ts';

const asking = (id: string, store = createMemoryStore()) =>
  new AgentGraph({}, { id })
    .addNode('a', () => 'x'.repeat(100))
    .addNode('ask', humanNode({ prompt: '?' }))
    .addEdge(START, 'a')
    .addEdge('a', 'ask')
    .addEdge('ask', END)
    .compile({ store });

test('H11 runs and checkpoints are counted by workflow, status and age, and their bytes where that is asked for', async () => {
  const store = createMemoryStore();
  const [one, other] = [asking('one', store), asking('other', store)];
  for (const runId of ['r', 's']) await one.invoke({}, { runId });
  await one.resume('r', { answers: { ask: 'yes' } });
  await other.invoke({}, { runId: 't' });
  const { runId: fork } = await one.fork('r');
  const history = openHistory(store);
  const { groups, orphans, ...all } = await history.stats();
  const lengths = await Promise.all(['r', 's', 't'].map(async (run) => (await collect(history.log(run))).length));
  const { head, parent } = await history.find(fork);
  const own = head - (parent?.seq ?? 0);
  expect(groups.map(({ graphId, status, runs }) => [graphId, status, runs])).toEqual([
    ['one', 'completed', 1],
    ['one', 'paused', 2],
    ['other', 'paused', 1],
  ]);
  expect(groups.map(({ checkpoints }) => checkpoints)).toEqual([lengths[0], (lengths[1] ?? 0) + own, lengths[2]]);
  expect(groups.every(({ ages, checkpoints }) => ages.day === checkpoints && ages.older === 0)).toBe(true);
  expect([all, orphans]).toEqual([
    { runs: 4, checkpoints: lengths.reduce((sum, length) => sum + length, own) },
    { blobs: 0, forks: 0 },
  ]);
  const sized = await history.stats({ sizes: true });
  expect(sized.sizeBytes).toBe(sized.groups.reduce((sum, { sizeBytes = 0 }) => sum + sizeBytes, 0));
  expect(sized.sizeBytes).toBeGreaterThan(300);
  await Promise.all([one.close(), other.close()]);
});

test('H11 a listing ends at its limit, and takes no other', async () => {
  const graph = asking('g');
  for (const runId of ['r', 's', 't']) await graph.invoke({}, { runId });
  const { history } = graph;
  expect((await collect(history.list({ limit: 2 }))).map(({ runId }) => runId)).toEqual(['t', 's']);
  expect(await collect(history.checkpoints({ limit: 4 }))).toHaveLength(4);
  for (const limit of [0, -1, 1.5, Number.NaN]) expect(() => history.list({ limit })).toThrow('limit');
  await graph.close();
});
