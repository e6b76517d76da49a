/** What is recorded of a failed attempt, and where: in the change of a checkpoint, and nowhere else. */
import { expect, test } from 'vitest';
import { functionNode } from '../../src/index.ts';
import type { ChangePart } from '../../src/history/stored/change.ts';
import { loadState } from '../../src/history/load/load.ts';
import { encodeValue } from '../../src/state/values/encode.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { compileGraph } from '../../src/graph/compile/compile-graph.ts';
import { killedInEffect } from '../dying-engine.ts';
import {
  afterCrash,
  type Bench,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
} from '../engine-kit.ts';
import { sampleCrashes } from '../support/scale.ts';

const one = edges('> a', 'a >');

class CardError extends Error {
  override readonly name = 'CardError';
  readonly code = 'E_CARD';
}

function dial(): never {
  throw Object.assign(new Error('no route to the bank'), { code: 'ECONNREFUSED' });
}

/** Throws from a line of this file, by way of a library's frames. */
function charge(): never {
  try {
    [1].map(dial);
  } catch (cause) {
    throw new CardError('card refused', { cause });
  }
  throw new Error('not reached');
}

async function partsOf({ engine }: Bench, runId: string): Promise<readonly ChangePart[]> {
  const parts: ChangePart[] = [];
  for await (const { change } of engine.history.log(runId)) parts.unshift(...change);
  return parts;
}

test('K1d a failed attempt leaves its code, message, cause chain, own frames and worker, in the change and not in the state', async () => {
  const bench = createBench();
  const graph = graphOf('g', [node('a', 'read', () => charge())], one);
  const result = await runToRest(bench.engine, graph);
  expect(result.failures).toHaveLength(1);
  const [failure] = result.failures ?? [];
  expect(failure).toMatchObject({
    node: ['a'],
    attempt: 1,
    seq: result.seq,
    worker: 'worker-1',
    code: 'E_CARD',
    name: 'CardError',
    message: 'card refused',
    causes: [{ code: 'ECONNREFUSED', message: 'no route to the bank' }],
  });
  expect(failure?.stack?.[0]).toMatch(/^charge \(\/.*failure-records\.test\.ts:\d+:\d+\)$/u);
  expect(failure?.causes?.[0]?.stack?.slice(0, 3)).toEqual([
    expect.stringMatching(/^dial \(\/.*failure-records\.test\.ts/u),
    '… 1 of libraries',
    expect.stringMatching(/^charge \(/u),
  ]);
  // Frames of the engine that called the node are no part of it.
  expect(JSON.stringify(failure)).not.toContain('/src/engine/');
  const { root } = await loadState(bench.store, bench.options.blobs, await rowOf(bench, result.runId), result.seq);
  expect(encodeValue(root)).not.toContain('failure-records');
  bench.engine.know(graph);
  expect((await bench.engine.inspect(result.runId)).failures).toEqual(result.failures);
});

test('K1d a healthy attempt and a cancelled one leave no record', async () => {
  const bench = createBench();
  const slow = node('b', 'read', ({ signal }) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(new Error('stopped')));
    return promise;
  });
  const graph = graphOf(
    'g',
    [node('a', 'read', () => 1), slow, node('c', 'read', () => 1, { join: { first: 1, cancelRest: true } })],
    edges('> a', '> b', 'a > c', 'b > c', 'c >'),
  );
  const result = await runToRest(bench.engine, graph);
  expect(result.status).toBe('completed');
  expect(result.failures).toBeUndefined();
  const parts = await partsOf(bench, result.runId);
  expect(parts.find(({ node: path }) => path?.[0] === 'b')).toMatchObject({ status: 'cancelled' });
  for (const { error } of parts) expect(error?.stack ?? error?.worker).toBeUndefined();
});

