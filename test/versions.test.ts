/** Versions of code across workers: which runs each takes up, what waits for code, and what lets it go on (O3.2.3). */
import { expect, test } from 'vitest';
import { codeOfRun } from '../src/ports/graph-code.ts';
import { listVersions, listWorkers } from '../src/history/read/list-workers.ts';
import { AgentGraph, createWorker, END, humanNode, openHistory, START } from '../src/index.ts';
import { createMemoryStore } from '../src/stores/memory/index.ts';
import type { Store } from '../src/ports/store.ts';
import type { Versioning } from '../src/engine/worker.ts';
import { until } from './support/awaited.ts';

/** The same source each time: only the version tells one deploy from another. */
const paying = (store: Store, version?: string) =>
  new AgentGraph({}, { id: 'pay' })
    .addNode('ask', humanNode({ prompt: 'Pay?', choices: ['yes', 'no'] }))
    .addNode('pay', () => 'paid')
    .addEdge(START, 'ask')
    .addEdge('ask', 'pay')
    .addEdge('pay', END)
    .compile({ store, wakes: false, ...(version !== undefined && { version }) });

type Paying = ReturnType<typeof paying>;

/** A worker with this code, which tells what has come to rest in it. */
const working = (graph: Paying, versioning?: Versioning) => {
  const rested: string[] = [];
  const worker = createWorker({
    graphs: [graph],
    pollMs: 3_600_000,
    onRested: ({ runId, status }) => rested.push(`${runId} ${status}`),
    ...(versioning !== undefined && { versioning }),
  });
  return { worker, rested };
};

const codeIn = async (store: Store, runId: string): Promise<string | undefined> => {
  const row = await store.readRun({ tenant: 'default', runId });
  return row && codeOfRun(row);
};

const waitingIn = async (store: Store): Promise<readonly unknown[]> => {
  const found = [];
  for await (const { runId, waitsForCode } of openHistory(store).list()) found.push([runId, waitsForCode?.version]);
  return found;
};

test('O3.2.3 a worker leaves runs of another version to a live worker that has it, and takes them up when none lives', async () => {
  const store = createMemoryStore();
  const [one, two] = [paying(store, 'v1'), paying(store, 'v2')];
  expect(one.graph.hash).toBe(two.graph.hash);
  await one.invoke({}, { runId: 'r' });
  expect(await codeIn(store, 'r')).toBe(`${one.graph.hash}@v1`);
  await two.answer('r', 'ask', 'yes');
  const old = createWorker({ graphs: [one], concurrency: 1, queues: ['none'] });
  const newer = working(two);
  expect(await newer.worker.look()).toBe(0);
  await old.stop();
  await newer.worker.look();
  await until('it is done', () => newer.rested.includes('r completed'));
  expect(await codeIn(store, 'r')).toBe(`${two.graph.hash}@v2`);
  await newer.worker.stop();
  for (const each of [one, two]) await each.close();
});

test('O3.2.3 a pinned worker never takes up runs of another version: they wait for code by its name, until a resume frees them', async () => {
  const store = createMemoryStore();
  const [one, two, three] = [paying(store, 'v1'), paying(store, 'v2'), paying(store, 'v3')];
  for (const runId of ['r', 's']) await one.invoke({}, { runId });
  await two.invoke({}, { runId: 'own' });
  for (const runId of ['r', 's', 'own']) await two.answer(runId, 'ask', 'yes');
  const newer = working(two, 'pinned');
  await newer.worker.look();
  await until('its own is done', () => newer.rested.includes('own completed'));
  expect(await newer.worker.look()).toBe(0);
  expect(await waitingIn(store)).toEqual([
    ['own', undefined],
    ['s', 'v1'],
    ['r', 'v1'],
  ]);
  const [alive] = await listWorkers({ store, tenant: 'default', isWorkerDead: () => undefined });
  expect(alive).toMatchObject({ versioning: 'pinned', graphs: { pay: `${two.graph.hash}@v2` } });

  // Freed by somebody with a third version, who does not go on with it.
  await three.engine.resume('r', { graph: three.graph, detach: true, anyVersion: true });
  expect(await codeIn(store, 'r')).toBe('');
  await newer.worker.look();
  await until('the freed one is done', () => newer.rested.includes('r completed'));
  expect(await codeIn(store, 'r')).toBe(`${two.graph.hash}@v2`);
  expect(await codeIn(store, 's')).toBe(`${one.graph.hash}@v1`);
  await newer.worker.stop();
  for (const each of [one, two, three]) await each.close();
});

