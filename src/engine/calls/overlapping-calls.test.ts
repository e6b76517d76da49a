/** Calls of one function that are open at once: it goes on from each as it ends, and in the same order whenever it is repeated (X4.5, X4.13). */
import { describe, expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { until, within } from '../../../test/support/awaited.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const parent = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('p', 'read', run)], edges('> p', 'p >'));
const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('child', [node('c', 'read', run)], edges('> c', 'c >'));
const named = <T>(name: string, promise: Promise<T>): Promise<string> => promise.then(() => name);
const settles = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('X4.5 a function goes on from what ends first', () => {
  test('it polls beside a child run at its own times, and the child is not disturbed', async () => {
    const bench = createBench();
    const { clock } = bench;
    const beganMs: number[] = [];
    const polledMs: number[] = [];
    const startMs = clock.timeMs;
    const slow = single(async () => {
      beganMs.push(clock.timeMs - startMs);
      await clock.sleep(800);
    });
    const graph = parent(async (ctx) => {
      const child = named('ended', (await ctx.start(slow, {})).result());
      for (let polls = 0; ; polls += 1) {
        const first = await Promise.race([child, named('tick', ctx.sleepUntil(ctx.now() + 100))]);
        if (first === 'ended') return polls;
        polledMs.push(clock.timeMs - startMs);
      }
    });
    const result = await runToRest(bench.engine, graph);
    expect(polledMs.slice(0, 7)).toEqual([100, 200, 300, 400, 500, 600, 700]);
    expect([7, 8]).toContain(result.state.outputs['p']);
    expect(beganMs).toEqual([0]);
  });

  test('it goes on from a timer beside a step, and from an answer and a signal beside a child run', async () => {
    const bench = createBench();
    const { engine } = bench;
    const order: string[] = [];
    const release = Promise.withResolvers<void>();
    const graph = parent(async (ctx) => {
      await Promise.all([
        ctx.step('long', {}, () => release.promise),
        ctx.sleepUntil(ctx.now() + 100).then(() => order.push('timer')),
      ]);
      const held = Promise.withResolvers<void>();
      const child = await ctx.start(
        single(() => held.promise),
        {},
      );
      await Promise.all([
        child.result().then(() => order.push('child')),
        ctx.ask({ prompt: '?' }).then((answer) => order.push(String(answer))),
        ctx.receive('go').then((value) => (order.push(String(value)), held.resolve())),
      ]);
    });
    const handle = await engine.start(graph, {}, { runId: 'r' });
    await until('the timer is heard', () => order.length === 1);
    release.resolve();
    await until('both are waited for', async () => (await engine.waits('r')).length === 2);
    const wait = (await engine.waits('r')).find(({ kind }) => kind === 'question');
    await engine.answer('r', wait?.waitId ?? '', 'answer');
    await until('the answer is heard', () => order.length === 2);
    await engine.signal('r', 'go', 'signal');
    expect((await within('the run ends', handle.result())).status).toBe('completed');
    expect(order).toEqual(['timer', 'answer', 'signal', 'child']);
  });

  test('a step beside a child run makes its next attempt when that is due, though the child still runs', async () => {
    const bench = createBench({ bounds: { holdTimersMs: 10 } });
    const { clock } = bench;
    const startMs = clock.timeMs;
    const triedMs: number[] = [];
    const graph = parent(async (ctx) => {
      const child = await ctx.start(
        single(() => clock.sleep(5000)),
        {},
      );
      const step = ctx.step('tries', { retry: { attempts: 2, delayMs: 1000 } }, ({ attempt }) => {
        triedMs.push(clock.timeMs - startMs);
        if (attempt === 1) throw new Error('no');
      });
      return (await Promise.all([child.result(), step])).length;
    });
    expect((await runToRest(bench.engine, graph)).status).toBe('completed');
    expect(triedMs).toEqual([0, 1000]);
  });

  test('a run does not pause while a function goes on from a step beside a child run that waits', async () => {
    const graph = parent(async (ctx) => {
      const child = await ctx.start(
        single((inner) => inner.ask({ prompt: '?' })),
        {},
      );
      void child.result();
      for (let index = 0; index < 3; index += 1) await ctx.step(`step ${index}`, {}, settles);
      await child.cancel();
      return (await child.result()).status;
    });
    const result = await runToRest(createBench().engine, graph);
    expect([result.status, result.state.outputs['p']]).toEqual(['completed', 'cancelled']);
  });
});

describe('X4.13 calls that overlap come back in the order in which they ended', () => {
  test.each([[['right', 'left']], [['left', 'right']]])('questions, answered %j', async (order) => {
    const bench = createBench();
    const graph: Graph = parent(async (ctx) => {
      const asked = ['left', 'right'].map((name) => named(name, ctx.ask({ name, prompt: name })));
      const first = await Promise.race(asked);
      await Promise.all(asked);
      return [first, await ctx.ask({ name: 'last', prompt: first })];
    });
    const { runId } = await runToRest(bench.engine, graph);
    for (const name of [...order, 'last']) {
      const engine = afterCrash(bench);
      const wait = (await engine.waits(runId)).find((open) => open.name === name);
      await engine.answer(runId, wait?.waitId ?? '', name);
      await resumeToRest(engine, runId, graph);
    }
    expect(
      (await afterCrash({ ...bench, options: { ...bench.options, findGraph: () => graph } }).inspect(runId)).state
        .outputs['p'],
    ).toEqual([order[0], 'last']);
  });

  test.each(['step', 'child'])('a %s that was overtaken by another is overtaken again after a crash', async (kind) => {
    const bench = createBench();
    const seen: string[] = [];
    const graph = parent(async (ctx) => {
      const call = (name: string, work: () => Promise<void>): Promise<string> =>
        kind === 'step' ? named(name, ctx.step(name, {}, work)) : named(name, ctx.run(single(work), {}, { name }));
      const slow = call('slow', async () => {
        for (let turns = 0; turns < 5; turns += 1) await settles();
      });
      const first = await Promise.race([slow, call('quick', settles)]);
      const next = await Promise.race([slow, call('third', settles)]);
      await slow;
      seen.push(`${first} ${next}`);
      return ctx.ask({ prompt: '?' });
    });
    const { runId, waits } = await runToRest(bench.engine, graph);
    const engine = afterCrash(bench);
    await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    expect((await resumeToRest(engine, runId, graph)).status).toBe('completed');
    expect(seen).toEqual(['quick third', 'quick third']);
  });

  test('a continuation goes on as far as it comes before the next call comes back', async () => {
    const bench = createBench();
    const orders: string[][] = [];
    const graph = parent(async (ctx) => {
      const order: string[] = [];
      const long = ctx.step('a', {}, settles).then(async () => {
        for (let hops = 0; hops < 20; hops += 1) await Promise.resolve();
        order.push('a');
        await ctx.step('after a', {}, () => 1);
        order.push('after a');
      });
      const short = ctx.step('b', {}, async () => (await settles(), settles())).then(() => order.push('b'));
      await Promise.all([long, short]);
      orders.push(order);
      return ctx.ask({ prompt: '?' });
    });
    const { runId, waits } = await runToRest(bench.engine, graph);
    const engine = afterCrash(bench);
    await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    await resumeToRest(engine, runId, graph);
    expect(orders).toEqual([
      ['a', 'after a', 'b'],
      ['a', 'after a', 'b'],
    ]);
  });

  test('calls one after the other carry no number', async () => {
    const bench = createBench();
    const graph = parent(async (ctx) => {
      await ctx.step('one', {}, settles);
      await ctx.run(
        single(() => 1),
        {},
      );
      await ctx.step('two', {}, () => 2);
      return ctx.ask({ prompt: '?' });
    });
    const { runId } = await runToRest(bench.engine, graph);
    const rows = await bench.store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 100 });
    const text = rows.map(({ body }) => new TextDecoder().decode(body)).join('');
    expect(text).toContain('"two"');
    expect(text).not.toContain('"order"');
  });
});
