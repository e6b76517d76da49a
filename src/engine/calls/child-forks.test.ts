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

/** A parent whose child asks; what the child is called for with is the `input` of the run, read where it is not the parent's input. */
function asking(told: { input: unknown; entry?: string }, acts: string[]): Graph {
  const child = graphOf(
    'child',
    [
      node('act', 'write', (ctx) => acts.push(`act ${String(ctx.input)}`)),
      node('ask', 'human', async (ctx) => `${String(ctx.input)} ${String(await ctx.ask({ prompt: '?' }))}`),
      node('hears', 'read', async (ctx) => `${String(ctx.state.outputs['ask'])} ${String(await ctx.receive('go'))}`),
    ],
    edges('> act', 'act > ask', 'ask > hears', 'hears >'),
  );
  const parent = node('p', 'read', async (ctx) => {
    const { input, entry } = told;
    const handle = await ctx.start(child, input, { name: 'one', ...(entry === undefined ? {} : { entry }) });
    await handle.signal('go', 'heard');
    return (await handle.result()).state.outputs['hears'];
  });
  return graphOf('g', [parent], edges('> p', 'p >'));
}

test.each([
  ['for another input', { input: 'two' }, 'two yes heard'],
  ['at another node', { input: 'one', entry: 'ask' }, 'one yes heard'],
])(
  'W6 a child run that is called %s than it is recorded with is refused by a resume, and run anew by a fork',
  async (_, other, output) => {
    const told: { input: unknown; entry?: string } = { input: 'one' };
    const acts: string[] = [];
    const graph = asking(told, acts);
    const { engine } = createBench();
    const paused = await runToRest(engine, graph, {}, 'r');
    const fork = await engine.fork({ runId: 'r', seq: paused.seq });
    await engine.answer('r', paused.waits[0]!.waitId, 'yes');
    Object.assign(told, other);
    const refused = await resumeToRest(engine, 'r', graph);
    expect(refused.status).toBe('failed');
    expect(refused.error?.cause).toMatchObject({
      code: 'NODE_CALL_REFUSED',
      data: { call: 'run', node: 'p' },
      message: expect.stringMatching(/child run one is recorded/) as string,
    });
    // The question of the new child: of equal input, it has the answer of the original.
    const anew = await resumeToRest(engine, fork.runId, graph);
    expect(anew.waits.map(({ node: path }) => path.join('/'))).toEqual(other.input === 'one' ? [] : ['p/one/ask']);
    for (const { waitId } of anew.waits) await engine.answer(fork.runId, waitId, 'yes');
    const done = await resumeToRest(engine, fork.runId, graph);
    expect([done.status, done.state.outputs['p']]).toEqual(['completed', output]);
    expect(acts).toEqual(other.input === 'one' ? ['act one'] : ['act one', 'act two']);
    // As it was recorded, it goes on.
    Object.assign(told, { input: 'one', entry: undefined });
    expect((await resumeToRest(engine, 'r', graph)).state.outputs['p']).toBe('one yes heard');
  },
);

test('X4.19 a fork that has started a child run with its own input is held to it, as any run is', async () => {
  const bench = createBench();
  let input = 1;
  const child = graphOf('child', [node('c', 'pure', ({ state }) => state.input)], edges('> c', 'c >'));
  const graph = graphOf(
    'parent',
    [
      node('a', 'pure', async (ctx) => {
        await ctx.run(child, { input });
        return ctx.ask({ prompt: '?' });
      }),
    ],
    edges('> a', 'a >'),
  );
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  input = 2;
  const { runId } = await bench.engine.fork({ runId: 'r', seq });
  const forked = await resumeToRest(bench.engine, runId, graph);
  expect(forked.status).toBe('paused');
  input = 3;
  await bench.engine.answer(runId, forked.waits[0]?.waitId ?? '', 'go');
  const failed = await resumeToRest(bench.engine, runId, graph);
  expect(failed.error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED', data: { call: 'run', node: 'a' } });
  input = 2;
  expect((await resumeToRest(bench.engine, runId, graph)).state.outputs).toEqual({ a: 'go' });
});
