/** Tracks what each node of a frame waits for in the current round: its incoming edges that have not settled (G3). */
import type { Graph, GraphEdge, GraphNode } from '../../graph/graph.ts';
import type { FrameTree, NodeRecord } from '../../state/tree.ts';

/** Counts the edges into each node, so that evaluating a join does not examine all of them. Back edges are not counted. */
export class PlanJoins {
  readonly #graph: Graph;
  /** The number of unsettled edges into each node. */
  readonly #pending: Int32Array;
  /** The number of edges into each node that settled and fired. */
  readonly #fired: Int32Array;
  /** Whether each edge fired; undefined while it is unsettled. */
  readonly #settled: (boolean | undefined)[];
  /** The edges that a `first` join used when its node started. */
  readonly #took = new Map<number, readonly GraphEdge[]>();
  /** Nodes that come before the node at which the frame began (W6.8). */
  readonly #isBefore: Uint8Array;
  readonly #hasEntry: boolean;

  constructor(graph: Graph, frame: FrameTree) {
    this.#graph = graph;
    this.#pending = new Int32Array(graph.nodes.length);
    this.#fired = new Int32Array(graph.nodes.length);
    this.#settled = graph.edges.map(() => undefined);
    this.#isBefore = new Uint8Array(graph.nodes.length);
    this.#hasEntry = frame.entry !== undefined;
    if (this.#hasEntry) this.#isBefore[0] = 1;
  }

  /** Makes the edge's target wait for it. */
  expect(edge: GraphEdge): void {
    this.#settled[edge.index] = undefined;
    this.#pending[edge.to] = (this.#pending[edge.to] as number) + 1;
  }

  settle(edge: GraphEdge, isFiring: boolean): void {
    this.#settled[edge.index] = isFiring;
    this.#pending[edge.to] = (this.#pending[edge.to] as number) - 1;
    if (isFiring) this.#fired[edge.to] = (this.#fired[edge.to] as number) + 1;
  }

  /** Resets a node for a new round. {@link expect} then adds the edges it waits for. */
  reset(node: number): void {
    this.#fired[node] = 0;
    this.#isBefore[node] = 0;
    this.#took.delete(node);
  }

  isSettled(edge: GraphEdge): boolean {
    return this.#settled[edge.index] !== undefined;
  }

  hasFired(edge: GraphEdge): boolean {
    return this.#settled[edge.index] === true;
  }

  /** Evaluates the join of a node other than START: it starts, is skipped, or waits for more edges (undefined). */
  decide(node: GraphNode): 'start' | 'skip' | undefined {
    const { index, join } = node;
    const fired = this.#fired[index] as number;
    if (typeof join === 'object' && fired >= join.first) {
      this.#took.set(index, node.incoming.filter((edge) => this.hasFired(edge)).slice(0, join.first));
      return 'start';
    }
    if ((this.#pending[index] as number) > 0) return undefined;
    const counted = this.#countedInto(node);
    // A node that can only be reached from before the entry comes before the entry itself.
    if (this.#hasEntry && counted === 0) this.#isBefore[index] = 1;
    else if (join === 'all' ? fired === counted : join === 'some' && fired > 0) return 'start';
    return 'skip';
  }

  /** Whether the node comes before the frame's entry and no round has led back to it. It does not run, and no join waits for it. */
  isBeforeEntry(node: number): boolean {
    return this.#isBefore[node] === 1;
  }

  #countedInto({ incoming }: GraphNode): number {
    let count = 0;
    for (const { backOf, from } of incoming) if (backOf === undefined && !this.isBeforeEntry(from)) count += 1;
    return count;
  }

  /** The edges that started the node's current visit: they fired, and its join used them. */
  taken(node: GraphNode): readonly GraphEdge[] {
    return this.#took.get(node.index) ?? node.incoming.filter((edge) => this.hasFired(edge));
  }

  /** The edges that the node's `first` join used, in the form of its record; undefined for other joins. */
  tookOf(node: number): NodeRecord['took'] {
    return this.#took.get(node)?.map((edge) => [this.#graph.nodes[edge.from]?.id ?? '', edge.key] as const);
  }

  restoreTook(node: GraphNode, { took }: NodeRecord): void {
    if (took === undefined) return;
    const isTaken = (edge: GraphEdge): boolean =>
      took.some(([source, key]) => key === edge.key && source === this.#graph.nodes[edge.from]?.id);
    this.#took.set(node.index, node.incoming.filter(isTaken));
  }
}
