/** Graphs that hold one token: planned by following it, which comes to the same as waiting for joins and rounds (G11). */
import { describe, expect, it } from 'vitest';
import { createDriver, type Driver, type Routing } from '../../../test/plan/plan-driver.ts';
import { createRandom, defineGraph, noise, type Sketch, sketchGraph } from '../../../test/plan/random-graph.ts';
import { randomSeeds, sketchProperty } from '../../../test/plan/smaller-sketch.ts';
import { tellFaults } from '../../../test/support/smallest.ts';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START, type EdgeDefinition, type Graph, type NodeDefinition } from '../../graph/graph.ts';
import { createPlan, TokenPlan } from './plan.ts';
import { RoundsPlan } from './rounds-plan.ts';

/** The same nodes and edges, planned the one way and the other. */
function bothGraphs(sketch: Sketch): { readonly token: Graph; readonly rounds: Graph } {
  const definition = defineGraph(sketch);
  const [token, rounds] = (['first', 'all'] as const).map((routing) =>
    compileGraph({ ...definition, policies: { routing } }),
  ) as [Graph, Graph];
  return { token, rounds };
}

/** One edge of each visit, or none; the later the visit, the more often none. At times a node's `when` is false. */
function oneEdge(graph: Graph, seed: number): Routing {
  return (node, visit) => {
    if (node !== 0 && noise(seed, node, visit, 7) < 0.03) return undefined;
    const { outgoing = [] } = graph.nodes[node] ?? {};
    const drawn = Math.floor(noise(seed, node, visit) * (outgoing.length + (visit > 4 ? 1 : 0.1)));
    return outgoing.slice(drawn, drawn + 1);
  };
}

function openOf(driver: Driver): readonly unknown[] {
  return [...driver.open].map(([node, { visit, took }]) => [node, visit, took]);
}

/** What the records say, apart from what only one of the two plans writes. */
function recordsOf({ tree }: Driver, hasEpochs: boolean): unknown {
  return Object.entries(tree.nodes).map(([id, { held: _held, epoch, ...rest }]) => [
    id,
    hasEpochs ? { ...rest, epoch: epoch ?? 0 } : rest,
  ]);
}

function settleOpen(driver: Driver): void {
  const [node] = driver.open.keys();
  if (node !== undefined) driver.settle(node);
}

const plain = (seed: number): Sketch => {
  const sketch = sketchGraph(seed, { maxSize: 14 });
  return {
    ...sketch,
    edges: sketch.edges.map((edge) => ({ ...edge, always: false })),
    joins: sketch.joins.map(() => 'some' as const),
  };
};

/** An entry for every third seed. */
const entryOf = (graph: Graph, seed: number): string | undefined =>
  seed % 3 === 0 ? graph.nodes[2 + (seed % (graph.nodes.length - 2))]?.id : undefined;

/** Drives both to the end, side by side; returns how many visits there were. */
function driveBoth(sketch: Sketch, seed: number, isReloading: boolean): number {
  const graphs = bothGraphs(sketch);
  const random = createRandom(seed);
  const entry = entryOf(graphs.token, seed);
  const token = createDriver(graphs.token, oneEdge(graphs.token, seed), entry);
  const rounds = createDriver(graphs.rounds, oneEdge(graphs.rounds, seed), entry);
  expect([token.plan instanceof TokenPlan, rounds.plan instanceof RoundsPlan]).toEqual([true, true]);
  // Where each loop is entered at one node, both say of the same edges that they lead back.
  const hasEpochs = graphs.rounds.loops.every(({ heads }) => heads.length === 1) && entry === undefined;
  let visits = 0;
  for (; rounds.open.size > 0; visits += 1) {
    if (visits > 500) throw new Error('the run does not end');
    expect(rounds.open.size).toBe(1);
    expect(openOf(token)).toEqual(openOf(rounds));
    const [node = -1] = rounds.open.keys();
    const unordered = Object.entries(rounds.tree.nodes).filter(
      ([id, { epoch = 0 }]) => id !== START && !rounds.plan.isOrdered({ node: id, epoch }, node),
    );
    expect(unordered).toEqual([]);
    if (isReloading && random() < 0.3) for (const driver of [token, rounds]) driver.trace(node);
    // What is found again opens no lap.
    const step = isReloading && random() < 0.5 ? token.reload() : undefined;
    expect([step?.loops ?? [], step?.epoch, openOf(token)]).toEqual([[], undefined, openOf(rounds)]);
    settleOpen(token);
    settleOpen(rounds);
    expect(recordsOf(token, hasEpochs)).toEqual(recordsOf(rounds, hasEpochs));
    expect(token.tree.epoch).toBe(hasEpochs ? rounds.tree.epoch : token.tree.epoch);
  }
  expect([token.plan.isDone, token.open.size]).toEqual([true, 0]);
  expect(token.plan.stateOf(1)).toBe(rounds.plan.stateOf(1) === 'settled' ? 'settled' : 'idle');
  // To the general plan a node that was passed by in the last round is skipped, though it ran before.
  const hasRun = (id: string): boolean => {
    const status = token.tree.nodes[id]?.status;
    return status !== undefined && status !== 'skipped';
  };
  expect(token.plan.skippedNodes()).toEqual(rounds.plan.skippedNodes().filter((id) => !hasRun(id)));
  return visits;
}

async function holdsFor(count: number, check: (sketch: Sketch, seed: number) => void): Promise<void> {
  expect(await tellFaults(randomSeeds(count), sketchProperty(plain, check))).toEqual([]);
}

const timeout = 120_000;

