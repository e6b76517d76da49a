/**
 * Finds the loops of a graph and how they nest (G4). The result depends only on the nodes and edges, not on the order of their declaration.
 */
import { START, type GraphStructure } from '../graph.ts';

/** An edge, as far as loops need it: the indices of its two nodes. */
export interface Arrow {
  readonly from: number;
  readonly to: number;
}

export interface FoundLoop {
  /** Indices of all nodes of the loop, ascending. */
  readonly nodes: readonly number[];
  /** Nodes of the loop that an edge from outside leads to, ascending. */
  readonly heads: readonly number[];
  /** Index of the loop around this one. */
  readonly parent: number | undefined;
  readonly depth: number;
}

export interface LoopForest {
  /** Outer loops come before the loops inside them. */
  readonly loops: readonly FoundLoop[];
  /** For each node, the indices of its loops, outermost first. */
  readonly loopsOf: readonly (readonly number[])[];
  /** For each back edge, the index of its loop. */
  readonly backOf: readonly (number | undefined)[];
  /** For each other edge, the index of the outermost loop that it leaves. */
  readonly exitOf: readonly (number | undefined)[];
  /** Whether loops nest deeper than {@link maxLoopDepth}; the deeper ones are omitted. */
  readonly isTooDeep: boolean;
}

/** The deepest nesting of loops. Each level costs one pass over its nodes. */
export const maxLoopDepth = 200;

interface Region {
  readonly nodes: readonly number[];
  readonly parent: number | undefined;
}

/**
 * Finds the loops: the strongly connected components, then those of each component without its back edges, and so on. O(depth × (nodes +
 * edges)).
 */
export function findLoops(nodeCount: number, edges: readonly Arrow[]): LoopForest {
  const outgoing = Array.from({ length: nodeCount }, (): number[] => []);
  const incoming = Array.from({ length: nodeCount }, (): number[] => []);
  for (const [index, edge] of edges.entries()) {
    outgoing[edge.from]?.push(index);
    incoming[edge.to]?.push(index);
  }
  const loops: FoundLoop[] = [];
  const loopsOf = Array.from({ length: nodeCount }, (): number[] => []);
  const backOf = Array.from<number | undefined>({ length: edges.length });
  const innermost = (node: number): number | undefined => loopsOf[node]?.at(-1);
  const search = new ComponentSearch(nodeCount, edges, outgoing);
  let isTooDeep = false;

  const regions: Region[] = [{ nodes: Array.from({ length: nodeCount }, (_, node) => node), parent: undefined }];
  for (let region = regions.pop(); region !== undefined; region = regions.pop()) {
    const { parent } = region;
    const isInside = (edge: number): boolean =>
      backOf[edge] === undefined && innermost(edges[edge]?.to ?? 0) === parent;
    for (const members of search.components(region.nodes, isInside)) {
      const depth = parent === undefined ? 1 : (loops[parent]?.depth ?? 0) + 1;
      if (depth > maxLoopDepth) {
        isTooDeep = true;
        continue;
      }
      const position = loops.length;
      for (const node of members) loopsOf[node]?.push(position);
      const isMember = (node: number): boolean => innermost(node) === position;
      const heads = members.filter((node) => incoming[node]?.some((edge) => !isMember(edges[edge]?.from ?? 0)));
      loops.push({ nodes: members, heads, parent, depth });
      for (const head of heads) {
        for (const edge of incoming[head] ?? []) if (isMember(edges[edge]?.from ?? 0)) backOf[edge] = position;
      }
      // A loop without heads cannot be entered. Its nodes are reported as unreachable, and it has no back edges to remove.
      if (heads.length > 0) regions.push({ nodes: members, parent: position });
    }
  }
  const exitOf = edges.map((edge, index) =>
    backOf[index] === undefined ? outermostLoopLeft(loopsOf, edge) : undefined,
  );
  return { loops, loopsOf, backOf, exitOf, isTooDeep };
}