test('K1d attempts and items that fail at one place share one stack, which each of them tells', async () => {
  const bench = createBench();
  const nodes = ['a', 'b', 'c'].map((id) =>
    node(id, 'read', () => charge(), { retry: { attempts: 4, delayMs: 1 }, onFailure: 'fail-last' }),
  );
  const result = await runToRest(bench.engine, graphOf('g', nodes, edges('> a', '> b', '> c', 'a >', 'b >', 'c >')));
  const errors = (await partsOf(bench, result.runId)).flatMap(({ error }) =>
    error?.stack === undefined ? [] : [error],
  );
  expect(errors).toHaveLength(12);
  const texts = errors.flatMap(({ stack }) => stack?.frames ?? []).filter((frame) => frame.startsWith('charge'));
  expect(texts).toHaveLength(new Set(texts).size);
  expect(result.failures?.map(({ node: path, attempt }) => [path[0], attempt])).toEqual([
    ['a', 4],
    ['b', 4],
    ['c', 4],
  ]);
  for (const { stack } of result.failures ?? []) expect(stack?.[0]).toMatch(/^charge \(/u);
});

test('K1d a failed step leaves one too, with the step; its node shares the stack', async () => {
  const bench = createBench();
  const graph = graphOf('g', [node('a', 'read', (ctx) => ctx.step('pay', {}, () => charge()))], one);
  const { failures = [] } = await runToRest(bench.engine, graph);
  expect(failures.map(({ node: path, step }) => [...path, step])).toEqual([
    ['a', 'pay'],
    ['a', undefined],
  ]);
  for (const { stack } of failures) expect(stack?.[0]).toMatch(/^charge \(/u);
});

test('K1d a record is at most 4 KiB, whatever is thrown', async () => {
  const bench = createBench();
  const deep = (depth: number): never => {
    if (depth === 0) throw new Error('💥'.repeat(5_000), { cause: new Error('ü'.repeat(5_000), { cause: cyclic }) });
    return deep(depth - 1);
  };
  const cyclic = new Error('round') as Error & { cause?: unknown };
  cyclic.cause = cyclic;
  const unreadable = Object.defineProperty(new Error('half'), 'cause', {
    get: () => new Proxy({}, { get: () => void charge(), getPrototypeOf: () => charge() }),
  });
  const throwers: (() => unknown)[] = [
    () => deep(100),
    () => Promise.reject(unreadable),
    () => Promise.reject('a text'),
  ];
  for (const run of throwers) {
    const result = await runToRest(bench.engine, graphOf('g', [node('a', 'read', run)], one));
    const error = (await partsOf(bench, result.runId)).find(({ kind }) => kind === 'settle')?.error;
    expect(error?.message).not.toBe('');
    expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThanOrEqual(4096);
    expect(result.failures).toHaveLength(1);
  }
});

test('K1d secrets of the run are masked in message, causes and frames', async () => {
  const bench = createBench({ secrets: { read: async () => 'planted-secret-value' } });
  const leak = node('a', 'read', async (ctx) => {
    const value = await ctx.secrets.get('KEY');
    const error = new Error(`refused ${value}`, { cause: new Error(`by ${value}`) });
    error.stack = `Error\n    at pay (/app/${value}/pay.ts:1:2)`;
    throw error;
  });
  const result = await runToRest(bench.engine, graphOf('g', [leak], one));
  const { failures } = result;
  expect(failures?.[0]?.stack).toHaveLength(1);
  expect(JSON.stringify([failures, await partsOf(bench, result.runId)])).not.toContain('planted-secret-value');
});

test.each([
  ['idempotent', { idempotent: true }],
  ['reconcile', { reconcile: () => ({ happened: false as const }) }],
])(
  'X3 K1d the record of an attempt that was begun again says after which worker, and that %s allowed it',
  async (by, more) => {
    let isAgain = false;
    const { bench, graph } = await killedInEffect((effect) => {
      const run = (): unknown => (isAgain ? charge() : effect());
      const { reconcile, ...settings } = more as { readonly reconcile?: () => { readonly happened: false } };
      const pay = node('a', 'write', run, settings);
      return graphOf('g', [{ ...pay, implementation: { run, ...(reconcile && { reconcile }) } }], one);
    });
    isAgain = true;
    const { failures } = await resumeToRest(afterCrash(bench), 'r', graph);
    expect(failures?.[0]?.again).toEqual({ worker: 'worker-1', by });
  },
);

test('P1 K1d a run that fails after any crash ends as without one: what is compared and hashed does not have the record', async () => {
  const report = await crashEverywhere(
    {
      graph: () =>
        compileGraph({
          id: 'fails',
          nodes: [
            { ...functionNode(() => 1, { effectClass: 'pure' }), id: 'first' },
            {
              ...functionNode(() => charge(), {
                effectClass: 'write',
                idempotent: true,
                retry: { attempts: 2, delayMs: 1 },
              }),
              id: 'a',
            },
          ],
          edges: edges('> first', 'first > a', 'a >'),
        }),
      input: {},
      mayFail: true,
    },
    { open: (now) => ({ store: createMemoryStore({ now }) }), choose: sampleCrashes(12) },
  );
  expect(report.faults).toEqual([]);
  expect(report.trials).toBeGreaterThan(3);
});