describe('random graphs', { timeout }, () => {
  it('G11 following the token starts and records what waiting for joins and rounds does', async () => {
    let visits = 0;
    await holdsFor(1500, (sketch, seed) => {
      visits += driveBoth(sketch, seed, false);
    });
    expect(visits).toBeGreaterThan(1500);
  });

  it('G11 E1 a plan that is built from the tree at any moment finds the token again', async () => {
    await holdsFor(700, (sketch, seed) => void driveBoth(sketch, seed, true));
  });

  it('G11 a history that was begun by waiting for joins and rounds goes on by following the token', async () => {
    await holdsFor(500, (sketch, seed) => {
      const graphs = bothGraphs(sketch);
      const routing = oneEdge(graphs.rounds, seed);
      const whole = createDriver(graphs.rounds, routing);
      const order: unknown[] = [];
      for (let steps = 0; whole.open.size > 0 && steps < 500; steps += 1) {
        order.push(openOf(whole));
        settleOpen(whole);
      }
      const before = createDriver(graphs.rounds, routing);
      const cut = Math.floor(noise(seed, 3) * order.length);
      for (let steps = 0; steps < cut; steps += 1) settleOpen(before);
      const after = createDriver(graphs.token, oneEdge(graphs.token, seed));
      Object.assign(after.tree, structuredClone(before.tree));
      after.reload();
      for (let steps = cut; steps < order.length; steps += 1) {
        expect(openOf(after)).toEqual(order[steps]);
        settleOpen(after);
      }
      expect(after.plan.isDone).toBe(true);
    });
  });
});

/** A chain of nodes, each of which may lead back to the one before it: loops in loops, as many as there are nodes. */
function backAndForth(count: number): Graph {
  const ids = Array.from({ length: count }, (_, index) => `n${index}`);
  const nodes = ids.map((id): NodeDefinition => ({
    id,
    type: 'function',
    effect: 'pure',
    implementation: { run: () => undefined },
  }));
  const edges = ids.flatMap((id, index): EdgeDefinition[] => [
    { from: index === 0 ? START : `n${index - 1}`, to: id },
    ...(index === 0 ? [] : [{ from: id, to: `n${index - 1}` }]),
  ]);
  return compileGraph({
    id: 'chain',
    nodes,
    edges: [...edges, { from: `n${count - 1}`, to: END }],
    policies: { routing: 'first' },
  });
}

it('G11 a chain of 1,000 nodes, each with an edge back, is walked to and fro; of 20,000 it is compiled', () => {
  expect(backAndForth(20_000).loops).toEqual([]);
  const graph = backAndForth(1000);
  // Every tenth node leads back at its first visit.
  const driver = createDriver(graph, (node, visit) => {
    const { outgoing = [], id = '' } = graph.nodes[node] ?? {};
    const isBack = id.endsWith('0') && id !== 'n0' && visit === 1;
    return outgoing.filter(({ leadsBack }) => leadsBack === isBack);
  });
  const visits: string[] = [];
  for (let steps = 0; driver.open.size > 0 && steps < 5000; steps += 1) {
    const [node = 0] = driver.open.keys();
    visits.push(graph.nodes[node]?.id ?? '');
    driver.settle(node);
    if (steps % 97 === 0) driver.reload();
  }
  expect(visits.slice(9, 14)).toEqual(['n8', 'n9', 'n10', 'n9', 'n10']);
  expect([visits.length, driver.tree.epoch]).toEqual([1 + 1000 + 2 * 99, 99]);
  expect(driver.plan.stateOf(1)).toBe('settled');
});

it('G11 only what fires one edge at most, and starts with the first, holds one token', () => {
  const kinds = (more: object, join: NodeDefinition['join'] = 'some', edge: Partial<EdgeDefinition> = {}): boolean =>
    compileGraph({
      id: 'g',
      nodes: [{ id: 'a', type: 'function', effect: 'pure', join, implementation: { run: () => undefined } }],
      edges: [
        { from: START, to: 'a' },
        { from: 'a', to: END, ...edge },
      ],
      ...more,
    }).holdsOneToken;
  const first = { policies: { routing: 'first' } };
  expect([
    kinds({}),
    kinds(first),
    kinds(first, 'all'),
    kinds(first, { first: 1 }),
    kinds(first, 'some', { always: true }),
  ]).toEqual([false, true, false, false, false]);
});

it('G11 a node that has run is not skipped, though the last lap passed it by', () => {
  const node = (id: string): NodeDefinition => ({
    id,
    type: 'function',
    effect: 'pure',
    implementation: { run: () => undefined },
  });
  const links = [
    [START, 'a'],
    ['a', 'b'],
    ['b', 'a'],
    ['a', 'c'],
    ['a', 'd'],
    ['c', END],
    ['d', END],
  ] as const;
  const graph = compileGraph({
    id: 'g',
    nodes: ['a', 'b', 'c', 'd'].map(node),
    edges: links.map(([from, to]) => ({ from, to })),
    policies: { routing: 'first' },
  });
  const driver = createDriver(graph, (index, visit) => {
    const { outgoing = [], id = '' } = graph.nodes[index] ?? {};
    return id === 'a' && visit === 2 ? outgoing.filter(({ key }) => key === 'c') : outgoing.slice(0, 1);
  });
  for (let steps = 0; driver.open.size > 0 && steps < 20; steps += 1) settleOpen(driver);
  expect(createPlan(graph, driver.tree).skippedNodes()).toEqual(['d']);
  expect(driver.tree.loops).toEqual({ a: { since: 1, round: 2, heads: ['a'] } });
});
