/** A plan that begins at an entry is the plan of the graph without what lies before it (W6.8). */
import { expect, it } from 'vitest';
import { createDriver, type Routing } from '../../../test/plan/plan-driver.ts';
import { createRandom, defineGraph, noise, sketchGraph } from '../../../test/plan/random-graph.ts';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, type Graph, type GraphDefinition, START } from '../../graph/graph.ts';

/** Nodes that edges lead to from an entry, itself included. */
function reachedFrom({ edges }: GraphDefinition, entry: string): ReadonlySet<string> {
  const reached = new Set([entry]);
  for (const id of reached) for (const { from, to } of edges) if (from === id) reached.add(to);
  return reached;
}

/** The graph without what lies before the entry, which START leads to. */
function withoutBefore(definition: GraphDefinition, entry: string): GraphDefinition {
  const reached = reachedFrom(definition, entry);
  return {
    ...definition,
    nodes: definition.nodes.filter(({ id }) => reached.has(id)),
    edges: [{ from: START, to: entry }, ...definition.edges.filter(({ from }) => reached.has(from))],
  };
}

/** Runs a plan to its end, in an order drawn from the seed, reloading it at times; which edges fire depends on the names alone. */
function visitsOf(graph: Graph, seed: number, entry?: string): Readonly<Record<string, number>> {
  const random = createRandom(seed);
  const idOf = (index: number): string => graph.nodes[index]?.id ?? '';
  const share = (from: string, to: string): number => noise(seed, ...new TextEncoder().encode(`${from}>${to}`));
  const routing: Routing = (node) =>
    graph.nodes[node]?.outgoing.filter(({ to }) => node === 0 || share(idOf(node), idOf(to)) < 0.7) ?? [];
  const driver = createDriver(graph, routing, entry);
  for (let settles = 0; driver.open.size > 0; settles += 1) {
    expect(settles).toBeLessThan(100);
    const open = [...driver.open.keys()];
    driver.settle(open[Math.floor(random() * open.length)] as number);
    if (random() < 0.3) driver.reload();
  }
  const visits = graph.nodes.map(({ id, index }) => [id, driver.plan.visitOf(index)] as const);
  return Object.fromEntries(visits.filter(([id, count]) => count > 0 && id !== START && id !== END));
}

it('W6.8 a plan from an entry runs what the graph without the nodes before it runs', () => {
  let compared = 0;
  for (let seed = 1; compared < 300 && seed < 6000; seed += 1) {
    const definition = defineGraph(sketchGraph(seed, { maxSize: 10 }));
    const graph = compileGraph(definition);
    const entry = definition.nodes[seed % definition.nodes.length]?.id ?? '';
    const isCounting = definition.nodes.some(({ join }) => typeof join === 'object');
    if (graph.loops.length > 0 || isCounting) continue;
    const rest = compileGraph(withoutBefore(definition, entry));
    expect([seed, entry, visitsOf(graph, seed, entry)]).toEqual([seed, entry, visitsOf(rest, seed)]);
    compared += 1;
  }
  expect(compared).toBe(300);
});
