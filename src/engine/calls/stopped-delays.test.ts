/** A step that waits for its next attempt, or for its intent, does not when its function is told to stop, and nothing of it begins (E6, E7). */
import { expect, test } from 'vitest';
import type { NodeContext, StepContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

type Work = (step: StepContext) => Promise<never>;
const settles = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const single = (id: string, run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node(id, 'read', run)], edges(`> ${id}`, `${id} >`));

const fails: Work = () => Promise.reject(new Error('no'));
const failsWhenStopped: Work = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
const cases = (['read', 'external'] as const).flatMap((effect) => [
  { effect, when: 'before', work: fails },
  { effect, when: 'when', work: failsWhenStopped },
]);

/** A function with a step that is to be tried again 4 s after it failed; and when that has begun to fail, or to run. */
interface Trying {
  readonly run: (ctx: NodeContext) => Promise<unknown>;
  readonly begun: Promise<void>;
  calls: number;
}

function trying(effect: 'read' | 'external', work: Work): Trying {
  const { promise, resolve } = Promise.withResolvers<void>();
  const options = { effect, idempotent: true, retry: { attempts: 3, delayMs: 4000 } };
  const made: Trying = {
    calls: 0,
    begun: promise.then(settles),
    run: (ctx) => ctx.step('tries', options, (step) => (resolve(), (made.calls += 1), work(step))),
  };
  return made;
}

test.for(cases)('E7 W6.11 of a child that is cancelled: $effect, it failed $when', async ({ effect, work }) => {
  const { engine, clock } = createBench();
  const startMs = clock.timeMs;
  const tries = trying(effect, work);
  const graph = single('p', async (ctx) => {
    const handle = await ctx.start(single('c', tries.run), {});
    await ctx.step('beside', { effect: 'write' }, () => tries.begun);
    await handle.cancel();
    return ctx.ask({ prompt: (await handle.result()).status });
  });
  const { waits } = await runToRest(engine, graph);
  expect([waits.map(({ prompt }) => prompt), tries.calls, clock.timeMs - startMs]).toEqual([['cancelled'], 1, 0]);
});

test.for(cases)('E7 of a child of one that is cancelled: $effect, it failed $when', async ({ effect, work }) => {
  const { engine, clock } = createBench();
  const startMs = clock.timeMs;
  const tries = trying(effect, work);
  const graph = single('p', async (ctx) => {
    const outer = single('c', (inner) => inner.run(single('d', tries.run), {}));
    const handle = await ctx.start(outer, {});
    await ctx.step('beside', { effect: 'write' }, () => tries.begun);
    await handle.cancel();
    return ctx.ask({ prompt: (await handle.result()).status });
  });
  const { waits } = await runToRest(engine, graph);
  expect([waits.map(({ prompt }) => prompt), tries.calls, clock.timeMs - startMs]).toEqual([['cancelled'], 1, 0]);
});

test.for(cases)('E6 of a function that failed: $effect, it failed $when', async ({ effect, work }) => {
  const { engine, clock } = createBench();
  const startMs = clock.timeMs;
  const tries = trying(effect, work);
  const graph = single('p', (ctx) =>
    Promise.all([tries.run(ctx), tries.begun.then(() => Promise.reject(new Error('p')))]),
  );
  const { status } = await runToRest(engine, graph);
  expect([status, tries.calls, clock.timeMs - startMs]).toEqual(['failed', 1, 0]);
});

test.for(cases)('E6 of a function whose time is over: $effect, it failed $when', async ({ effect, work }) => {
  const { engine, clock } = createBench();
  const startMs = clock.timeMs;
  const tries = trying(effect, work);
  const p = { ...node('p', 'read', tries.run), timeoutMs: 1000 };
  const { status } = await runToRest(engine, graphOf('g', [p], edges('> p', 'p >')));
  expect([status, tries.calls, clock.timeMs - startMs]).toEqual(['failed', 1, 1000]);
});

test.for(cases)('E7 of a run that is cancelled: $effect, it failed $when', async ({ effect, work }) => {
  const { engine, clock } = createBench();
  const startMs = clock.timeMs;
  const tries = trying(effect, work);
  const handle = await engine.start(single('p', tries.run), {});
  await tries.begun;
  await engine.cancel(handle.runId);
  const { status } = await handle.result();
  expect([status, tries.calls, clock.timeMs - startMs]).toEqual(['cancelled', 1, 0]);
});

test('E7 a run that is cancelled while an effect is announced does not wait for it, and the effect does not begin', async () => {
  const { engine, clock } = createBench();
  const startMs = clock.timeMs;
  const tries = trying('external', fails);
  const handle = await engine.start(single('p', tries.run), {});
  await settles();
  await engine.cancel(handle.runId);
  const { status } = await handle.result();
  expect([status, tries.calls, clock.timeMs - startMs]).toEqual(['cancelled', 0, 0]);
});

test.for(cases)(
  'P1 W6.11 killed at every commit, it is cancelled as it is without: $effect, it failed $when',
  async ({ effect, work }) => {
    const make = (): { graph: Graph; tries: Trying } => {
      const tries = trying(effect, work);
      const graph = single('p', async (ctx) => {
        const handle = await ctx.start(single('c', tries.run), {});
        await ctx.step('beside', { effect: 'external', idempotent: true }, () => tries.begun);
        await handle.cancel();
        return [(await handle.result()).status, await ctx.ask({ prompt: '?' })];
      });
      return { graph, tries };
    };
    let trials = 0;
    for (let commits = 1; commits < 30; commits += 1) {
      const bench = createBench();
      const died = Promise.withResolvers<undefined>();
      const dying = dyingEngine(bench, commits, () => died.resolve(undefined));
      const handle = await dying.start(make().graph, {}, { runId: 'r' });
      const first = await Promise.race([handle.result(), died.promise]);
      await settleDown();
      const engine = afterCrash(bench);
      const { graph, tries } = make();
      const { waits } = first ?? (await resumeToRest(engine, 'r', graph));
      await engine.answer('r', waits[0]?.waitId ?? '', 'yes');
      const { status, state } = await resumeToRest(engine, 'r', graph);
      expect([status, state.outputs['p']]).toEqual(['completed', ['cancelled', 'yes']]);
      expect(tries.calls).toBeLessThanOrEqual(1);
      if (first !== undefined) break;
      trials += 1;
    }
    expect(trials).toBeGreaterThan(2);
  },
);
