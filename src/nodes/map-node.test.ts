import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, rowOf, runToRest } from '../../test/engine-kit.ts';
import { CairnError } from '../errors.ts';
import { compileGraph } from '../graph/compile/compile-graph.ts';
import { END, START } from '../graph/graph.ts';
import { stepsOutput, type NodeFailure, type Outcome, type StateView } from '../graph/contracts/node-contract.ts';
import { loadState } from '../history/load/load.ts';
import { createFakeContext, createStateView, type FakeContext } from '../testing/node-suite/fake-context.ts';
import { functionNode, mapNode, type NodeDraft } from './builders.ts';
import type { MapNodeConfig } from './index.ts';

const over = ({ state }: { readonly state: StateView }): readonly unknown[] => state.input as readonly unknown[];
const contextOf = (input: unknown): FakeContext => createFakeContext({ state: { input } });
const runOver = async (draft: NodeDraft, input: unknown): Promise<unknown> =>
  draft.implementation.run(contextOf(input));
const failureOf = (draft: NodeDraft, input: unknown): Promise<NodeFailure> =>
  runOver(draft, input).then(
    () => Promise.reject(new Error('completed')),
    (error: unknown) => error as NodeFailure,
  );
const child = compileGraph({
  id: 'child',
  nodes: [{ ...functionNode(() => 1), id: 'only' }],
  edges: [
    { from: START, to: 'only' },
    { from: 'only', to: END },
  ],
});

test('X4 each item is a step known by its key, with its class, its input and its own retries', async () => {
  const ctx = contextOf([{ id: 'x' }, { id: 'y' }]);
  const retry = { attempts: 3 };
  const draft = mapNode<{ input: unknown } & ReturnType<typeof createStateView>, { id: string }>({
    over: ({ state }) => state.input as { id: string }[],
    key: ({ item }) => item.id,
    concurrency: 1,
    effectClass: 'write',
    idempotent: true,
    timeoutMs: 7,
    retry,
    reconcile: ({ idempotencyKey, item }) => ({ happened: true, output: idempotencyKey + item.id }),
    each: ({ item, index, idempotencyKey }) => `${item.id}${index}${idempotencyKey}`,
  });
  const returned = await draft.implementation.run(ctx);
  expect((returned as Outcome).parts.output).toBe(stepsOutput);
  expect(ctx.record.steps.map(({ name }) => name)).toEqual(['x', 'y']);
  expect(ctx.record.steps[1]?.options).toMatchObject({
    effect: 'write',
    idempotent: true,
    timeoutMs: 7,
    retry,
    input: { id: 'y' },
  });
  expect(await ctx.record.steps[1]?.options.reconcile?.({ idempotencyKey: 'k' })).toEqual({
    happened: true,
    output: 'ky',
  });
  expect(draft.effect).toBe('read');
  expect(mapNode({ over, each: () => 1 }).effect).toBe('pure');
});

test('X4 outputs come in the order of the items, whatever order records have, and are stored in the steps alone', async () => {
  const keys = ['b', '10', '2', 'a', '4294967296'];
  for (const concurrency of [1, 2, 5]) {
    const ended: (() => void)[] = [];
    const draft = mapNode({
      over,
      key: ({ item }) => String(item),
      concurrency,
      // Those that run side by side end in the reverse order.
      each: async ({ item, index }) => {
        if (index % concurrency < concurrency - 1 && index < keys.length - 1)
          await new Promise<void>((resolve) => (ended[index] = resolve));
        ended[index - 1]?.();
        return item;
      },
    });
    const graph = graphOf('g', [{ ...draft, id: 'all' }], edges('> all', 'all >'));
    const bench = createBench();
    const done = await runToRest(bench.engine, graph, keys);
    expect(done.state.outputs['all']).toEqual(keys);
    const { root } = await loadState(bench.store, bench.options.blobs, await rowOf(bench, done.runId));
    expect(root.frame.nodes['all']).not.toHaveProperty('output');
  }
});

