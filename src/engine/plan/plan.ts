/**
 * Decides what may run next in a frame. A plan takes what settled and which edges that fired, and returns what starts (E1). Pure: no
 * clock, no I/O.
 */
import { isFollowUp, type Graph, type GraphEdge, type GraphNode } from '../../graph/graph.ts';
import { type FrameTree, type LoopRecord, nodeRecord } from '../../state/tree.ts';
import type { Plan, PlanState, PlanStep, SettledFields } from './plan-step.ts';
import { RoundsPlan } from './rounds-plan.ts';

// The plan for a graph with a single token: each node that settles leads to at most one node, so the plan is the position of the token.
// Nothing waits for anything, whatever loops there are (G11).

const END_INDEX = 1;

/**
 * The path of the token is divided into laps. A lap begins where the token follows a back edge, so a node settles at most once in a lap. A
 * record stores the lap in which its node settled as its epoch, and a loop record stores the node at which the current lap began. That is
 * enough to find the token in a tree: it is at the target of the edge that fired last in the lap or, if there is none, where the lap began.
 */
export class TokenPlan implements Plan {
  readonly #graph: Graph;
  readonly #visits: Int32Array;
  /** The lap in which each node settled last; -1 if in none. */
  readonly #lapOf: Int32Array;
  /** Nodes whose own condition was false when the token last reached them. */
  readonly #turnedAway = new Set<number>();
  /** Index of the node at which the frame begins; undefined for START. */
  readonly #entry: number | undefined;
  #lap: number;
  /** The node that is due, or has started and not settled. */
  #at: number | undefined;
  /** The node that led there, if that happened in the current lap. If there is no token any more: the node that settled last. */
  #last: number | undefined;
  #isAtEnd = false;
  /** A lap that has begun and is not in the tree yet. */
  #begun: { readonly id: string; readonly record: LoopRecord } | undefined;

