/** The worker of a program. */
import { expect, test } from 'vitest';
import { AgentGraph, createWorker, END, humanNode, START } from '../index.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { until } from '../../test/support/awaited.ts';

const approval = () =>
  new AgentGraph({}, { id: 'approval' })
    .addNode('ask', humanNode({ prompt: 'Pay?', choices: ['yes', 'no'] }))
    .addNode('pay', () => 'paid')
    .addEdge(START, 'ask')
    .addEdge('ask', 'pay')
    .addEdge('pay', END);

test('W5 a worker of a program takes up detached and answered runs of the graphs it is given, over one engine', async () => {
  const store = createMemoryStore();
  const first = approval().compile({ store });
  const second = new AgentGraph({}, { id: 'other' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ engine: first.engine });
  const rested: string[] = [];
  const taken: string[] = [];
  const worker = createWorker({
    graphs: [first, second],
    concurrency: 2,
    onTaken: (runId) => taken.push(runId),
    onRested: ({ runId, status }) => rested.push(`${runId} ${status}`),
  });
  await first.start({}, { runId: 'a', detach: true });
  await until('a asks', () => rested.includes('a paused'));
  await second.start({}, { runId: 'b', detach: true });
  await until('b is done', () => rested.includes('b completed'));
  // Posted through another engine over the same store.
  const elsewhere = approval().compile({ store, wakes: false });
  await elsewhere.answer('a', 'ask', 'yes');
  await until('a is done', () => rested.includes('a completed'));
  expect(taken).toEqual(['a', 'b', 'a']);
  expect(worker.runs()).toEqual([]);
  await worker.stop();
  await elsewhere.start({}, { runId: 'c', detach: true });
  expect(await worker.look()).toBe(0);
  for (const each of [first, second, elsewhere]) await each.close();
});

test('G9 what cannot be is refused when a worker is made: no graph, several engines, a misspelt option, no room', () => {
  const first = approval().compile();
  const refused = (options: object): unknown => {
    try {
      return createWorker({ graphs: [first], ...options });
    } catch (error) {
      const { path, hint } = (error as { readonly data: { readonly path?: string; readonly hint?: string } }).data;
      return path ?? hint;
    }
  };
  expect(refused({ graphs: [] })).toBe('graphs');
  expect(refused({ graphs: [first, approval().compile()] })).toBe('graphs');
  expect(refused({ concurency: 1 })).toBe('Did you mean concurrency?');
  expect(refused({ concurrency: 0 })).toBe('concurrency');
  expect(refused({ pollMs: Number.NaN })).toBe('pollMs');
});

test('O2 a worker says from its first word on which code it has, so that runs of other code pass it over', async () => {
  const store = createMemoryStore();
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store });
  const worker = createWorker({ graphs: [graph] });
  const [noted] = await store.listWorkers('default');
  expect(noted?.graphs).toEqual({ g: graph.graph.hash });
  await worker.stop();
  await graph.close();
});

test('D21 a worker of a program removes what expired of its graphs when it begins, however much', async () => {
  const store = createMemoryStore();
  const short = () =>
    new AgentGraph({}, { id: 'short' })
      .addNode('a', () => 1)
      .addEdge(START, 'a')
      .addEdge('a', END);
  const before = short().compile({ store });
  for (let n = 0; n < 120; n += 1) await before.invoke({}, { runId: `run-${n}` });
  const retained = short().compile({ store, retention: { runs: 3 } });
  const worker = createWorker({ graphs: [retained] });
  const idsOf = async (): Promise<readonly string[]> =>
    (await store.listRuns({ tenant: 'default' })).rows.map(({ runId }) => runId);
  await until('three are left', async () => (await idsOf()).length === 3, 5);
  expect(await idsOf()).toEqual(['run-119', 'run-118', 'run-117']);
  await worker.stop();
  for (const each of [before, retained]) await each.close();
});
