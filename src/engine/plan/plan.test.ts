import { describe, expect, it } from 'vitest';
import { createDriver, type Driver, type Routing } from '../../../test/plan/plan-driver.ts';
import { type ModelResult, type Route, runModel } from '../../../test/plan/plan-model.ts';
import { createRandom, defineGraph, nodeId, noise, type Sketch, sketchGraph } from '../../../test/plan/random-graph.ts';
import { randomSeeds, sketchProperty } from '../../../test/plan/smaller-sketch.ts';
import { tellFaults } from '../../../test/support/smallest.ts';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import type { Graph } from '../../graph/graph.ts';
import { createPlan } from './plan.ts';
import type { Plan, PlanState } from './plan-step.ts';

/** A random routing: the later the visit, the fewer edges fire, so that loops end. */
function randomRoute(sketch: Sketch, seed: number): Route {
  const outgoing = Array.from({ length: sketch.size }, (_, node) =>
    [...sketch.edges.entries()].filter(([, edge]) => edge.from === node).map(([index]) => index),
  );
  const isFirst = noise(seed, 1) < 0.3;
  const share = 30 + noise(seed, 2) * 50;
  return (node, visit) => {
    const edges = outgoing[node] ?? [];
    const isEnd = sketch.hasEnd && node === sketch.size - 1;
    if (node !== 0 && !isEnd && noise(seed, node, visit, 7) < 0.05) return undefined;
    if (isFirst) {
      const chosen = edges[Math.floor(noise(seed, node, visit) * (edges.length + (visit > 4 ? 1 : 0)))];
      return new Set(chosen === undefined || visit > 12 ? [] : [chosen]);
    }
    return new Set(
      edges.filter((edge) => noise(seed, node, visit, edge) * 100 < (visit > 12 ? 0 : Math.max(5, share - 3 * visit))),
    );
  };
}

/** The numbers of a sketch's nodes in its graph. */
const numbering = (sketch: Sketch, graph: Graph): readonly number[] =>
  Array.from({ length: sketch.size }, (_, node) => graph.nodeIndex.get(nodeId(sketch, node)) ?? -1);

function routingOf(sketch: Sketch, graph: Graph, route: Route): Routing {
  const back = new Map(numbering(sketch, graph).map((number, node) => [number, node]));
  return (node, visit) => {
    const chosen = route(back.get(node) ?? 0, visit);
    return chosen === undefined ? undefined : graph.edges.filter((edge) => chosen.has(edge.index));
  };
}

/** What a run came to, in the terms of the model. */
function outcomeOf(driver: Driver, sketch: Sketch): ModelResult {
  const numbers = numbering(sketch, driver.graph);
  const isEnd = (node: number): boolean => sketch.hasEnd && node === sketch.size - 1;
  return {
    visits: numbers.map((number, node) =>
      isEnd(node) ? Number(driver.plan.stateOf(number) === 'settled') : driver.plan.visitOf(number),
    ),
    isSkipped: numbers.map((number) => driver.plan.stateOf(number) === 'skipped'),
    rounds: driver.tree.epoch ?? 0,
  };
}

function pick<T>(values: Iterable<T>, random: () => number): T {
  const list = [...values];
  return list[Math.floor(random() * list.length)] as T;
}

/** Everything a plan tells about itself and would do next. */
function portrait(driver: Driver, plan: Plan): unknown {
  const { graph } = driver;
  const open = graph.nodes.filter((node) => plan.stateOf(node.index) === 'open').map((node) => node.index);
  return {
    states: graph.nodes.map((node): PlanState => plan.stateOf(node.index)),
    visits: graph.nodes.map((node) => plan.visitOf(node.index)),
    isDone: plan.isDone,
    skipped: plan.skippedNodes(),
    fields: open.map((node) => plan.settledFields(node, graph.nodes[node]?.outgoing.slice(0, 1) ?? [])),
  };
}

/** The plan built from the tree is the plan that was kept, and would start exactly what is open. */
function checkReload(driver: Driver): void {
  const fresh = createPlan(driver.graph, structuredClone(driver.tree));
  const step = fresh.initial();
  expect(step.loops).toEqual([]);
  expect(step.epoch).toBeUndefined();
  const due = step.start.map(({ node, visit }) => [node, visit]);
  const open = [...driver.open].map(([node, { visit }]) => [node, visit]);
  const byNode = (a: readonly (number | undefined)[], b: readonly (number | undefined)[]): number =>
    (a[0] ?? 0) - (b[0] ?? 0);
  expect(due.sort(byNode)).toEqual(open.sort(byNode));
  expect(new Set(step.cancel)).toEqual(driver.cancelled);
  expect(portrait(driver, fresh)).toEqual(portrait(driver, driver.plan));
}

/** Runs to the end under a random schedule; at each step some open activation may leave a trace, and the plan may be reloaded. */
function runSchedule(driver: Driver, seed: number, isReloading: boolean): void {
  const random = createRandom(seed);
  for (let steps = 0; driver.open.size > 0; steps += 1) {
    if (steps > 5000) throw new Error('the run does not end');
    const node = pick(driver.open.keys(), random);
    if (isReloading && random() < 0.3) driver.trace(pick(driver.open.keys(), random));
    driver.settle(node);
    if (!isReloading) continue;
    checkReload(driver);
    if (random() < 0.3) driver.reload();
  }
}

