/** Tracks the rounds of a frame's loops: what each still waits for, when it was opened, and the records about that (G4). */
import type { Graph, GraphEdge, GraphNode, Loop } from '../../graph/graph.ts';
import type { FrameTree, LoopRecord } from '../../state/tree.ts';

/**
 * For each loop, counts what its round still waits for: its own nodes, the loops directly inside of it, and the edges into it from outside.
 * The frame's epoch grows by one with each round, so an epoch tells whether something happened in the current round.
 */
export class PlanRounds {
  readonly #graph: Graph;
  readonly #waiting: Int32Array;
  /** The epoch at which the loop's round was opened. In its first round that is the epoch of the loop around it. */
  readonly #since: Int32Array;
  readonly #round: Int32Array;
  readonly #depth: Int32Array;
  readonly #changes = new Map<string, LoopRecord | undefined>();
  readonly #ended: number[] = [];
  readonly #restored: { readonly loop: Loop; readonly heads: ReadonlySet<string> }[] = [];
  #epoch: number;

  constructor(graph: Graph, frame: FrameTree) {
    this.#graph = graph;
    this.#epoch = frame.epoch ?? 0;
    const { length } = graph.loops;
    this.#waiting = new Int32Array(length);
    this.#since = new Int32Array(length);
    this.#round = new Int32Array(length);
    this.#depth = new Int32Array(length);
    // Outer loops come first, so a loop finds the values of the one around it.
    for (const loop of graph.loops) {
      const outer = this.#outerSince(loop);
      const stored =
        frame.loops !== undefined && Object.hasOwn(frame.loops, loop.id) ? frame.loops[loop.id] : undefined;
      // A record from before the outer round belongs to a round that is over.
      const record = stored !== undefined && stored.since > outer ? stored : undefined;
      this.#since[loop.index] = record?.since ?? outer;
      this.#round[loop.index] = record?.round ?? 1;
      this.#depth[loop.index] = loop.parent === undefined ? 1 : (this.#depth[loop.parent] as number) + 1;
      if (record !== undefined) this.#restored.push({ loop, heads: new Set(record.heads) });
      this.#expectMembers(loop);
    }
    for (const node of graph.nodes) this.#expectNode(node);
  }

  /** Number of rounds opened in this frame so far. */
  get epoch(): number {
    return this.#epoch;
  }

  loop(index: number): Loop {
    return this.#graph.loops[index] as Loop;
  }

  since(loop: number): number {
    return this.#since[loop] as number;
  }

  roundOf(loop: number): number {
    return this.#round[loop] ?? 1;
  }

  /** Whether something that happened at a node at this epoch belongs to the current round of its loops. */
  isCurrent(node: GraphNode, epoch: number): boolean {
    const loop = node.loops.at(-1);
    return loop === undefined || epoch >= this.since(loop);
  }

  /** The innermost loop that holds both nodes. */
  commonLoop(a: number, b: number): number | undefined {
    const others = this.#graph.nodes[b]?.loops ?? [];
    return this.#graph.nodes[a]?.loops.findLast((loop, depth) => others[depth] === loop);
  }

