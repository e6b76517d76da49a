/** Effects that are open when the activation they belong to would settle (P2, X3). */
import { describe, expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import { viewState } from '../../history/read/checkpoint-view.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
} from '../../../test/engine-kit.ts';

const never = new Promise<never>(() => {});
const routed = { onFailure: 'skip-dependents' } as const;
const composed = (run: (ctx: NodeContext) => unknown, more = {}): Graph =>
  graphOf('g', [node('a', 'read', run, more)], edges('> a', 'a >'));

/** A child whose only node writes. */
const childOf = (run: () => unknown): Graph => graphOf('c', [node('w', 'write', run)], edges('> w', 'w >'));

const step = (ctx: NodeContext, effect: () => unknown): Promise<unknown> =>
  ctx.step('pay', { effect: 'write' }, effect);
const fail = (): never => {
  throw new Error('no way there');
};

describe('X3 an effect in doubt that is not called again', () => {
  const cases: readonly (readonly [string, (effect: () => unknown) => Graph, readonly string[]])[] = [
    [
      'of a step, when its node fails and that is routed',
      (effect) => composed((ctx) => (ctx.isResumed ? fail() : step(ctx, effect)), routed),
      ['a'],
    ],
    [
      'of a step, when its node completes',
      (effect) => composed((ctx) => (ctx.isResumed ? 'done' : step(ctx, effect))),
      ['a'],
    ],
    [
      'of a child run, when its parent fails and that is routed',
      (effect) => composed((ctx) => (ctx.isResumed ? fail() : ctx.run(childOf(effect), {})), routed),
      ['a', 'run', 'w'],
    ],
    [
      'of a child run, when its parent completes',
      (effect) => composed((ctx) => (ctx.isResumed ? 'done' : ctx.run(childOf(effect), {}))),
      ['a', 'run', 'w'],
    ],
  ];

  test.each(cases)('X3 %s, is asked about, and settles with the answer', async (_, make, path) => {
    const { bench, graph } = await killedInEffect(make);
    const paused = await resumeToRest(afterCrash(bench), 'r', graph);
    expect([paused.status, paused.waits.map(({ kind, node: at }) => [kind, at])]).toEqual([
      'paused',
      [['doubt', path]],
    ]);
    const again = await resumeToRest(afterCrash(bench), 'r', graph);
    expect(again.waits.map(({ waitId }) => waitId)).toEqual(paused.waits.map(({ waitId }) => waitId));
    await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'happened');
    const done = await resumeToRest(afterCrash(bench), 'r', graph);
    expect([done.status, done.waits]).toEqual(['completed', []]);
  });

  test('X3 is run again if a person says so, and it is called again then', async () => {
    const { bench, graph } = await killedInEffect((effect) => {
      let visits = 0;
      return composed(
        (ctx) => ((visits += 1) === 2 ? fail() : step(ctx, visits === 1 ? effect : () => 'paid')),
        routed,
      );
    });
    const paused = await resumeToRest(afterCrash(bench), 'r', graph);
    await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'run again');
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs['a']).toBe('paid');
  });

  test('X3 asks nobody where the node says that doubts fail', async () => {
    const { bench, graph } = await killedInEffect((effect) =>
      composed((ctx) => (ctx.isResumed ? fail() : step(ctx, effect)), { ...routed, onInDoubt: 'fail' }),
    );
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('completed');
  });
});