interface OrderHistory {
  /** The step at which each visit was started, and at which it settled. */
  readonly started: ReadonlyMap<string, number>;
  readonly settled: ReadonlyMap<string, number>;
}

/** Runs to the end, asking at each step which settled visits come before which open ones; answers must not differ between runs. */
function recordOrders(driver: Driver, random: () => number, verdicts: Map<string, boolean>): OrderHistory {
  const started = new Map<string, number>();
  const settled = new Map<string, number>();
  for (let step = 0; driver.open.size > 0; step += 1) {
    for (const [node, { visit }] of driver.open) {
      const name = `${node}.${visit}`;
      if (!started.has(name)) started.set(name, step);
      for (const writer of driver.graph.nodes) {
        const record = driver.tree.nodes[writer.id];
        if (record === undefined || writer.index === node) continue;
        const pair = `${writer.index}.${record.visits} before ${name}`;
        const isOrdered = driver.plan.isOrdered({ node: writer.id, epoch: record.epoch ?? 0 }, node);
        if ((verdicts.get(pair) ?? isOrdered) !== isOrdered) throw new Error(`another run said otherwise of ${pair}`);
        verdicts.set(pair, isOrdered);
      }
    }
    const node = pick(driver.open.keys(), random);
    settled.set(`${node}.${driver.open.get(node)?.visit}`, step);
    driver.settle(node);
  }
  return { started, settled };
}

// Generous: the machine may be busy, and nothing here waits.
const timeout = 120_000;

describe('random graphs', { timeout }, () => {
  const holdsFor = async (
    count: number,
    maxSize: number,
    check: (sketch: Sketch, seed: number) => void,
  ): Promise<void> => {
    const property = sketchProperty((seed) => sketchGraph(seed, { maxSize }), check);
    expect(await tellFaults(randomSeeds(count), property)).toEqual([]);
  };

  it('G3 G4 there is one outcome whatever the schedule, and it is that of the model', async () => {
    await holdsFor(2000, 18, (sketch, seed) => {
      const graph = compileGraph(defineGraph(sketch));
      const route = randomRoute(sketch, seed);
      const expected = runModel(sketch, route);
      for (let schedule = 0; schedule < 3; schedule += 1) {
        const driver = createDriver(graph, routingOf(sketch, graph, route));
        runSchedule(driver, seed + schedule, false);
        expect(driver.plan.isDone).toBe(true);
        expect(outcomeOf(driver, sketch)).toEqual(expected);
      }
    });
  });

  it('E1 a plan built from the tree at any moment is the plan that was kept, and goes on the same way', async () => {
    await holdsFor(700, 14, (sketch, seed) => {
      const graph = compileGraph(defineGraph(sketch));
      const route = randomRoute(sketch, seed);
      const driver = createDriver(graph, routingOf(sketch, graph, route));
      runSchedule(driver, seed, true);
      expect(outcomeOf(driver, sketch)).toEqual(runModel(sketch, route));
    });
  });

  it('E1 the same holds where `first` joins cancel what they no longer need', async () => {
    await holdsFor(300, 14, (sketch, seed) => {
      const joins = sketch.joins.map((join) => (typeof join === 'object' ? { ...join, cancelRest: true } : join));
      const graph = compileGraph(defineGraph({ ...sketch, joins }));
      const driver = createDriver(graph, routingOf(sketch, graph, randomRoute(sketch, seed)));
      runSchedule(driver, seed, true);
      expect(driver.plan.isDone).toBe(true);
    });
  });

  it('E5 what is ordered in one schedule is ordered in all, and happens in that order in all', async () => {
    let orderedPairs = 0;
    let otherPairs = 0;
    await holdsFor(200, 12, (drawn, seed) => {
      // What a `first` join takes is a matter of timing, and so is what it orders.
      const sketch = { ...drawn, joins: drawn.joins.map((join) => (typeof join === 'object' ? 'some' : join)) };
      const graph = compileGraph(defineGraph(sketch));
      const routing = routingOf(sketch, graph, randomRoute(sketch, seed));
      const verdicts = new Map<string, boolean>();
      const histories = Array.from({ length: 4 }, (_, schedule) => {
        const driver = createDriver(graph, routing);
        return recordOrders(driver, createRandom(seed + schedule), verdicts);
      });
      for (const [pair, isOrdered] of verdicts) {
        const [writer = '', node = ''] = pair.split(' before ');
        if (isOrdered) orderedPairs += 1;
        else otherPairs += 1;
        const isKept = histories.every(
          ({ settled, started }) => (settled.get(writer) ?? Infinity) < (started.get(node) ?? -1),
        );
        if (isOrdered && !isKept) throw new Error(`${pair} does not hold in every run`);
      }
    });
    expect(Math.min(orderedPairs, otherPairs)).toBeGreaterThan(200);
  });
});