  /** For each loop past its first round: its heads, and whether the current round started them. */
  *restoredHeads(): Iterable<{ readonly head: number; readonly isStarted: boolean }> {
    for (const { loop, heads } of this.#restored) {
      for (const head of loop.heads) yield { head, isStarted: heads.has(this.#graph.nodes[head]?.id ?? '') };
    }
  }

  /**
   * Whether a firing at this epoch is still in use. For a back edge: it counts for the loop's current round. For an edge that leaves a
   * loop: it counts in every round since the loop was entered.
   */
  isInUse(edge: GraphEdge, at: number): boolean {
    if (at < 0) return false;
    if (edge.backOf !== undefined) return at >= this.since(edge.backOf);
    return edge.exitOf !== undefined && at >= this.#outerSince(this.loop(edge.exitOf));
  }

  /**
   * Whether a record must keep a firing in addition to the edges of its last visit, because the node may be visited again before the firing
   * is used. A back edge of the innermost loop is used by the round that visits the node again, so it need not be recorded.
   */
  mustHold(edge: GraphEdge, at: number): boolean {
    if (!this.isInUse(edge, at)) return false;
    return edge.backOf === undefined || this.#graph.nodes[edge.from]?.loops.at(-1) !== edge.backOf;
  }

  /** Whether an edge settles again in each round of the loop: it stays inside and is not a back edge. */
  isInner(edge: GraphEdge, loop: Loop): boolean {
    if (edge.backOf !== undefined) return false;
    return edge.exitOf === undefined || (this.#depth[edge.exitOf] as number) > (this.#depth[loop.index] as number);
  }

  /** Notes an unsettled edge into a loop, for which the loop's round waits. */
  expectEntry(edge: GraphEdge): void {
    const loop = this.#entered(edge);
    if (loop !== undefined) this.#waiting[loop] = (this.#waiting[loop] as number) + 1;
  }

  countEntry(edge: GraphEdge): void {
    const loop = this.#entered(edge);
    if (loop !== undefined) this.#count(loop);
  }

  /** Notes that a node was settled or skipped. */
  countNode(node: number): void {
    const loop = this.#graph.nodes[node]?.loops.at(-1);
    if (loop !== undefined) this.#count(loop);
  }

  /** A loop whose round has ended and was not returned before; undefined if there is none. */
  takeEnded(): number | undefined {
    return this.#ended.pop();
  }

  /** Marks a loop as done. It then counts as settled in the loop around it. */
  finish(index: number): void {
    const { parent } = this.loop(index);
    if (parent !== undefined) this.#count(parent);
  }

  /** Opens the next round of a loop, started at these heads. Loops inside of it begin again. */
  open(index: number, heads: readonly number[]): void {
    const loop = this.loop(index);
    this.#epoch += 1;
    this.#round[index] = this.roundOf(index) + 1;
    const ids = heads.map((head) => this.#graph.nodes[head]?.id ?? '');
    this.#changes.set(loop.id, { since: this.#epoch, round: this.roundOf(index), heads: ids });
    this.#begin(loop);
    for (const node of loop.nodes) this.#expectNode(this.#graph.nodes[node] as GraphNode);
  }

  /** Loop records that changed since the last call. */
  takeChanges(): readonly { readonly id: string; readonly record: LoopRecord | undefined }[] {
    if (this.#changes.size === 0) return [];
    const changes = [...this.#changes].map(([id, record]) => ({ id, record }));
    this.#changes.clear();
    return changes;
  }

  #begin(outermost: Loop): void {
    const open = [outermost];
    for (let loop = open.pop(); loop !== undefined; loop = open.pop()) {
      this.#since[loop.index] = this.#epoch;
      this.#waiting[loop.index] = 0;
      this.#expectMembers(loop);
      if (loop !== outermost && this.roundOf(loop.index) > 1) {
        this.#round[loop.index] = 1;
        this.#changes.set(loop.id, undefined);
      }
      for (const child of loop.children) open.push(this.loop(child));
    }
  }

  #expectMembers(loop: Loop): void {
    this.#waiting[loop.index] = (this.#waiting[loop.index] as number) + loop.children.length;
  }

  #expectNode(node: GraphNode): void {
    const loop = node.loops.at(-1);
    if (loop !== undefined) this.#waiting[loop] = (this.#waiting[loop] as number) + 1;
  }

  #count(loop: number): void {
    this.#waiting[loop] = (this.#waiting[loop] as number) - 1;
    if (this.#waiting[loop] === 0) this.#ended.push(loop);
  }

  #outerSince(loop: Loop): number {
    return loop.parent === undefined ? 0 : this.since(loop.parent);
  }

  #entered(edge: GraphEdge): number | undefined {
    const target = this.#graph.nodes[edge.to]?.loops ?? [];
    const loop = target.at(-1);
    return this.#graph.nodes[edge.from]?.loops[target.length - 1] === loop ? undefined : loop;
  }
}