test('O3.2.3 a resume that frees a run which waits for an answer is on record, and whoever takes it up then has it', async () => {
  const store = createMemoryStore();
  const [one, two] = [paying(store, 'v1'), paying(store, 'v2')];
  await one.invoke({}, { runId: 'r' });
  await one.resume('r', { anyVersion: true, by: 'ann' });
  expect(await codeIn(store, 'r')).toBe('');
  const parts = [];
  for await (const { change } of openHistory(store).log('r')) parts.push(...change);
  expect(parts.filter(({ kind }) => kind === 'resume')).toMatchObject([{ anyVersion: true, by: 'ann', version: 'v1' }]);
  const newer = working(two, 'pinned');
  await two.answer('r', 'ask', 'yes');
  await newer.worker.look();
  await until('it is done', () => newer.rested.includes('r completed'));
  await newer.worker.stop();
  for (const each of [one, two]) await each.close();
});

test('H3 another version is other code, though the source is the same: a resume says which', async () => {
  const store = createMemoryStore();
  const [none, one, two] = [paying(store), paying(store, 'v1'), paying(store, 'v2')];
  expect(one.graph.codeHash).not.toBe(two.graph.codeHash);
  expect(one.graph.nodeCode['pay']).not.toBe(two.graph.nodeCode['pay']);
  await none.invoke({}, { runId: 'r' });
  expect(await codeIn(store, 'r')).toBe(none.graph.hash);
  for (const graph of [one, two, two, none]) await graph.resume('r');
  const told = [];
  for await (const { change } of openHistory(store).log('r'))
    for (const { kind, detail } of change) if (kind === 'resume') told.push(detail);
  expect(told.toReversed()).toMatchObject([
    [{ what: 'code', detail: 'version v1; before it was one without a name' }],
    [{ what: 'code', detail: 'version v2; before it was v1' }],
    [{ what: 'code', detail: 'version without a name; before it was v2' }],
  ]);
  expect(await codeIn(store, 'r')).toBe(none.graph.hash);
  for (const each of [none, one, two]) await each.close();
});

test('O3.2.3 a fork is for the code of its original, or of the graph that it is given', async () => {
  const store = createMemoryStore();
  const [one, two] = [paying(store, 'v1'), paying(store, 'v2')];
  const { runId, seq } = await one.invoke({}, { runId: 'r' });
  await one.engine.fork({ runId, seq }, { runId: 'same' });
  await one.engine.fork({ runId, seq }, { runId: 'newer', graph: two.graph });
  expect(await codeIn(store, 'same')).toBe(`${one.graph.hash}@v1`);
  expect(await codeIn(store, 'newer')).toBe(`${two.graph.hash}@v2`);
  for (const each of [one, two]) await each.close();
});

test('O3.2.3 H4 an export carries the code of a run to another store', async () => {
  const [store, other] = [createMemoryStore(), createMemoryStore()];
  const one = paying(store, 'v1');
  await one.invoke({}, { runId: 'r' });
  const { runId } = await openHistory(other).import(openHistory(store).export('r'));
  expect(await codeIn(other, runId)).toBe(`${one.graph.hash}@v1`);
  await one.close();
});

test('G9 a version is a text, which graphs that share an engine have each their own of', async () => {
  const store = createMemoryStore();
  const first = paying(store, 'v1');
  const second = new AgentGraph({}, { id: 'other' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ engine: first.engine, version: 'v7' });
  expect([first.graph.version, second.graph.version]).toEqual(['v1', 'v7']);
  expect(() => paying(store, '')).toThrow('a text');
  expect(() => createWorker({ graphs: [first], versioning: 'pined' as never })).toThrow('prefer, pinned');
  await first.close();
});

test('O3.2.3 the versions of a graph are listed with their open runs: one without any is drained while a worker has another', async () => {
  const store = createMemoryStore();
  const [one, two] = [paying(store, 'v1'), paying(store, 'v2')];
  const versions = async () => {
    const place = { store, tenant: 'default', isWorkerDead: () => undefined };
    const listed = await listVersions(place, await listWorkers(place));
    return listed.map(({ version, runs, workers, isDrained = false }) => [version, runs, workers, isDrained]);
  };
  const alone = working(two);
  expect(await versions()).toEqual([['v2', 0, 1, false]]);
  await alone.worker.stop();
  await one.invoke({}, { runId: 'r' });
  await two.invoke({}, { runId: 's' });
  await two.invoke({}, { runId: 't' });
  const [older, newer] = [working(one, 'pinned'), working(two, 'pinned')];
  expect(await versions()).toEqual([
    ['v1', 1, 1, false],
    ['v2', 2, 1, false],
  ]);
  await one.answer('r', 'ask', 'yes');
  await older.worker.look();
  await until('it is done', () => older.rested.includes('r completed'));
  expect(await versions()).toEqual([
    ['v2', 2, 1, false],
    ['v1', 0, 1, true],
  ]);
  for (const { worker } of [older, newer]) await worker.stop();
  expect(await versions()).toEqual([]);
  for (const each of [one, two]) await each.close();
});
