/**
 * A model of joins and loops, written from the rules G3 and G4 and nothing else: slow, and in one order of its own.
 *
 * It walks a region (the whole graph, or one round of a loop) as a graph without cycles whose items are nodes and the loops directly
 * inside the region. An item is decided when all edges into it are settled, which in an order without cycles they always are.
 */
import type { Join } from '../../src/graph/graph.ts';
import type { Sketch } from './random-graph.ts';

export interface ModelLoop {
  readonly nodes: ReadonlySet<number>;
  readonly heads: ReadonlySet<number>;
  /** Edges that lead back to a head. */
  readonly back: ReadonlySet<number>;
  readonly children: readonly ModelLoop[];
}

export interface ModelResult {
  /** Visits of each node. */
  readonly visits: readonly number[];
  /** Whether each node was skipped in the round it was last decided in. */
  readonly isSkipped: readonly boolean[];
  /** Times a loop began a further round. */
  readonly rounds: number;
}

/** Which outgoing edges a visit fires, by their position in the sketch; undefined: the node's `when` was false. */
export type Route = (node: number, visit: number) => ReadonlySet<number> | undefined;

type Sides = readonly { readonly from: number; readonly to: number }[];

function reachable(from: number, edges: Sides, within: ReadonlySet<number>, usable: ReadonlySet<number>): Set<number> {
  const reached = new Set<number>();
  const open = [from];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const index of usable) {
      const edge = edges[index];
      if (edge?.from !== node || !within.has(edge.to) || reached.has(edge.to)) continue;
      reached.add(edge.to);
      open.push(edge.to);
    }
  }
  return reached;
}

/** G4: a loop is a strongly connected component; what remains without its back edges may hold inner loops, found the same way. */
export function modelLoops(
  edges: Sides,
  nodes: ReadonlySet<number>,
  usable: ReadonlySet<number>,
): readonly ModelLoop[] {
  const reach = new Map([...nodes].map((node) => [node, reachable(node, edges, nodes, usable)]));
  const loops: ModelLoop[] = [];
  const done = new Set<number>();
  for (const node of nodes) {
    if (done.has(node) || reach.get(node)?.has(node) !== true) continue;
    const members = new Set([...nodes].filter((other) => reach.get(node)?.has(other) && reach.get(other)?.has(node)));
    for (const member of members) done.add(member);
    const heads = new Set(
      edges.filter((edge) => members.has(edge.to) && !members.has(edge.from)).map((edge) => edge.to),
    );
    const inner = [...usable].filter(
      (index) => members.has(edges[index]?.from ?? -1) && members.has(edges[index]?.to ?? -1),
    );
    const back = new Set(inner.filter((index) => heads.has(edges[index]?.to ?? -1)));
    const rest = new Set(inner.filter((index) => !back.has(index)));
    loops.push({ nodes: members, heads, back, children: modelLoops(edges, members, rest) });
  }
  return loops;
}

function starts(join: Join, firings: readonly boolean[]): boolean {
  const fired = firings.filter(Boolean).length;
  if (join === 'all') return fired === firings.length;
  return fired >= (join === 'some' ? 1 : join.first);
}

/** More than any routing of the tests asks for. */
const roundsMost = 10_000;

class Walk {
  readonly #sketch: Sketch;
  readonly #route: Route;
  readonly #isBack = new Set<number>();
  /** How each edge settled in its current round. */
  readonly #settled = new Map<number, boolean>();
  /** Edges that fired and wait: back edges for the next round, leaving edges for the end of their loop. */
  readonly #tokens = new Set<number>();
  readonly #leaving = new Set<number>();
  readonly visits: number[];
  readonly isSkipped: boolean[];
  rounds = 0;
  readonly loops: readonly ModelLoop[];

  constructor(sketch: Sketch, route: Route) {
    this.#sketch = sketch;
    this.#route = route;
    this.visits = Array.from({ length: sketch.size }, () => 0);
    this.isSkipped = Array.from({ length: sketch.size }, () => false);
    this.loops = modelLoops(sketch.edges, new Set(sketch.joins.keys()), new Set(sketch.edges.keys()));
    const collect = (loop: ModelLoop): void => {
      for (const edge of loop.back) this.#isBack.add(edge);
      loop.children.forEach(collect);
    };
    this.loops.forEach(collect);
  }

