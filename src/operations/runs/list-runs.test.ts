/** `ls` finds runs by their labels, and by when they were started. */
import { expect, test } from 'vitest';
import { scale } from '../../../test/support/scale.ts';
import { AgentGraph, humanNode } from '../../index.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { listWaits } from '../waits/list-waits.ts';
import { listRuns } from './list-runs.ts';

type Query = Parameters<typeof listRuns.run>[1];

const listedBy = async (query: Query): Promise<readonly string[]> => (await listed(query)).map(({ runId }) => runId);

async function listed(query: Query): Promise<Awaited<ReturnType<typeof listRuns.run>>['runs']> {
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
  return runs;
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

test('S4 the labels of a run are told where it is listed, a fork with those of its original', async () => {
  const labels = (await listed({ label: { plan: 'pro' } })).map((run) => run.labels);
  expect(labels).toEqual([
    { user: 'ann', plan: 'pro' },
    { user: 'ann', plan: 'pro' },
  ]);
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

test('S4 a list is walked page by page, each run once, while others are started; a cursor fits its own filter alone', async () => {
  const total = scale(230, 10_000);
  const store = createMemoryStore();
  const compiled = new AgentGraph({}, { id: 'orders' })
    .addNode('only', ({ input }) => {
      if ((input as { readonly fails: boolean }).fails) throw new Error('no');
    })
    .addNode('ask', humanNode({ prompt: 'Go on?' }))
    .addEdge('__start__', 'only')
    .addEdge('only', 'ask')
    .compile({ store });
  const start = async (at: number): Promise<unknown> =>
    compiled.invoke({ fails: at % 3 === 0 }, { runId: `r${at}`, meta: { labels: { third: String(at % 3) } } });
  for (let at = 0; at < total; at += 1) await start(at);
  const context = { store, tenant: 'default', isWorkerDead: () => undefined, now: () => Date.now() };
  const walk = async (query: Parameters<typeof listRuns.run>[1]): Promise<readonly number[]> => {
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await listRuns.run(context, { ...query, ...(cursor !== undefined && { cursor }) });
      expect(page.hasMore).toBe(page.cursor !== undefined);
      seen.push(...page.runs.map(({ runId }) => Number(runId.slice(1))));
      ({ cursor } = page);
      if (seen.length < 50 && query.status?.[0] !== 'answered') await start(total + seen.length);
    } while (cursor !== undefined);
    return seen;
  };
  const all = Array.from({ length: total }, (_, at) => total - 1 - at);
  expect(await walk({ limit: 37, until: new Date(Date.now() + 1_000).toISOString() })).toEqual(all);
  const before = new Set(all);
  const old = (runs: readonly number[]): readonly number[] => runs.filter((at) => before.has(at));
  expect(old(await walk({ limit: 10, label: { third: '1' } }))).toEqual(all.filter((at) => at % 3 === 1));
  expect(old(await walk({ limit: 10, status: ['failed'] }))).toEqual(all.filter((at) => at % 3 === 0));

  // A status that only people are shown: the store lists all that are paused, and a few of them are answered.
  const answered = all.filter((at) => at % 3 === 1 && at % 7 === 0);
  for (const at of answered) {
    const [wait] = await compiled.engine.waits(`r${at}`);
    await compiled.engine.answer(`r${at}`, wait?.waitId ?? '', 'yes', { stays: true });
  }
  expect(await walk({ limit: 4, status: ['answered'] })).toEqual(answered);
  const inbox = await walkInbox(context, 9);
  expect(inbox.waits.filter((at) => before.has(at)).toSorted((a, b) => a - b)).toEqual(
    all.filter((at) => at % 3 !== 0 && !answered.includes(at)).toReversed(),
  );
  expect(inbox.answered.toSorted((a, b) => b - a)).toEqual(answered);

  const { cursor = '' } = await listRuns.run(context, { limit: 5 });
  await expect(listRuns.run(context, { limit: 5, graph: 'orders', cursor })).rejects.toThrow(
    'of another list or filter',
  );
  await expect(listWaits.run(context, { cursor })).rejects.toThrow('of another list or filter');
  await expect(listRuns.run(context, { cursor: 'odd' })).rejects.toThrow('no cursor');
  await compiled.close();
}, 120_000);

async function walkInbox(
  context: Parameters<typeof listWaits.run>[0],
  limit: number,
): Promise<{ readonly waits: readonly number[]; readonly answered: readonly number[] }> {
  const [waits, answered]: [number[], number[]] = [[], []];
  let cursor: string | undefined;
  do {
    const page = await listWaits.run(context, { limit, ...(cursor !== undefined && { cursor }) });
    waits.push(...page.waits.map(({ runId }) => Number(runId.slice(1))));
    answered.push(...page.answered.map(({ runId }) => Number(runId.slice(1))));
    ({ cursor } = page);
  } while (cursor !== undefined);
  return { waits, answered };
}
