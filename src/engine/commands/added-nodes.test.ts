/** Nodes that were added to a graph where a run of it has passed already (H3). */
import { expect, test } from 'vitest';
import type { EffectClass } from '../../graph/contracts/node-contract.ts';
import { compileExpression } from '../../graph/expression/expression.ts';
import { END, type EdgeDefinition, type Graph } from '../../graph/graph.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { readHistory } from '../../history/load/load.ts';

const calls: string[] = [];

/** a, b, ask; with a node of an effect class between a and b, or inside a subgraph there. */
function line(added?: EffectClass, inSubgraph = false): Graph {
  const work = (id: string, effect: EffectClass): ReturnType<typeof node> =>
    node(id, effect, () => void calls.push(id));
  const between = ['> a', 'b > ask', 'ask > end', 'end >', ...(added === undefined ? ['a > b'] : ['a > x', 'x > b'])];
  const nodes = [
    work('a', 'pure'),
    work('b', 'external'),
    node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
    work('end', 'pure'),
  ];
  if (added === undefined) return graphOf('g', nodes, edges(...between));
  const subgraph = graphOf('inner', [work('x', added)], edges('> x', 'x >'));
  const x = inSubgraph ? node('x', 'pure', () => undefined, { subgraph }) : work('x', added);
  return graphOf('g', [...nodes, x], edges(...between));
}

async function waiting(): Promise<ReturnType<typeof createBench>> {
  const bench = createBench();
  calls.length = 0;
  expect((await runToRest(bench.engine, line(), {}, 'r')).status).toBe('paused');
  return bench;
}

test.each<[effect: EffectClass, inSubgraph: boolean]>([
  ['external', false],
  ['write', false],
  ['human', false],
  ['external', true],
])(
  'H3 a resume and a fork under a graph with a new %s node that would never run are refused, and told of it (in a subgraph: %s)',
  async (effect, inSubgraph) => {
    const { engine } = await waiting();
    const graph = line(effect, inSubgraph);
    const refusal = {
      code: 'RUN_GRAPH_CHANGED',
      message: expect.stringContaining('x (the run is past it: it is never run)') as string,
    };
    const seq = (await engine.locate('r')).seq;
    await expect(engine.resume('r', { graph })).rejects.toMatchObject(refusal);
    await expect(engine.fork({ runId: 'r', seq }, { graph })).rejects.toMatchObject(refusal);
    await expect(engine.preview({ runId: 'r', seq }, { graph, asFork: true })).rejects.toMatchObject(refusal);
    // From before it, nothing is missed.
    const fork = await engine.fork({ runId: 'r', seq: 0 }, { graph });
    await resumeToRest(engine, fork.runId, graph);
    // A node whose own code is unchanged is reused (X2.9).
    expect(calls).toEqual(['a', 'b', ...(inSubgraph ? [] : ['x'])]);
  },
);

test('H3 told to leave it out, a resume and a fork go on, and the history says what was left out', async () => {
  const bench = await waiting();
  const { engine, store } = bench;
  const graph = line('external');
  const { seq } = await engine.locate('r');
  const fork = await engine.fork({ runId: 'r', seq }, { graph, leaveOutAdded: true });
  const handle = await engine.resume('r', { graph, leaveOutAdded: true });
  const standing = await handle.result();
  await engine.answer('r', standing.waits[0]!.waitId, 'yes');
  // The run is under the changed graph now: nobody is asked again.
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
  expect((await resumeToRest(engine, fork.runId, graph)).status).toBe('paused');
  expect(calls).toEqual(['a', 'b', 'end']);
  for (const runId of ['r', fork.runId]) {
    const run = (await store.readRun({ tenant: 'default', runId }))!;
    const changes: string[] = [];
    for await (const { checkpoint } of readHistory(store, run, { from: seq + 1, to: run.head }))
      changes.push(JSON.stringify(checkpoint.change));
    expect(changes.join('\n')).toContain('x; the run is past it: it is never run');
  }
});

test('H3 a new pure node that would never run is listed, and stops nothing', async () => {
  const { engine } = await waiting();
  const graph = line('pure');
  const { status, waits } = await resumeToRest(engine, 'r', graph);
  expect(status).toBe('paused');
  await engine.answer('r', waits[0]!.waitId, 'yes');
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
  expect(calls).toEqual(['a', 'b', 'end']);
});

/** a, ask, b; with b before the question if it has moved there. */
function around(effect: EffectClass, isMoved: boolean): Graph {
  const order = isMoved ? ['a', 'b', 'ask'] : ['a', 'ask', 'b'];
  const work = (id: string, of: EffectClass): ReturnType<typeof node> => node(id, of, () => void calls.push(id));
  const nodes = [work('a', 'pure'), work('b', effect), node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' }))];
  const ends = order.map((id, at) => `${id} > ${order[at + 1] ?? ''}`.trim());
  return graphOf('g', nodes, edges(`> ${order[0]}`, ...ends));
}

test.each<EffectClass>(['external', 'write', 'human'])(
  'H3 a node of class %s that is moved to where the run is past is refused as one that is added there, and left out if that is said',
  async (effect) => {
    const { engine } = createBench();
    calls.length = 0;
    const { waits } = await runToRest(engine, around(effect, false), {}, 'r');
    const graph = around(effect, true);
    await expect(engine.resume('r', { graph })).rejects.toMatchObject({
      code: 'RUN_GRAPH_CHANGED',
      message: expect.stringContaining('node moved b (the run is past it: it is never run)') as string,
      hint: expect.stringContaining('leaveOutAdded') as string,
    });
    await (await engine.resume('r', { graph, leaveOutAdded: true })).result();
    await engine.answer('r', waits[0]!.waitId, 'yes');
    expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
    expect(calls).toEqual(['a']);
  },
);

test('H3 a node on a way that the run did not take is none that was moved', async () => {
  const { engine } = createBench();
  const choice = (more: readonly EdgeDefinition[]): Graph =>
    graphOf(
      'g',
      [
        node('a', 'pure', () => undefined),
        node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('other', 'external', () => undefined),
        node('end', 'pure', () => undefined),
      ],
      [
        ...edges('> a', 'a > ask', 'ask > end', 'other > end', 'end >'),
        { from: 'a', to: 'other', condition: compileExpression('false') },
        ...more,
      ],
    );
  await runToRest(engine, choice([]), {}, 'r');
  const skips = { from: 'ask', to: END, condition: compileExpression('false') };
  expect((await resumeToRest(engine, 'r', choice([skips]))).status).toBe('paused');
});

test.each(['onCancel', 'onRunFailure'])(
  'H3 a node that is added to follow the end of the run (%s) is no place that the run is past',
  async (policy) => {
    const { engine } = await waiting();
    const nodes = [
      ...['a', 'b', 'end'].map((id) => node(id, id === 'b' ? 'external' : 'pure', () => undefined)),
      node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node('undo', 'external', () => undefined),
    ];
    const links = edges('> a', 'a > b', 'b > ask', 'ask > end', 'end >');
    const graph = graphOf('g', nodes, links, { policies: { [policy]: 'undo' } });
    expect((await resumeToRest(engine, 'r', graph)).status).toBe('paused');
  },
);
