/** Resume under a graph that is not the one the run was started with (H3). */
import { expect, test } from 'vitest';
import type { Graph, NodeDefinition } from '../../src/graph/graph.ts';
import { outcome } from '../../src/graph/contracts/node-contract.ts';
import { type Bench, afterCrash, changesOf, createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';

const first = node('first', 'pure', () => outcome({ output: 1, scratch: { count: 1 } }));
const ask = node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' }));
const last = node('last', 'pure', (ctx) => ctx.state.scratch['count']);
const links = edges('> first', 'first > ask', 'ask > last', 'last >');
const original = graphOf('g', [first, ask, last], links);

async function pausedRun(): Promise<Bench> {
  const bench = createBench();
  const paused = await runToRest(bench.engine, original, {}, 'r');
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  return bench;
}

async function resumeWith(
  bench: Bench,
  graph: Graph,
  migrate?: (state: object) => Record<string, unknown>,
): Promise<unknown> {
  const handle = await afterCrash(bench).resume('r', { graph, ...(migrate === undefined ? {} : { migrate }) });
  const { status, state } = await handle.result();
  return [status, state.outputs['last']];
}

async function changesUnder(bench: Bench, graph: Graph): Promise<string> {
  const options = { ...bench.options, findGraph: () => graph };
  return (await changesOf(afterCrash({ ...bench, options }), 'r')).join();
}

const changed = (...nodes: readonly NodeDefinition[]): Graph => graphOf('g', nodes, links);

test('H3 the same graph goes on, and no change is recorded', async () => {
  const bench = await pausedRun();
  expect(await resumeWith(bench, changed(first, ask, last))).toEqual(['completed', 1]);
  expect(await changesUnder(bench, original)).not.toContain('resume');
});

test('H3 code that alone has changed is listed and goes on', async () => {
  const bench = await pausedRun();
  const other = changed(
    first,
    ask,
    node('last', 'pure', (ctx) => [ctx.state.scratch['count']]),
  );
  expect(other.hash).toBe(original.hash);
  expect(await resumeWith(bench, other)).toEqual(['completed', [1]]);
  expect(await changesUnder(bench, other)).toContain('resume');
});

test('H3 a compatible change goes on', async () => {
  const bench = await pausedRun();
  const wider = graphOf(
    'g',
    [first, ask, last, node('new', 'pure', (ctx) => `new ${String(ctx.state.outputs['ask'])}`)],
    edges('> first', 'first > ask', 'ask > last', 'ask > new', 'last >', 'new >'),
  );
  const handle = await afterCrash(bench).resume('r', { graph: wider });
  expect((await handle.result()).state.outputs['new']).toBe('new yes');
});

test('H3 a change that takes away the node at which the run waits closes its question as changed, and goes on', async () => {
  const bench = await pausedRun();
  const without = graphOf('g', [first, last], edges('> first', 'first > last', 'last >'));
  expect(await resumeWith(bench, without)).toEqual(['completed', 1]);
  expect(await changesUnder(bench, without)).toContain('resume');
});

test('H3 a graph that has none of the nodes of the one it began under is refused, and leaves the run as it was', async () => {
  const bench = await pausedRun();
  const stranger = graphOf('g', [node('other', 'pure', () => 2)], edges('> other', 'other >'));
  await expect(resumeWith(bench, stranger)).rejects.toMatchObject({ code: 'RUN_GRAPH_CHANGED' });
  expect((await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
  expect(await resumeWith(bench, original)).toEqual(['completed', 1]);
});

test('H3 a change of a reducer needs a migration, and goes on with one', async () => {
  const summed = graphOf('g', [first, ask, last], links, { reducers: { 'scratch.count': 'sum' } });
  const bench = await pausedRun();
  await expect(resumeWith(bench, summed)).rejects.toMatchObject({
    code: 'RUN_GRAPH_CHANGED',
    message: expect.stringContaining('migration'),
  });
  const migrated = await resumeWith(bench, summed, () => ({ scratch: { count: 40 } }));
  expect(migrated).toEqual(['completed', 40]);
});

test('H3 a migration that gives what cannot be stored is refused with the path, and the run is as it was', async () => {
  const summed = graphOf('g', [first, ask, last], links, { reducers: { 'scratch.count': 'sum' } });
  const bench = await pausedRun();
  const refused = resumeWith(bench, summed, () => ({ scratch: { count: () => 1 } }));
  await expect(refused).rejects.toMatchObject({
    code: 'VALUE_UNSTORABLE',
    message: expect.stringContaining('scratch.count'),
  });
  const odd = resumeWith(bench, summed, () => ({ sratch: { count: 1 } }));
  await expect(odd).rejects.toMatchObject({ code: 'STATE_UNKNOWN_CHANNEL' });
  expect(await resumeWith(bench, summed, () => ({ scratch: { count: 7 } }))).toEqual(['completed', 7]);
});

test('E2 a run id taken by another graph or input is refused with the difference', async () => {
  const bench = await pausedRun();
  await expect(bench.engine.start(original, { other: 1 }, { runId: 'r' })).rejects.toMatchObject({
    code: 'RUN_EXISTS',
    data: { difference: 'input' },
  });
  const other = graphOf('other', [first, ask, last], links);
  await expect(bench.engine.start(other, {}, { runId: 'r' })).rejects.toMatchObject({
    code: 'RUN_EXISTS',
    data: { difference: 'graph' },
  });
});