  /** Decides every item of a region once. `started`: the heads a later round starts; the other heads are skipped. */
  walk(
    nodes: ReadonlySet<number>,
    loops: readonly ModelLoop[],
    heads: ReadonlySet<number>,
    started?: ReadonlySet<number>,
  ): void {
    const loopOf = (node: number): ModelLoop | undefined => loops.find((loop) => loop.nodes.has(node));
    const items = new Set([...nodes].map((node) => loopOf(node) ?? node));
    const nodesOf = (item: ModelLoop | number): ReadonlySet<number> =>
      typeof item === 'number' ? new Set([item]) : item.nodes;
    const isReady = (item: ModelLoop | number): boolean => {
      if (typeof item === 'number' && started !== undefined && heads.has(item)) return true;
      return this.#edgesInto(nodesOf(item)).every((edge) => this.#settled.has(edge));
    };
    while (items.size > 0) {
      const item = [...items].find(isReady);
      if (item === undefined) throw new Error('no item can be decided');
      items.delete(item);
      if (typeof item !== 'number') this.#runLoop(item);
      else if (started !== undefined && heads.has(item)) this.#decide(item, started.has(item));
      else this.#decide(item, item === 0 || starts(this.#sketch.joins[item] ?? 'some', this.#firingsInto(item)));
    }
  }

  #edgesInto(nodes: ReadonlySet<number>): readonly number[] {
    return [...this.#sketch.edges.entries()]
      .filter(([index, edge]) => nodes.has(edge.to) && !nodes.has(edge.from) && !this.#isBack.has(index))
      .map(([index]) => index);
  }

  #firingsInto(node: number): readonly boolean[] {
    return this.#edgesInto(new Set([node])).map((edge) => this.#settled.get(edge) === true);
  }

  #decide(node: number, isStarted: boolean): void {
    if (isStarted) this.visits[node] = (this.visits[node] ?? 0) + 1;
    const route = isStarted ? this.#route(node, this.visits[node] ?? 0) : undefined;
    this.isSkipped[node] = route === undefined;
    for (const [index, edge] of this.#sketch.edges.entries()) {
      if (edge.from !== node) continue;
      const isFiring = edge.always || route?.has(index) === true;
      if (this.#isBack.has(index)) {
        if (isFiring) this.#tokens.add(index);
      } else if (this.#leaves(edge.from, edge.to)) {
        if (isFiring) this.#leaving.add(index);
      } else this.#settled.set(index, isFiring);
    }
  }

  #leaves(from: number, to: number, loops = this.loops): boolean {
    return loops.some((loop) => loop.nodes.has(from) && (!loop.nodes.has(to) || this.#leaves(from, to, loop.children)));
  }

  #runLoop(loop: ModelLoop): void {
    let started: ReadonlySet<number> | undefined;
    const inside = [...this.#sketch.edges.entries()].filter(
      ([, edge]) => loop.nodes.has(edge.from) && loop.nodes.has(edge.to),
    );
    for (let round = 1; round < roundsMost; round += 1) {
      this.walk(loop.nodes, loop.children, loop.heads, started);
      const tokens = [...loop.back].filter((edge) => this.#tokens.delete(edge));
      if (tokens.length === 0) return this.#leave(loop);
      this.rounds += 1;
      started = new Set(tokens.map((edge) => this.#sketch.edges[edge]?.to ?? -1));
      for (const [index] of inside) {
        this.#settled.delete(index);
        this.#leaving.delete(index);
      }
    }
    throw new Error(`a loop of the model goes round ${roundsMost} times`);
  }

  /** Settles the edges that leave a loop that is done. */
  #leave(loop: ModelLoop): void {
    for (const [index, edge] of this.#sketch.edges.entries()) {
      if (!loop.nodes.has(edge.from) || loop.nodes.has(edge.to) || this.#isBack.has(index)) continue;
      // An edge that leaves the loop around this one as well waits for that one.
      if (!this.#isHeldBeyond(loop, edge)) this.#settled.set(index, this.#leaving.delete(index));
    }
  }

  #isHeldBeyond(loop: ModelLoop, edge: { readonly from: number; readonly to: number }): boolean {
    const isAround = (outer: ModelLoop): boolean =>
      outer !== loop &&
      [...loop.nodes].every((node) => outer.nodes.has(node)) &&
      (!outer.nodes.has(edge.to) || outer.children.some(isAround));
    return this.loops.some(isAround);
  }
}

/** Runs a sketch to its end. */
export function runModel(sketch: Sketch, route: Route): ModelResult {
  const walk = new Walk(sketch, route);
  walk.walk(new Set(sketch.joins.keys()), walk.loops, new Set());
  return { visits: walk.visits, isSkipped: walk.isSkipped, rounds: walk.rounds };
}
