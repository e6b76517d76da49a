/** Forks taken while child runs are under way (X2, W6): signals sent before the fork point are not sent again, those after it are, once. */
import { expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { CheckpointRef, Engine } from '../api.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const settles = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A parent that speaks to three children, keeps one over a save, cancels another, and acts outside; what it did is told to `acts`. */
function talking(acts: string[]): Graph {
  const act = (ctx: NodeContext, name: string): Promise<unknown> =>
    ctx.step(name, { effect: 'external', input: name }, () => acts.push(`${ctx.nodePath.join('/')} ${name}`));
  const child = graphOf(
    'child',
    [
      node('before', 'write', (ctx) => acts.push(`${String(ctx.input)} before`)),
      node('hears', 'read', async (ctx) => {
        const heard: unknown[] = [];
        for (let count = 0; count < 3; count += 1) {
          heard.push(await ctx.receive('go'));
          await act(ctx, `heard ${count}`);
        }
        return heard;
      }),
      node('after', 'write', (ctx) => acts.push(`${String(ctx.input)} after`)),
    ],
    edges('> before', 'before > hears', 'hears > after', 'after >'),
  );
  const talk = async (ctx: NodeContext): Promise<unknown> => {
    const one = await ctx.start(child, 'one', { name: 'one' });
    const two = await ctx.start(child, 'two', { name: 'two', entry: 'hears' });
    if (ctx.savedState === undefined) {
      await one.signal('go', 1);
      await act(ctx, 'first');
      await ctx.step('settle', {}, settles);
      await two.signal('go', 'a');
      await ctx.save('both run');
    }
    for (const value of [2, 3]) await one.signal('go', value);
    await two.signal('go', 'b');
    const ended = await one.result();
    await act(ctx, 'last');
    await two.cancel();
    const cancelled = await two.result();
    return [ended.state.outputs['hears'], cancelled.status];
  };
  return graphOf(
    'g',
    [node('p', 'read', talk), node('end', 'write', () => acts.push('end'))],
    edges('> p', 'p > end', 'end >'),
  );
}

test('X2 W6.9 a fork from anywhere does what the run did, and repeats nothing of it', async () => {
  const acts: string[] = [];
  const graph = talking(acts);
  const bench = createBench();
  const done = await runToRest(bench.engine, graph);
  expect(done.state.outputs['p']).toEqual([[1, 2, 3], 'cancelled']);
  const all = [...acts];
  expect(new Set(all).size).toBe(all.length);
  expect(done.seq).toBeGreaterThan(10);
  for (let seq = 0; seq < done.seq; seq += 1) {
    acts.length = 0;
    const fork = await bench.engine.fork({ runId: done.runId, seq });
    const result = await resumeToRest(bench.engine, fork.runId, graph);
    expect([seq, result.status, result.state.outputs['p']]).toEqual([seq, 'completed', [[1, 2, 3], 'cancelled']]);
    // What the original did is taken over; a child that is cancelled may have come further here.
    expect([seq, acts.filter((name) => all.includes(name))]).toEqual([seq, []]);
    expect([seq, acts.filter((name) => !name.startsWith('p/two/hears'))]).toEqual([seq, []]);
  }
});

test('X5 a preview of such a fork says of the parent what the fork does', async () => {
  const acts: string[] = [];
  const graph = talking(acts);
  const bench = createBench({ findGraph: () => graph });
  const done = await runToRest(bench.engine, graph);
  for (let seq = 0; seq < done.seq; seq += 1) {
    const rows = await bench.engine.preview({ runId: done.runId, seq }, { asFork: true });
    const of = (id: string): string | undefined => rows.find(({ node: path }) => path.join('/') === id)?.prediction;
    const fork = await bench.engine.fork({ runId: done.runId, seq });
    acts.length = 0;
    const result = await resumeToRest(bench.engine, fork.runId, graph);
    expect(result.status).toBe('completed');
    const hasRun = (await settledIn(bench.engine, fork)).includes('p');
    expect([seq, of('p')]).toEqual([seq, hasRun ? 'runs again' : 'restored']);
  }
});

/** Nodes that settled in a run after a checkpoint. */
async function settledIn(engine: Engine, { runId, seq }: CheckpointRef): Promise<readonly string[]> {
  const settled: string[] = [];
  for await (const event of engine.events(runId, { after: seq }))
    if (event.type === 'checkpoint')
      for (const { kind, node: path = [] } of event.change) if (kind === 'settle') settled.push(path.join('/'));
  return settled;
}
