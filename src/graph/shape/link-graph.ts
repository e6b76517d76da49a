/** Links nodes and edges and finds the loops. Faulty edges are omitted here; validation reports them. */
import {
  type EdgeDefinition,
  type GraphDefinition,
  type GraphEdge,
  type GraphStructure,
  type Loop,
  type NodeDefinition,
  END,
  START,
} from '../graph.ts';
import { type Arrow, findLoops, type LoopForest, edgesBack, holdsOneToken } from './loops.ts';

/** A node with its edges. START is the first and END the second; these two have no definition. */
export interface LinkedNode {
  readonly id: string;
  readonly definition: NodeDefinition | undefined;
  /** Indices of the loops that the node is in, outermost first. */
  readonly loops: readonly number[];
  /** Sorted by weight, highest first, then by declaration. `first` routing tries them in this order (G5). */
  readonly outgoing: readonly GraphEdge[];
  readonly incoming: readonly GraphEdge[];
}

export interface LinkedGraph {
  readonly nodes: readonly LinkedNode[];
  readonly nodeIndex: ReadonlyMap<string, number>;
  readonly edges: readonly GraphEdge[];
  readonly loops: readonly Loop[];
  /** For each edge, where it was written; if that is not known, its two ends. */
  readonly edgePlaces: readonly string[];
  readonly isTooDeep: boolean;
  readonly holdsOneToken: boolean;
}

/** The place of an edge in messages: `file:line` where it was written, else its two ends. */
export function edgePlace(edge: EdgeDefinition): string {
  return edge.place ?? `edge ${edge.from} -> ${edge.to}`;
}

/** Whether an edge is possible: between known nodes, not to START, not from END. */
const isLinkable = (edge: EdgeDefinition, nodeIndex: ReadonlyMap<string, number>): boolean =>
  nodeIndex.has(edge.from) && nodeIndex.has(edge.to) && edge.to !== START && edge.from !== END;

/** The key of each edge, unique among those of its source: the target's id, with a number added for further edges to the same target. */
function createKeys(definitions: readonly EdgeDefinition[], nodeIndex: ReadonlyMap<string, number>): readonly string[] {
  const taken = new Set<string>();
  // The number to try next, by source and target: a node may have thousands of edges to the same one.
  const counts = new Map<string, number>();
  return definitions.map(({ from, to }) => {
    const source = nodeIndex.get(from);
    const pair = `${source} ${to}`;
    let count = counts.get(pair) ?? 2;
    let key = to;
    // The id of a node may itself be `b#2`, so numbers are tried until the key is free.
    for (; taken.has(`${source} ${key}`); count += 1) key = `${to}#${count}`;
    counts.set(pair, count);
    taken.add(`${source} ${key}`);
    return key;
  });
}

const loopId = (heads: readonly number[], ids: readonly string[]): string =>
  heads
    .map((head) => ids[head]?.replace(/[\\,]/g, '\\$&') ?? '')
    .sort()
    .join(',');

/** Sorts loops by depth, then by id, so that no index depends on the order of declaration. */
function orderLoops(forest: ReturnType<typeof findLoops>, ids: readonly string[]): { loops: Loop[]; place: number[] } {
  const named = forest.loops.map((loop, found) => ({ ...loop, found, id: loopId(loop.heads, ids) }));
  named.sort((a, b) => a.depth - b.depth || (a.id < b.id ? -1 : Number(a.id > b.id)));
  const place: number[] = [];
  for (const [index, loop] of named.entries()) place[loop.found] = index;
  const parentOf = (parent: number | undefined): number | undefined =>
    parent === undefined ? undefined : place[parent];
  const children = named.map((): number[] => []);
  for (const [index, loop] of named.entries()) {
    const parent = parentOf(loop.parent);
    if (parent !== undefined) children[parent]?.push(index);
  }
  const loops = named.map((loop, index): Loop => {
    const { id, nodes, heads } = loop;
    return Object.freeze({ index, id, nodes, heads, parent: parentOf(loop.parent), children: children[index] ?? [] });
  });
  return { loops, place };
}

/** Where one token is followed, nothing asks for loops. */
function withoutLoops(nodeCount: number, { length }: readonly Arrow[]): LoopForest {
  const none = Array.from<undefined>({ length });
  const loopsOf = Array.from({ length: nodeCount }, (): number[] => []);
  return { loops: [], loopsOf, backOf: none, exitOf: none, isTooDeep: false };
}

