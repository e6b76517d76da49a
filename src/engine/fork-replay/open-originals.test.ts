/** Effects that are open in an original: at the fork point, or begun after it (X2). */
import { describe, expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Reconciliation } from '../../graph/contracts/node-contract.ts';
import type { Patch, RunResult } from '../api.ts';
import { createEngine } from '../engine.ts';
import { killableEngine, killedInEffect } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  testIds,
  type Bench,
} from '../../../test/engine-kit.ts';

const never = new Promise<never>(() => {});
const reconcile = (): Reconciliation => ({ happened: true, output: 'found' });

/** In the original the effect is reconciled; in the fork there is nobody to ask. */
type Make = (run: () => unknown, canTell: boolean) => Graph;
const ofNode: Make = (run, canTell) =>
  graphOf(
    'g',
    [node('a', 'write', run, { timeoutMs: 6_000_000, implementation: { run, ...(canTell && { reconcile }) } })],
    edges('> a', 'a >'),
  );
const ofStep: Make = (run, canTell) =>
  graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        ctx.step('s', { effect: 'write', timeoutMs: 6_000_000, ...(canTell && { reconcile }) }, run),
      ),
    ],
    edges('> a', 'a >'),
  );

/** A fork of a run whose process was killed in its effect, from there; its lease has run out, its deadline has not passed. */
async function forkInEffect(
  make: Make,
): Promise<{ readonly bench: Bench; readonly fork: string; readonly calls: () => number }> {
  const bench = createBench();
  const calls: number[] = [];
  const graph = make(() => (calls.push(1), never), true);
  const { engine, kill } = killableEngine(bench);
  await engine.start(graph, {}, { runId: 'original' });
  await until('the effect of the original is called', () => calls.length > 0);
  kill();
  bench.clock.timeMs += 31_000;
  const fork = await bench.engine.fork({ runId: 'original', seq: 1 });
  return { bench, fork: fork.runId, calls: () => calls.length };
}

describe.each([
  ['node', ofNode],
  ['step', ofStep],
])('X2 an open effect of a %s', (_, make) => {
  test('X2 is taken from the original if that records it while the fork waits for its deadline', async () => {
    const { bench, fork, calls } = await forkInEffect(make);
    const original = createEngine({ ...bench.options, ids: testIds('worker-3', ['worker-1']) });
    const goOn = async (ms: number, callback: () => void): Promise<void> => {
      await resumeToRest(
        original,
        'original',
        make(() => never, true),
      );
      bench.clock.timeMs += ms;
      callback();
    };
    const clock = {
      ...bench.clock,
      setTimer: (ms: number, callback: () => void) =>
        ms > 10_000 ? (void goOn(ms, callback), () => {}) : bench.clock.setTimer(ms, callback),
    };
    const engine = createEngine({ ...bench.options, clock, ids: testIds('worker-2') });
    const done = await resumeToRest(
      engine,
      fork,
      make(() => 'again', false),
    );
    expect([done.status, done.state.outputs['a'], calls()]).toEqual(['completed', 'found', 1]);
  });

  test('X2 is refused if the original is taken up after the fork was', async () => {
    const { bench, fork } = await forkInEffect(make);
    let isTaken = false;
    const readCheckpoints: typeof bench.store.readCheckpoints = async (key, range) => {
      const rows = await bench.store.readCheckpoints(key, range);
      if (key.runId === 'original' && !isTaken) {
        isTaken = true;
        await bench.store.claimRun({ tenant: 'default', runId: 'original', workerId: 'worker-9', leaseMs: 1e9 });
      }
      return rows;
    };
    const store = { ...bench.store, readCheckpoints };
    const engine = createEngine({ ...bench.options, store, ids: testIds('worker-2', ['worker-1']) });
    await expect(
      resumeToRest(
        engine,
        fork,
        make(() => 'again', false),
      ),
    ).rejects.toMatchObject({
      code: 'ORIGINAL_CLAIMED',
    });
  });
});

type Effect = () => unknown;
type Options = { readonly idempotent?: boolean; readonly reads?: readonly string[] };

