/** Nodes that were added to a graph where a run of it has passed already (H3). */
import { expect, test } from 'vitest';
import type { EffectClass } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
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
