/** Child runs that go on beside their parent, and what it does to them through their handles (W6). */
import { describe, expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { ChildHandle, ChildResult, NodeContext } from '../../graph/contracts/node-contract.ts';
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

const parent = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('p', 'read', run)], edges('> p', 'p >'));
const single = (run: (ctx: NodeContext) => unknown, effect: 'read' | 'write' | 'human' = 'read'): Graph =>
  graphOf('child', [node('c', effect, run)], edges('> c', 'c >'));
const settles = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const outputOf = ({ state }: ChildResult): unknown => state.outputs['c'];

describe('W6.9 a handle', () => {
  test('is had while its child runs, beside other children and the steps of the parent', async () => {
    const order: string[] = [];
    const child = single(async (ctx) => {
      await ctx.step('begin', {}, () => order.push(`begins ${String(ctx.input)}`));
      await ctx.receive('go');
      return ctx.input;
    });
    const graph = parent(async (ctx) => {
      const one = await ctx.start(child, 1, { name: 'one' });
      const two = await ctx.start(child, 2, { name: 'two' });
      await ctx.step('own', {}, () => order.push('own step'));
      await two.signal('go');
      await one.signal('go');
      return [one.name, outputOf(await one.result()), two.name, outputOf(await two.result())];
    });
    const result = await runToRest(createBench().engine, graph);
    expect(result.state.outputs['p']).toEqual(['one', 1, 'two', 2]);
    expect(order.toSorted()).toEqual(['begins 1', 'begins 2', 'own step']);
  });

  test('sends signals once: early ones are kept for the child, in order, and nobody else takes them', async () => {
    const bench = createBench();
    const child = single(async (ctx) => {
      const first = await ctx.receive('go');
      await ctx.ask({ prompt: 'between?' });
      return [first, await ctx.receive('go'), await ctx.receive('go')];
    });
    const graph = parent(async (ctx) => {
      const one = await ctx.start(child, 1, { name: 'one' });
      const other = await ctx.start(child, 2, { name: 'other' });
      for (const value of [1, 2, 3]) await one.signal('go', value);
      for (const value of ['x', 'y', 'z']) await other.signal('go', value);
      return [outputOf(await one.result()), outputOf(await other.result())];
    });
    const { runId, waits } = await runToRest(bench.engine, graph);
    expect(waits.map(({ prompt }) => prompt)).toEqual(['between?', 'between?']);
    const engine = afterCrash({ ...bench, options: { ...bench.options, findGraph: () => graph } });
    for (const { waitId } of waits) await engine.answer(runId, waitId, 'yes');
    expect((await resumeToRest(engine, runId, graph)).state.outputs['p']).toEqual([
      [1, 2, 3],
      ['x', 'y', 'z'],
    ]);
    const sent = (await changesOf(engine, runId)).join(' + ').match(/step p one\0\0signal/g);
    expect(sent).toHaveLength(3);
  });

  test('cancels: what is open ends as cancelled, its waits are closed, and what would follow does not run', async () => {
    const bench = createBench();
    const ran: string[] = [];
    const child = graphOf(
      'child',
      [
        node('asks', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('next', 'write', () => ran.push('next')),
        node('cleans', 'write', () => ran.push('cleans')),
      ],
      [...edges('> asks', 'asks > next', 'next >', 'cleans >'), { from: 'asks', to: 'cleans', always: true }],
    );
    const graph = parent(async (ctx) => {
      const handle = await ctx.start(child, {});
      await ctx.step('beside', {}, settles);
      await handle.cancel('not needed');
      const { status, error } = await handle.result();
      return [status, error?.message];
    });
    const result = await runToRest(bench.engine, graph, {}, 'r');
    expect(result).toMatchObject({ status: 'completed', waits: [] });
    expect(result.state.outputs['p']).toEqual(['cancelled', 'node p/run was cancelled: not needed']);
    expect(ran).toEqual([]);
    expect((await bench.store.listWaits({ tenant: 'default', runId: 'r' })).rows).toEqual([]);
  });

  test('cancels over an effect: it is told to stop, ends by itself, and nobody is asked about it', async () => {
    const { engine, clock } = createBench();
    const startMs = clock.timeMs;
    const told: unknown[] = [];
    const child = graphOf(
      'child',
      [
        node('one', 'write', async ({ signal }) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          told.push(signal.aborted);
        }),
        node('two', 'write', () => told.push('two')),
      ],
      edges('> one', 'one > two', 'two >'),
    );
    const graph = parent(async (ctx) => {
      const handle = await ctx.start(child, {});
      await ctx.step('beside', { effect: 'write' }, settles);
      await handle.cancel();
      return (await handle.result()).status;
    });
    const result = await runToRest(engine, graph);
    expect([result.status, result.state.outputs['p'], result.waits]).toEqual(['completed', 'cancelled', []]);
    expect(told).toEqual([true]);
    expect(clock.timeMs).toBe(startMs);
  });

  test('cancels after a grace what does not end by itself', async () => {
    const { engine, clock } = createBench({ bounds: { cancelGraceMs: 3000 } });
    const startMs = clock.timeMs;
    const child = single(() => new Promise(() => {}));
    const graph = parent(async (ctx) => {
      const handle = await ctx.start(child, {});
      await handle.cancel();
      return (await handle.result()).status;
    });
    const result = await runToRest(engine, graph);
    expect([result.state.outputs['p'], clock.timeMs - startMs]).toEqual(['cancelled', 3000]);
  });

  test('cancels after one grace an effect that goes on, though the function that called it ends meanwhile', async () => {
    const { engine, clock } = createBench({ bounds: { cancelGraceMs: 3000 } });
    const startMs = clock.timeMs;
    const child = single((ctx) =>
      Promise.race([
        ctx.step('goes on', { effect: 'external' }, () => new Promise(() => {})),
        clock.sleep(2000).then(() => Promise.reject(new Error('ended'))),
      ]),
    );
    const graph = parent(async (ctx) => {
      const handle = await ctx.start(child, {});
      await ctx.step('beside', { effect: 'write' }, settles);
      await handle.cancel();
      return (await handle.result()).status;
    });
    const result = await runToRest(engine, graph);
    expect([result.state.outputs['p'], clock.timeMs - startMs]).toEqual(['cancelled', 3000]);
  });

  test('cancels what is about to wait, and lets the run pause then: no grace is left to wait for', async () => {
    const { engine, clock } = createBench();
    const startMs = clock.timeMs;
    const child = single(async (ctx) => (await settles(), ctx.ask({ prompt: 'in the child?' })));
    const graph = parent(async (ctx) => {
      const handle = await ctx.start(child, {});
      await handle.cancel();
      return ctx.ask({ prompt: (await handle.result()).status });
    });
    const { status, waits } = await runToRest(engine, graph);
    expect([status, waits.map(({ prompt }) => prompt), clock.timeMs - startMs]).toEqual(['paused', ['cancelled'], 0]);
  });

  test('cancels a child of a child, and leaves one alone that has ended', async () => {
    const inner = single((ctx) => ctx.ask({ prompt: '?' }));
    const outer = single(async (ctx) => (await ctx.run(inner, {})).status);
    const graph = parent(async (ctx) => {
      const slow = await ctx.start(outer, {}, { name: 'slow' });
      const quick = await ctx.start(
        single(() => 'done'),
        {},
        { name: 'quick' },
      );
      const ended = await quick.result();
      await quick.cancel();
      await ctx.step('beside', {}, settles);
      await slow.cancel();
      return [(await slow.result()).status, ended.status, (await quick.result()).status];
    });
    const result = await runToRest(createBench().engine, graph);
    expect(result).toMatchObject({ status: 'completed', waits: [] });
    expect(result.state.outputs['p']).toEqual(['cancelled', 'completed', 'completed']);
  });

  test('shows a state as it was seen first, whenever the function is repeated', async () => {
    const bench = createBench();
    const child = graphOf(
      'child',
      [
        node('one', 'pure', () => 1),
        node('bad', 'pure', () => Promise.reject(new Error('no')), { onFailure: 'continue' }),
        node('two', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      ],
      edges('> one', 'one > bad', 'bad > two', 'two >'),
    );
    const seen: unknown[] = [];
    const graph = parent(async (ctx) => {
      const handle = await ctx.start(child, 'in');
      await ctx.step('beside', { effect: 'write' }, settles);
      const { input, outputs, failures } = await handle.state();
      seen.push([input, outputs, failures['bad']?.message]);
      const { state } = await handle.result();
      return [Object.keys(state.outputs), Object.keys((await handle.state()).outputs)];
    });
    const { runId, waits } = await runToRest(bench.engine, graph);
    const engine = afterCrash(bench);
    await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    const result = await resumeToRest(engine, runId, graph);
    expect(result.state.outputs['p']).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
    expect(seen).toEqual([
      ['in', { one: 1 }, 'no'],
      ['in', { one: 1 }, 'no'],
    ]);
  });

  test('does nothing any more once the attempt that had it is over, nor inside a step', async () => {
    const held: ChildHandle[] = [];
    const errors: unknown[] = [];
    const note = (error: unknown): void => void errors.push(error);
    const graph = graphOf(
      'g',
      [
        node('p', 'read', async (ctx) => {
          const handle = await ctx.start(
            single(() => 1),
            {},
          );
          held.push(handle);
          await ctx.step('inside', {}, () => handle.signal('x').catch(note));
        }),
        node('q', 'pure', async () => {
          for (const handle of held) {
            await handle.signal('x').catch(note);
            await handle.cancel().catch(note);
            await handle.state().catch(note);
            await handle.stateIn('c', 'run').catch(note);
          }
        }),
      ],
      edges('> p', 'p > q', 'q >'),
    );
    expect((await runToRest(createBench().engine, graph)).status).toBe('completed');
    expect(errors).toMatchObject(Array.from({ length: 5 }, () => ({ code: 'NODE_CALL_REFUSED' })));
  });
});

test('W6.5 a child that was started and whose parent returns is stopped', async () => {
  const { engine } = createBench();
  const graph = parent(async (ctx) => {
    await ctx.start(
      single((child) => child.ask({ prompt: '?' })),
      {},
    );
    await ctx.step('beside', {}, settles);
    return 'returned';
  });
  expect(await runToRest(engine, graph)).toMatchObject({ status: 'completed', waits: [] });
});