/** An effect after a node, so that a fork may begin before it was announced; `keys` are those it was called with. */
const behind = {
  node: (keys: string[], effect: Effect, options: Options = {}) =>
    graphOf(
      'g',
      [
        node('first', 'pure', () => 'one'),
        node('pay', 'write', ({ idempotencyKey }) => (keys.push(idempotencyKey), effect()), options),
      ],
      edges('> first', 'first > pay', 'pay >'),
    ),
  step: (keys: string[], effect: Effect, { idempotent = false }: Options = {}) =>
    graphOf(
      'g',
      [
        node('first', 'pure', () => 'one'),
        node('pay', 'read', (ctx) => {
          const options = { effect: 'write', idempotent, input: ctx.state.scratch['sum'] ?? 0 } as const;
          return ctx.step('pay', options, ({ idempotencyKey }) => (keys.push(idempotencyKey), effect()));
        }),
      ],
      edges('> first', 'first > pay', 'pay >'),
    ),
};

/** Forks the killed original at its start; keys are told apart by order of appearance. */
async function forkBefore(
  make: (keys: string[], effect: Effect) => Graph,
  set: readonly Patch[] = [],
): Promise<{ readonly result: RunResult; readonly keys: readonly string[]; readonly predicted: string | undefined }> {
  const keys: string[] = [];
  const { bench, graph } = await killedInEffect((effect) => make(keys, effect));
  const engine = afterCrash(bench);
  const change = set.length === 0 ? {} : { set };
  const rows = await engine.preview({ runId: 'r', seq: 0 }, { ...change, graph, asFork: true });
  const fork = await engine.fork({ runId: 'r', seq: 0 }, change);
  const result = await resumeToRest(engine, fork.runId, graph);
  return { result, keys, predicted: rows.find((row) => row.node[0] === 'pay')?.prediction };
}

const patch = (name: string): Patch => ({ path: ['scratch', name], value: 7 });

describe('X2 an effect that the original began after the fork point, and whose end it did not record', () => {
  test.each(['node', 'step'] as const)('X2 is in doubt in the fork, under its key there (%s)', async (kind) => {
    const { result, keys } = await forkBefore(behind[kind]);
    expect([result.status, result.waits.map((wait) => wait.kind), keys.length]).toEqual(['paused', ['doubt'], 1]);
    expect(result.waits[0]?.metadata).toMatchObject({ key: keys[0] });
  });

  test.each(['node', 'step'] as const)('X2 is tried again under its key if it is idempotent (%s)', async (kind) => {
    const { result, keys } = await forkBefore((list, effect) => behind[kind](list, effect, { idempotent: true }));
    expect([result.status, result.state.outputs['pay']]).toEqual(['completed', 'call 2']);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  });

  test.each([
    ['node', undefined],
    ['node', ['scratch.sum']],
    ['step', undefined],
  ] as const)('X2 is another one if its input is another (%s, reads %j)', async (kind, reads) => {
    const make = (list: string[], effect: Effect): Graph =>
      behind[kind](list, effect, reads === undefined ? {} : { reads });
    const { result, keys, predicted } = await forkBefore(make, [patch('sum')]);
    expect([result.status, result.state.outputs['pay'], predicted]).toEqual(['completed', 'call 2', 'runs']);
    expect(new Set(keys).size).toBe(2);
  });

  test('X2 is the same one if what its node declares to read is the same', async () => {
    const make = (list: string[], effect: Effect): Graph => behind.node(list, effect, { reads: ['scratch.sum'] });
    const { result, keys, predicted } = await forkBefore(make, [patch('other')]);
    expect([result.status, keys.length, predicted]).toEqual(['paused', 1, 'in doubt']);
  });

  test('X2 is begun if its announcement was taken back', async () => {
    const bench = createBench();
    let calls = 0;
    const graph = behind.node([], () => (calls += 1));
    // The engine is closed once the effect is announced, and before it begins.
    let closing: Promise<void> | undefined;
    const commit: typeof bench.store.commit = async (one) => {
      const reply = await bench.store.commit(one);
      if (Buffer.from(one.checkpoint.body).includes('"intent"')) closing ??= engine.close();
      return reply;
    };
    const engine = createEngine({ ...bench.options, store: { ...bench.store, commit } });
    await (await engine.start(graph, {}, { runId: 'r' })).result().catch(() => undefined);
    await closing;
    expect(calls).toBe(0);
    const next = afterCrash(bench);
    const fork = await next.fork({ runId: 'r', seq: 0 });
    expect((await resumeToRest(next, fork.runId, graph)).state.outputs['pay']).toBe(1);
  });
});
