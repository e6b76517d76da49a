/** A child run that is cancelled, and an effect in it of which a crash left unknown whether it happened (P2, X3.8, W6.11). */
import { describe, expect, test } from 'vitest';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { dyingEngine, killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  testIds,
  type Bench,
} from '../../../test/engine-kit.ts';
import { createEngine } from '../engine.ts';

type Effect = () => unknown;

const single = (id: string, effect: 'read' | 'write', run: (ctx: NodeContext) => unknown, more = {}): Graph =>
  graphOf('c', [node(id, effect, run, more)], edges(`> ${id}`, `${id} >`));

/** Runs a child until the process is killed, and cancels it in the next process. */
function cancels(child: Graph): Graph {
  return single('p', 'read', async (ctx) => {
    const handle = await ctx.start(child, {});
    if (!ctx.isResumed) return (await handle.result()).status;
    await ctx.step('look', {}, settleDown);
    await handle.cancel('too slow');
    return (await handle.result()).status;
  });
}

const third = (bench: Bench): ReturnType<typeof createEngine> =>
  createEngine({ ...bench.options, ids: testIds('worker-3', ['worker-1', 'worker-2']) });

describe('P2 X3.8 W6.11 a child run that is cancelled over an effect that a crash left in doubt', () => {
  const pays = (ctx: NodeContext, effect: Effect, more = {}): unknown =>
    ctx.step('pay', { effect: 'write', ...more }, effect);
  const inner = (effect: Effect): Graph => single('w', 'write', effect);
  const cases: readonly (readonly [string, (effect: Effect) => Graph, readonly string[]])[] = [
    ['of a node', inner, ['p', 'run', 'w']],
    ['of a step', (effect) => single('a', 'read', (ctx) => pays(ctx, effect)), ['p', 'run', 'a']],
    [
      'of a child run in it',
      (effect) => single('a', 'read', (ctx) => ctx.run(inner(effect), {})),
      ['p', 'run', 'a', 'run', 'w'],
    ],
  ];

  test.each(cases)(
    '%s, ends when somebody has said whether that happened, in whatever process',
    async (_, make, path) => {
      const { bench, graph, calls } = await killedInEffect((effect) => cancels(make(effect)));
      const paused = await resumeToRest(afterCrash(bench), 'r', graph);
      const asked = paused.waits.map(({ kind, node: at }) => [kind, at]);
      expect([paused.status, asked]).toEqual(['paused', [['doubt', path]]]);
      const again = await resumeToRest(third(bench), 'r', graph);
      expect(again.waits.map(({ waitId }) => waitId)).toEqual(paused.waits.map(({ waitId }) => waitId));
      await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'happened');
      const done = await resumeToRest(third(bench), 'r', graph);
      expect([done.status, done.waits, done.state.outputs['p'], calls()]).toEqual(['completed', [], 'cancelled', 1]);
    },
  );

  test('does not begin it again, whatever is answered', async () => {
    const { bench, graph, calls } = await killedInEffect((effect) => cancels(inner(effect)));
    const engine = afterCrash(bench);
    const { waits } = await resumeToRest(engine, 'r', graph);
    await engine.answer('r', waits[0]?.waitId ?? '', 'run again');
    const done = await resumeToRest(engine, 'r', graph);
    expect([done.state.outputs['p'], calls()]).toEqual(['cancelled', 1]);
  });

  test('asks nobody where the node says that doubts fail, nor about a step that asks a model', async () => {
    const failing = (effect: Effect): Graph => single('w', 'write', effect, { onInDoubt: 'fail' });
    const modelCall = (effect: Effect): Graph =>
      single('a', 'read', (ctx) => (ctx.isResumed ? settleDown() : pays(ctx, effect, { isModelCall: true })));
    for (const make of [failing, modelCall]) {
      const { bench, graph } = await killedInEffect((effect) => cancels(make(effect)));
      expect((await resumeToRest(afterCrash(bench), 'r', graph)).waits).toEqual([]);
    }
  });

  test('asks though the cancel was recorded before the crash, and nobody once the grace of the cancel was over', async () => {
    const make = (): Graph => {
      const begun = Promise.withResolvers<void>();
      const child = single('w', 'write', () => (begun.resolve(), new Promise(() => {})));
      return single('p', 'read', async (ctx) => {
        const handle = await ctx.start(child, {});
        await ctx.step('look', {}, () => begun.promise);
        await handle.cancel();
        return (await handle.result()).status;
      });
    };
    expect((await runToRest(createBench().engine, make())).waits).toEqual([]);
    const asked: number[] = [];
    for (let commits = 1; commits < 12; commits += 1) {
      const graph = make();
      const bench = createBench();
      const died = Promise.withResolvers<undefined>();
      const engine = dyingEngine(bench, commits, () => died.resolve(undefined));
      const handle = await engine.start(graph, {}, { runId: 'r' });
      if ((await Promise.race([handle.result(), died.promise])) !== undefined) break;
      await settleDown();
      asked.push((await resumeToRest(afterCrash(bench), 'r', graph)).waits.length);
    }
    // Before the cancel is recorded, after it, and after the grace that the effect had to end.
    expect(asked).toEqual([1, 1, 0]);
  });
});
