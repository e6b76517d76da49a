/** What a fork may reuse depends on what was read, in whichever process it was read, and whoever's call it was (X2, P1). */
import { expect, test } from 'vitest';
import { outcome, type EffectClass, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Engine, RunResult } from '../api.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

type Read = (ctx: NodeContext, effect: EffectClass) => Promise<number>;

const x = ({ state }: NodeContext): number => Number(state.scratch['x']);

const ways: readonly (readonly [string, Read])[] = [
  ['in a step', (ctx, effect) => ctx.step('look', { effect, idempotent: true }, () => x(ctx))],
  [
    'before a save',
    async (ctx) => {
      if (ctx.savedState === undefined) await ctx.save(x(ctx));
      return ctx.savedState as number;
    },
  ],
  [
    'before it retired a step',
    async (ctx, effect) => {
      if (ctx.retired === undefined) {
        const seen = await ctx.step('look', { effect, idempotent: true }, () => x(ctx));
        await ctx.retire(seen);
      }
      return ctx.retired as number;
    },
  ],
];
const cases = ways.flatMap(([name, read]) =>
  (['pure', 'external'] as const).map((effect) => [name, effect, read] as const),
);

/** Node `x` writes 1; node `a` reads that, asks, and gives what it has read. */
function reading(effect: EffectClass, read: Read): { readonly graph: ReturnType<typeof graphOf>; calls: () => number } {
  let calls = 0;
  const run = async (ctx: NodeContext): Promise<number> => {
    const seen = await read(ctx, effect);
    await ctx.ask({ name: 'go', prompt: 'go on?' });
    calls += 1;
    return seen;
  };
  const nodes = [node('x', 'pure', () => outcome({ scratch: { x: 1 } })), node('a', 'pure', run)];
  return { graph: graphOf('g', nodes, edges('> x', 'x > a', 'a >')), calls: () => calls };
}

async function answered(engine: Engine, run: RunResult, graph: ReturnType<typeof graphOf>): Promise<RunResult> {
  for (const { waitId } of run.waits) await engine.answer(run.runId, waitId, 'yes');
  return run.waits.length === 0 ? run : resumeToRest(engine, run.runId, graph);
}

const changed = { set: [{ path: ['scratch', 'x'], value: 2 }] };

test.each(cases)(
  'X2 what a node read %s (%s) in a process that is gone is a part of its input: a fork reuses it only for the same',
  async (_, effect, read) => {
    const { graph, calls } = reading(effect, read);
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph);
    const engine = afterCrash(bench);
    const done = await answered(engine, paused, graph);
    expect(done.state.outputs).toMatchObject({ a: 1 });
    expect(calls()).toBe(1);

    const same = await resumeToRest(engine, (await engine.fork({ runId: done.runId, seq: 1 })).runId, graph);
    expect([same.status, same.state.outputs['a'], calls()]).toEqual(['completed', 1, 1]);

    const other = await engine.fork({ runId: done.runId, seq: 1 }, changed);
    const asked = await resumeToRest(engine, other.runId, graph);
    expect((await answered(engine, asked, graph)).state.outputs).toMatchObject({ a: 2 });
  },
);

test.each(cases)(
  'X2 what a node read %s (%s) in a call that a fork took over is a part of its input there: a fork of the fork sees to it',
  async (_, effect, read) => {
    const { graph } = reading(effect, read);
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph);
    // The original has not ended: the fork runs the node's function, and takes over the calls that it finds on record.
    const fork = await resumeToRest(
      bench.engine,
      (await bench.engine.fork({ runId: paused.runId, seq: 1 })).runId,
      graph,
    );
    const engine = afterCrash(bench);
    const done = await answered(engine, fork, graph);
    expect(done.state.outputs).toMatchObject({ a: 1 });
    const asked = await resumeToRest(engine, (await engine.fork({ runId: done.runId, seq: 2 }, changed)).runId, graph);
    expect((await answered(engine, asked, graph)).state.outputs).toMatchObject({ a: 2 });
  },
);

test('X2 a step that reads something else leaves the calls before it as they are, in a fork of a run that waits', async () => {
  const made: string[] = [];
  const pay = (name: string, ctx: NodeContext, key: string): Promise<unknown> =>
    ctx.step(name, { effect: 'external' }, () => {
      made.push(name);
      return ctx.state.scratch[key];
    });
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const seen = [await pay('first', ctx, 'x'), await pay('second', ctx, 'y'), await pay('third', ctx, 'z')];
    await ctx.ask({ name: 'go', prompt: 'go on?' });
    return seen;
  };
  const nodes = [node('x', 'pure', () => outcome({ scratch: { x: 1, y: 2, z: 3 } })), node('a', 'pure', run)];
  const graph = graphOf('g', nodes, edges('> x', 'x > a', 'a >'));
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph);
  const fork = await bench.engine.fork({ runId: paused.runId, seq: 1 });
  expect((await resumeToRest(bench.engine, fork.runId, graph)).status).toBe('paused');
  expect(made).toEqual(['first', 'second', 'third']);
});

test('P3 C1 a resume that finds a question still open leaves no checkpoint: what is read again is on record', async () => {
  const run = async (ctx: NodeContext): Promise<number> => {
    const seen = x(ctx);
    const looked = await ctx.step('look', {}, () => seen);
    await ctx.ask({ name: 'go', prompt: `go on with ${looked}?` });
    return looked;
  };
  const nodes = [node('x', 'pure', () => outcome({ scratch: { x: 1 } })), node('a', 'pure', run)];
  const graph = graphOf('g', nodes, edges('> x', 'x > a', 'a >'));
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph);
  for (const seq of [paused.seq, paused.seq, paused.seq])
    expect(await resumeToRest(afterCrash(bench), paused.runId, graph)).toMatchObject({ status: 'paused', seq });
});
