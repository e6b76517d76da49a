/** `ls` finds runs by their labels, and by when they were started. */
import { expect, test } from 'vitest';
import { AgentGraph } from '../../index.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { listRuns } from './list-runs.ts';

async function listedBy(query: Parameters<typeof listRuns.run>[1]): Promise<readonly string[]> {
  const store = createMemoryStore();
  const graph = new AgentGraph({}, { id: 'orders' }).addNode('only', () => ({})).addEdge('__start__', 'only');
  const compiled = graph.compile({ store });
  await compiled.invoke({}, { runId: 'a', meta: { labels: { user: 'ann', plan: 'pro' } } });
  await compiled.invoke({}, { runId: 'b', meta: { labels: { user: 'ann' } } });
  await compiled.invoke({}, { runId: 'c', meta: { labels: { user: 'bob' } } });
  await compiled.fork('a@1', { runId: 'd' });
  const context = { store, tenant: 'default', isWorkerDead: () => undefined, now: () => Date.now() };
  const { runs } = await listRuns.run(context, query);
  await compiled.close();
  return runs.map(({ runId }) => runId);
}

test('S4 runs are found by labels, which a fork has from the run that it was forked from', async () => {
  expect(await listedBy({ label: { user: 'ann' } })).toEqual(['d', 'b', 'a']);
  expect(await listedBy({ label: { user: 'ann', plan: 'pro' } })).toEqual(['d', 'a']);
  expect(await listedBy({ label: { user: 'eve' } })).toEqual([]);
  expect(await listedBy({ since: '1h' })).toHaveLength(4);
  expect(await listedBy({ until: '1h' })).toEqual([]);
  expect(await listedBy({ since: '2020-01-01', until: '2020-01-02T10:00' })).toEqual([]);
  await expect(listedBy({ since: 'yesterday' })).rejects.toThrow('since is no time');
});

test('a run is not started with labels that cannot be kept', async () => {
  const compiled = new AgentGraph({}, { id: 'orders' })
    .addNode('only', () => ({}))
    .addEdge('__start__', 'only')
    .compile({ store: createMemoryStore() });
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`l${at}`, 'x']));
  for (const labels of [many, { user: 5 }, { user: 'x'.repeat(300) }, 'user=ann', { '': 'x' }])
    await expect(compiled.invoke({}, { meta: { labels: labels as never } })).rejects.toThrow(/label/);
  await compiled.close();
});