function outermostLoopLeft(loopsOf: readonly (readonly number[])[], edge: Arrow): number | undefined {
  const target = loopsOf[edge.to] ?? [];
  // Loops are listed outermost first, so the first loop that the two nodes do not share is the outermost one that the edge leaves.
  return loopsOf[edge.from]?.find((loop, depth) => target[depth] !== loop);
}

/** Tarjan's algorithm with an explicit stack, because a chain of 10,000 nodes would overflow the call stack. */
class ComponentSearch {
  readonly #edges: readonly Arrow[];
  readonly #outgoing: readonly (readonly number[])[];
  /** Order of discovery from 1; 0: not seen yet; -1: in a finished component. */
  readonly #order: Int32Array;
  readonly #low: Int32Array;
  readonly #cursor: Int32Array;

  constructor(nodeCount: number, edges: readonly Arrow[], outgoing: readonly (readonly number[])[]) {
    this.#edges = edges;
    this.#outgoing = outgoing;
    this.#order = new Int32Array(nodeCount);
    this.#low = new Int32Array(nodeCount);
    this.#cursor = new Int32Array(nodeCount);
  }

  /** The components with a cycle among these nodes, over the edges for which `counts` is true. Each is sorted ascending. */
  components(nodes: readonly number[], counts: (edge: number) => boolean): readonly (readonly number[])[] {
    for (const node of nodes) {
      this.#order[node] = 0;
      this.#cursor[node] = 0;
    }
    const found: number[][] = [];
    const open: number[] = [];
    let discovered = 0;
    const discover = (node: number): void => {
      discovered += 1;
      this.#order[node] = discovered;
      this.#low[node] = discovered;
      open.push(node);
    };
    for (const root of nodes) {
      if (this.#order[root] !== 0) continue;
      discover(root);
      const path = [root];
      for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
        const next = this.#nextTarget(node, counts);
        if (next === undefined) {
          path.pop();
          const above = path.at(-1);
          if (above !== undefined) this.#lower(above, this.#low[node] as number);
          if (this.#low[node] === this.#order[node]) this.#close(node, open, found, counts);
        } else if (this.#order[next] === 0) {
          discover(next);
          path.push(next);
        } else if ((this.#order[next] as number) > 0) {
          this.#lower(node, this.#order[next] as number);
        }
      }
    }
    return found;
  }

  #nextTarget(node: number, counts: (edge: number) => boolean): number | undefined {
    const edges = this.#outgoing[node] ?? [];
    for (let cursor = this.#cursor[node] as number; cursor < edges.length; cursor += 1) {
      const edge = edges[cursor] as number;
      if (!counts(edge)) continue;
      this.#cursor[node] = cursor + 1;
      return this.#edges[edge]?.to;
    }
    this.#cursor[node] = edges.length;
    return undefined;
  }

  #lower(node: number, low: number): void {
    if (low < (this.#low[node] as number)) this.#low[node] = low;
  }

  #close(root: number, open: number[], found: number[][], counts: (edge: number) => boolean): void {
    const members = open.splice(open.lastIndexOf(root));
    for (const node of members) this.#order[node] = -1;
    const isLoop = members.length > 1 || this.#outgoing[root]?.some((e) => counts(e) && this.#edges[e]?.to === root);
    if (isLoop) found.push(members.sort((a, b) => a - b));
  }
}

// Graphs in which no two nodes are ever due at once: whoever settles leads on to one node at most.

/** What decides it, of a definition or of a stored structure. */
interface Routed {
  readonly policies?: { readonly routing?: unknown };
  readonly nodes: readonly { readonly join?: unknown }[];
  readonly edges: readonly { readonly always?: unknown }[];
}

/**
 * Whether one edge at most fires out of every node, START included, and a node starts with the first edge that leads to it. A run of
 * such a graph is one token on its way from node to node: nothing has to be waited for, so its loops need not be known.
 */
export function holdsOneToken({ policies, nodes, edges }: Routed): boolean {
  return (
    policies?.routing === 'first' &&
    edges.every(({ always }) => always !== true) &&
    nodes.every(({ join = 'some' }) => join === 'some')
  );
}

/**
 * For each edge, whether it leads back: to a node on the way on which a walk came to its source, which goes as deep as it can before it
 * turns. Without these edges there is no cycle. Where every cycle is entered at one node, they are the edges into that node, whatever
 * the order of the walk. Walks begin at node 0. O(nodes + edges).
 * @param edges - in the order in which a walk takes those of one node
 */
export function edgesBack(nodeCount: number, edges: readonly Arrow[]): readonly boolean[] {
  const outgoing = Array.from({ length: nodeCount }, (): number[] => []);
  for (const [index, { from }] of edges.entries()) outgoing[from]?.push(index);
  const isBack = edges.map(() => false);
  const isOnWay = new Uint8Array(nodeCount);
  const isSeen = new Uint8Array(nodeCount);
  const taken = new Int32Array(nodeCount);
  for (let root = 0; root < nodeCount; root += 1) {
    // A list, not recursion: a chain of 10,000 nodes must not overflow the machine's stack.
    const way = isSeen[root] === 1 ? [] : [root];
    for (let node = way.at(-1); node !== undefined; node = way.at(-1)) {
      isSeen[node] = isOnWay[node] = 1;
      const edge = outgoing[node]?.[taken[node] as number];
      if (edge === undefined) {
        isOnWay[node] = 0;
        way.pop();
        continue;
      }
      taken[node] = (taken[node] as number) + 1;
      const to = edges[edge]?.to as number;
      isBack[edge] = isOnWay[to] === 1;
      if (isSeen[to] === 0) way.push(to);
    }
  }
  return isBack;
}

// Groups nodes into waves: nodes that could start together if each wave waited for all earlier ones. For display and progress only; runs do
// not wait for waves.

/** The wave of each node, counted from 0: the length of the longest path to it, without edges that lead back. O(nodes + edges). */
export function waveNumbers(nodeCount: number, edges: readonly Arrow[]): readonly number[] {
  const isBack = edgesBack(nodeCount, edges);
  const forward = edges.filter((_, index) => isBack[index] === false);
  const outgoing = Array.from({ length: nodeCount }, (): number[] => []);
  const pending = Array.from({ length: nodeCount }, () => 0);
  for (const { from, to } of forward) {
    outgoing[from]?.push(to);
    pending[to] = (pending[to] ?? 0) + 1;
  }
  const waves = Array.from({ length: nodeCount }, () => 0);
  const order = waves.flatMap((_, node) => (pending[node] === 0 ? [node] : []));
  for (let next = 0; next < order.length; next += 1) {
    const node = order[next] as number;
    for (const to of outgoing[node] ?? []) {
      waves[to] = Math.max(waves[to] ?? 0, (waves[node] ?? 0) + 1);
      pending[to] = (pending[to] ?? 0) - 1;
      if (pending[to] === 0) order.push(to);
    }
  }
  return waves;
}

/**
 * The waves of a stored graph: lists of node ids, each in the order of the structure.
 * @param isVisible - whether a node appears in the lists
 */
export function wavesOf(
  structure: GraphStructure,
  isVisible: (node: Readonly<Record<string, unknown>>) => boolean,
): readonly (readonly string[])[] {
  // Nodes that are not shown, the start included, take part too: a loop may be entered from them.
  const ids = [START, ...structure.nodes.map((node) => String(node['id']))];
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const edges = structure.edges.flatMap((edge): Arrow[] => {
    const from = indexOf.get(String(edge['from']));
    const to = indexOf.get(String(edge['to']));
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  const waves = waveNumbers(ids.length, edges);
  const visible = structure.nodes.flatMap((node, index) => (isVisible(node) ? [index + 1] : []));
  return groupByWave(
    visible.map((index) => ids[index] ?? ''),
    visible.map((index) => waves[index] ?? 0),
  );
}

/** Groups ids by wave number; empty waves are omitted. */
export function groupByWave(ids: readonly string[], waves: readonly number[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  for (const [index, id] of ids.entries()) (groups[waves[index] ?? 0] ??= []).push(id);
  return groups.filter((group) => group !== undefined);
}