/** The edges of a node are walked in the order in which routing tries them, so that nothing depends on an order that is not hashed. */
function leadingBack(
  nodeCount: number,
  arrows: readonly Arrow[],
  definitions: readonly EdgeDefinition[],
): readonly boolean[] {
  const weightOf = (edge: number): number => definitions[edge]?.weight ?? 0;
  const order = [...arrows.keys()].sort((a, b) => weightOf(b) - weightOf(a));
  const isBack = edgesBack(
    nodeCount,
    order.map((edge) => arrows[edge] as Arrow),
  );
  const found: boolean[] = [];
  for (const [index, edge] of order.entries()) found[edge] = isBack[index] === true;
  return found;
}

/** The ids of the loops of a stored structure; none where one token is followed, for nothing asks for loops there. */
export function loopIdsOf(structure: GraphStructure): ReadonlySet<string> {
  if (holdsOneToken(structure)) return new Set();
  const ids = [START, END, ...structure.nodes.map(({ id }) => String(id))];
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const arrows = structure.edges.map(({ from, to }) => ({
    from: indexOf.get(String(from)) ?? 0,
    to: indexOf.get(String(to)) ?? 0,
  }));
  return new Set(findLoops(ids.length, arrows).loops.map(({ heads }) => loopId(heads, ids)));
}

/** Links the nodes and edges of a definition that can be linked. If several nodes have one id, the first is used. */
export function linkGraph(definition: GraphDefinition): LinkedGraph {
  const nodeIndex = new Map<string, number>([
    [START, 0],
    [END, 1],
  ]);
  const definitions: (NodeDefinition | undefined)[] = [undefined, undefined];
  for (const node of definition.nodes) {
    if (nodeIndex.has(node.id)) continue;
    nodeIndex.set(node.id, definitions.length);
    definitions.push(node);
  }
  const ids = [...nodeIndex.keys()];
  const usable = definition.edges.filter((edge) => isLinkable(edge, nodeIndex));
  const arrows = usable.map((edge) => ({ from: nodeIndex.get(edge.from) ?? 0, to: nodeIndex.get(edge.to) ?? 0 }));
  const isOneToken = holdsOneToken(definition);
  const forest = isOneToken ? withoutLoops(ids.length, arrows) : findLoops(ids.length, arrows);
  const leadsBack = isOneToken
    ? leadingBack(ids.length, arrows, usable)
    : forest.backOf.map((loop) => loop !== undefined);
  const { loops, place } = orderLoops(forest, ids);
  const placed = (loop: number | undefined): number | undefined => (loop === undefined ? undefined : place[loop]);
  const keys = createKeys(usable, nodeIndex);

  const outgoing = ids.map((): GraphEdge[] => []);
  const incoming = ids.map((): GraphEdge[] => []);
  const edges = usable.map((edge, index): GraphEdge => {
    const arrow = arrows[index] ?? { from: 0, to: 0 };
    const always = edge.always ?? false;
    const linked: GraphEdge = Object.freeze({
      index,
      key: keys[index] ?? '',
      ...arrow,
      on: edge.on ?? (always ? 'any' : 'completed'),
      condition: edge.condition,
      choice: edge.choice,
      label: edge.label ?? edge.to,
      weight: edge.weight ?? 0,
      always,
      leadsBack: leadsBack[index] ?? false,
      backOf: placed(forest.backOf[index]),
      exitOf: placed(forest.exitOf[index]),
    });
    outgoing[arrow.from]?.push(linked);
    incoming[arrow.to]?.push(linked);
    return linked;
  });
  const nodes = ids.map((id, index): LinkedNode => ({
    id,
    definition: definitions[index],
    loops: (forest.loopsOf[index] ?? []).map((loop) => place[loop] as number),
    outgoing: outgoing[index]?.sort((a, b) => b.weight - a.weight) ?? [],
    incoming: incoming[index] ?? [],
  }));
  const { isTooDeep } = forest;
  return { nodes, nodeIndex, edges, loops, edgePlaces: usable.map(edgePlace), isTooDeep, holdsOneToken: isOneToken };
}