test('E8 no more items than `concurrency` run at once, and all of them run', async () => {
  let running = 0;
  let most = 0;
  const draft = mapNode({
    over,
    concurrency: 3,
    each: async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
    },
  });
  const ctx = contextOf(Array.from({ length: 20 }));
  await draft.implementation.run(ctx);
  expect(most).toBe(3);
  expect(ctx.record.steps).toHaveLength(20);
});

test('G8 when an item fails, running ones finish, no others start, and the node names the item', async () => {
  const finished: unknown[] = [];
  const cause = new Error('boom');
  const draft = mapNode({
    over,
    concurrency: 2,
    key: ({ item }) => `k${String(item)}`,
    each: async ({ item }) => {
      if (item === 1) throw cause;
      await setImmediate();
      finished.push(item);
    },
  });
  const failure = await failureOf(draft, [0, 1, 2, 3]);
  expect(failure).toMatchObject({
    code: 'ITEM_FAILED',
    message: "item 'k1' failed: boom",
    data: { failed: ['k1'], count: 1 },
  });
  expect(failure.cause).toBe(cause);
  expect(finished).toEqual([0]);
});

test('G8 with continueOnError every item has a status', async () => {
  const error = new Error('odd');
  const draft = mapNode({
    over,
    continueOnError: true,
    each: ({ item }) => {
      if (item === 1) throw error;
      return item;
    },
  });
  expect(await runOver(draft, [0, 1, 2])).toEqual([
    { status: 'completed', value: 0 },
    { status: 'failed', error },
    { status: 'completed', value: 2 },
  ]);
});

test('W6 items can be child runs, named by their keys', async () => {
  const ctx = createFakeContext({
    state: { input: ['a', 'b'] },
    runChild: (_graph, input) => ({ status: 'completed', state: createStateView({ artifacts: { made: input } }) }),
  });
  const draft = mapNode({ over, key: ({ item }) => `item-${String(item)}`, each: child });
  expect(await draft.implementation.run(ctx)).toEqual([{ made: 'a' }, { made: 'b' }]);
  expect(ctx.record.children).toEqual([
    { name: 'item-a', input: 'a' },
    { name: 'item-b', input: 'b' },
  ]);
  expect(draft).toMatchObject({ effect: 'read', subgraph: child });
});

test('P6 keys that repeat, items that are no list, and options without effect are refused', async () => {
  expect(await failureOf(mapNode({ over, key: () => 'same', each: () => 1 }), [1, 2])).toMatchObject({
    code: 'NODE_OUTPUT_INVALID',
  });
  expect(await failureOf(mapNode({ over, each: () => 1 }), 'text')).toMatchObject({ code: 'NODE_OUTPUT_INVALID' });
  const bad: readonly Partial<MapNodeConfig>[] = [
    { over: [1] as never },
    { each: undefined as never },
    { concurrency: 0 },
    { concurrency: 1.5 },
    { each: child, effectClass: 'write' },
    { each: child, retry: { attempts: 2 } },
  ];
  for (const config of bad) expect(() => mapNode({ over, each: () => 1, ...config })).toThrow(CairnError);
});

test('E8 ten thousand items cost one step each, and no more than `concurrency` are ever started ahead', async () => {
  let started = 0;
  let settled = 0;
  let furthest = 0;
  const ctx = createFakeContext({
    state: { input: Array.from({ length: 10_000 }, (_, index) => index) },
    step: async (_name, _options, fn) => {
      started += 1;
      furthest = Math.max(furthest, started - settled);
      const value = await fn({ idempotencyKey: '', attempt: 1, signal: new AbortController().signal, spend: () => {} });
      settled += 1;
      return value;
    },
  });
  await mapNode({ over, concurrency: 8, each: ({ item }) => item }).implementation.run(ctx);
  expect([started, settled, furthest]).toEqual([10_000, 10_000, 8]);
});