  constructor(graph: Graph, frame: FrameTree) {
    this.#graph = graph;
    this.#visits = new Int32Array(graph.nodes.length);
    this.#lapOf = new Int32Array(graph.nodes.length).fill(-1);
    this.#entry = frame.entry === undefined ? undefined : graph.nodeIndex.get(frame.entry);
    this.#lap = frame.epoch ?? 0;
    for (const node of graph.nodes) {
      const record = nodeRecord(frame, node);
      if (record === undefined) continue;
      this.#visits[node.index] = record.visits ?? 1;
      if (record.fired === undefined) this.#at = node.index;
      else this.#lapOf[node.index] = record.epoch ?? 0;
      if (record.status === 'skipped') this.#turnedAway.add(node.index);
    }
    if (this.#at === undefined) this.#find(frame);
  }

  get isDone(): boolean {
    return this.#at === undefined;
  }

  stateOf(node: number): PlanState {
    if (node === this.#at) return 'open';
    if (node === END_INDEX) return this.#isAtEnd ? 'settled' : 'idle';
    if (this.#turnedAway.has(node)) return 'skipped';
    return this.#lapOf[node] === -1 ? 'idle' : 'settled';
  }

  visitOf(node: number): number {
    return this.#visits[node] as number;
  }

  /** A node that the token has reached is not skipped, even if it may not come there again. */
  skippedNodes(): readonly string[] {
    const reached = new Set(this.#at === undefined ? [] : [this.#at]);
    // A set's iteration also visits items that are added meanwhile.
    for (const node of reached) for (const { to } of this.#node(node).outgoing) reached.add(to);
    const { policies } = this.#graph;
    const isSkipped = ({ index, id }: GraphNode): boolean =>
      this.#turnedAway.has(index) || (this.#visits[index] === 0 && !reached.has(index) && !isFollowUp(policies, id));
    return this.#graph.nodes.filter((node) => node.index > END_INDEX && isSkipped(node)).map(({ id }) => id);
  }

  initial(): PlanStep {
    return this.#step();
  }

  settledFields(node: number, fired: readonly GraphEdge[]): SettledFields {
    const keys = this.#beginsBehind(node) ? [] : fired.map(({ key }) => key);
    return { fired: keys, epoch: this.#lap, held: undefined };
  }

  unusedFirings(): undefined {
    return undefined;
  }

  settle(
    node: number,
    fired: readonly GraphEdge[],
    { skipped = false }: { readonly skipped?: boolean } = {},
  ): PlanStep {
    this.#lapOf[node] = this.#lap;
    if (skipped) this.#turnedAway.add(node);
    this.#last = node;
    this.#at = undefined;
    const [edge] = fired;
    if (this.#beginsBehind(node)) this.#comeTo(this.#entry as number, false);
    else if (edge !== undefined) this.#follow(edge);
    return this.#step();
  }

  /** Always true: everything that the token passed led to where it is. */
  isOrdered(): boolean {
    return true;
  }

  isUndecided(node: number, hasBegun: (node: number) => boolean): boolean {
    return node === this.#last && (this.#at === undefined || !hasBegun(this.#at));
  }

  /** Whether the node is START and the frame begins elsewhere. */
  #beginsBehind(node: number): boolean {
    return node === 0 && this.#entry !== undefined;
  }

  /** Finds the token when no visit has recorded anything that has not settled. */
  #find(frame: FrameTree): void {
    if (this.#lapOf[0] === -1) return this.#comeTo(0, false);
    const head = this.#headOf(frame);
    if (head !== undefined && this.#lapOf[head] !== this.#lap) return this.#comeTo(head, false);
    for (const node of this.#graph.nodes) {
      const edge = this.#lapOf[node.index] === this.#lap ? firedEdge(frame, node) : undefined;
      if (edge !== undefined && this.#lapOf[edge.to] !== this.#lap) return this.#follow(edge);
    }
    // In a fork, a repeated decision may lead to a node of the same lap, or nowhere.
    const passed = new Set<number>();
    for (let node = head ?? 0; ;) {
      passed.add(node);
      this.#last = node;
      const edge = firedEdge(frame, this.#node(node));
      if (edge === undefined) return;
      if (passed.has(edge.to)) return this.#follow(edge);
      node = edge.to;
    }
  }

  /** The node at which the current lap began; undefined if that is START, or the graph does not have it any more. */
  #headOf(frame: FrameTree): number | undefined {
    if (this.#lap === 0) return this.#entry;
    const loop = Object.values(frame.loops ?? {}).find(({ since }) => since === this.#lap);
    return loop?.heads[0] === undefined ? undefined : this.#graph.nodeIndex.get(loop.heads[0]);
  }

  #follow(edge: GraphEdge): void {
    this.#last = edge.from;
    this.#comeTo(edge.to, edge.leadsBack);
  }

  #node(index: number): GraphNode {
    return this.#graph.nodes[index] as GraphNode;
  }

  #comeTo(node: number, isBack: boolean): void {
    if (node === END_INDEX) {
      this.#isAtEnd = true;
      return;
    }
    this.#at = node;
    this.#turnedAway.delete(node);
    const visit = (this.#visits[node] as number) + 1;
    this.#visits[node] = visit;
    // If the graph was changed under the run, another edge may lead to a node of the same lap.
    if (!isBack && this.#lapOf[node] !== this.#lap) return;
    this.#lap += 1;
    this.#last = undefined;
    const { id } = this.#node(node);
    this.#begun = { id, record: { since: this.#lap, round: visit, heads: [id] } };
  }

  #step(): PlanStep {
    const at = this.#at;
    const loop = this.#begun;
    this.#begun = undefined;
    return {
      start: at === undefined ? [] : [{ node: at, visit: this.visitOf(at), took: undefined }],
      loops: loop === undefined ? [] : [loop],
      epoch: loop?.record.since,
      cancel: [],
    };
  }
}

/** The edge that a node's last visit fired, if it settled and the graph has that edge. */
function firedEdge(frame: FrameTree, node: GraphNode): GraphEdge | undefined {
  const key = nodeRecord(frame, node)?.fired?.[0];
  return key === undefined ? undefined : node.outgoing.find((edge) => edge.key === key);
}

/**
 * The plan of a run whose graph names a node for after a cancel or its failure: that node once, whatever else is open (E7.4, E7.5). What
 * came before stays as it was.
 */
export class FollowUpPlan implements Plan {
  readonly #node: GraphNode;
  readonly #visit: number;
  readonly #before: Plan;
  readonly #epoch: number;
  #isOpen: boolean;

  constructor(graph: Graph, frame: FrameTree, { node, visit }: { readonly node: string; readonly visit: number }) {
    this.#node = graph.nodes[graph.nodeIndex.get(node) ?? -1] as GraphNode;
    this.#visit = visit;
    this.#before = createPlan(graph, frame);
    this.#epoch = frame.epoch ?? 0;
    this.#isOpen = nodeRecord(frame, this.#node)?.fired === undefined;
  }

  get isDone(): boolean {
    return !this.#isOpen;
  }

  stateOf(node: number): PlanState {
    if (node !== this.#node.index) return this.#before.stateOf(node);
    return this.#isOpen ? 'open' : 'settled';
  }

  visitOf(node: number): number {
    return node === this.#node.index ? this.#visit : this.#before.visitOf(node);
  }

  skippedNodes(): readonly string[] {
    return this.#before.skippedNodes();
  }

  initial(): PlanStep {
    const start = this.#isOpen ? [{ node: this.#node.index, visit: this.#visit, took: undefined }] : [];
    return { start, loops: [], epoch: undefined, cancel: [] };
  }

  settledFields(): SettledFields {
    return { fired: [], epoch: this.#epoch, held: undefined };
  }

  unusedFirings(): undefined {
    return undefined;
  }

  settle(): PlanStep {
    this.#isOpen = false;
    return this.initial();
  }

  /** Always true: all that was written before comes before it. */
  isOrdered(): boolean {
    return true;
  }

  isUndecided(): boolean {
    return false;
  }
}

/**
 * Makes the plan of a frame from its tree. {@link Plan.settle} keeps it up to date; a plan made again from the tree is the same at any
 * moment. O(nodes + edges).
 */
export function createPlan(graph: Graph, frame: FrameTree): Plan {
  return graph.holdsOneToken ? new TokenPlan(graph, frame) : new RoundsPlan(graph, frame);
}