describe('X3 an effect that still runs when its activation is over', () => {
  /** An effect that ends some turns after it began, and what happens as soon as it has begun. */
  function effectAnd<T>(then: () => T): { readonly effect: () => Promise<string>; readonly meanwhile: Promise<T> } {
    const begun = Promise.withResolvers<void>();
    const effect = async (): Promise<string> => {
      begun.resolve();
      for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return 'paid';
    };
    return { effect, meanwhile: begun.promise.then(then) };
  }

  type Run = (ctx: NodeContext, effect: () => unknown) => Promise<unknown>;
  const inMiddle = (effect: () => unknown): Graph =>
    graphOf('m', [node('x', 'read', (ctx) => ctx.run(childOf(effect), {}))], edges('> x', 'x >'));

  test.each<[string, Run, () => unknown, string]>([
    ['of a step, raced by a failure', step, fail, 'step a pay'],
    ['of a step, raced by a result', step, () => 1, 'step a pay'],
    ['of a child, raced by a failure', (ctx, effect) => ctx.run(childOf(effect), {}), fail, 'settle a/run/w'],
    ['of a child, raced by a result', (ctx, effect) => ctx.run(childOf(effect), {}), () => 1, 'settle a/run/w'],
    ['of a grandchild', (ctx, effect) => ctx.run(inMiddle(effect), {}), fail, 'settle a/run/x/run/w'],
  ])('X3 %s, ends and is recorded first', async (_, run, then, recorded) => {
    const { effect, meanwhile } = effectAnd(then);
    const graph = composed((ctx) => Promise.race([run(ctx, effect), meanwhile]), routed);
    const bench = createBench({ findGraph: () => graph });
    const { status, runId } = await runToRest(bench.engine, graph);
    const changes = (await changesOf(bench.engine, runId)).join(' + ').split(' + ');
    expect([status, changes]).toEqual(['completed', expect.arrayContaining([recorded, 'settle a'])]);
    expect(changes.indexOf(recorded)).toBeLessThan(changes.indexOf('settle a'));
  });

  test('X3 is asked about if it does not end within the grace of a cancel', async () => {
    const graph = composed((ctx) => Promise.race([step(ctx, () => never), settleDown().then(fail)]), routed);
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph);
    expect(paused.waits.map(({ kind, step: key }) => [kind, key])).toEqual([['doubt', 'pay']]);
  });

  test('X4 what a function calls for after its end does not begin', async () => {
    const calls: string[] = [];
    const graph = composed(async (ctx) => {
      const { effect, meanwhile } = effectAnd(fail);
      const first = step(ctx, effect).then(() => ctx.step('more', { effect: 'write' }, () => calls.push('more')));
      await Promise.race([first, meanwhile]);
    }, routed);
    expect((await runToRest(createBench().engine, graph)).status).toBe('completed');
    expect(calls).toEqual([]);
  });

  test('E3 what was announced in a child run and did not begin is withdrawn with it', async () => {
    const calls: string[] = [];
    const graph = composed((ctx) => {
      void ctx.run(
        childOf(() => calls.push('w')),
        {},
      );
      return new Promise((_, reject) => setImmediate(() => reject(new Error('first'))));
    }, routed);
    const bench = createBench({ findGraph: () => graph });
    const held = {
      ...bench.store,
      commit: async (given: Parameters<typeof bench.store.commit>[0]) => {
        await settleDown();
        return bench.store.commit(given);
      },
    };
    const { engine } = createBench({ ...bench.options, store: held });
    const { status, runId } = await runToRest(engine, graph);
    expect([status, calls]).toEqual(['completed', []]);
    expect((await changesOf(bench.engine, runId)).join()).toContain('withdraw a/run/w');
  });

  test('X3 stays to be seen in an activation that was cancelled over it', async () => {
    const graph = graphOf(
      'g',
      [
        node('slow', 'read', (ctx) => step(ctx, () => never)),
        node('quick', 'read', async (ctx) => ctx.step('turn', {}, () => settleDown())),
        node('join', 'pure', () => 1, { join: { first: 1, cancelRest: true } }),
      ],
      edges('> slow', '> quick', 'slow > join', 'quick > join', 'join >'),
    );
    const bench = createBench();
    const { status, runId } = await runToRest(bench.engine, graph);
    expect(status).toBe('completed');
    const run = await bench.store.readRun({ tenant: 'default', runId });
    const { root } = await loadState(bench.store, bench.options.blobs, run ?? fail());
    expect(viewState(root).nodes.find(({ path }) => path[0] === 'slow')).toMatchObject({
      status: 'cancelled',
      hasOpenEffect: true,
    });
  });
});
