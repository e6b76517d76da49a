/** The plan for any graph: joins wait for their edges, and loops run in rounds (G3, G4). O(edges touched) for each settle. */
import { isFollowUp, type Graph, type GraphEdge, type GraphNode } from '../../graph/graph.ts';
import { type NodeRecord, type FrameTree, nodeRecord } from '../../state/tree.ts';
import type { SettledFields, Plan, PlanState, PlanStep } from './plan-step.ts';
import { PlanRounds } from './rounds.ts';
import { PlanJoins } from './joins.ts';

// Firings that have to wait: that of a back edge until the round is over, that of an edge leaving a loop until the loop is done (G4). A
// later visit of the source replaces its record, so the record lists the firings of earlier visits that are still pending.

class OpenFirings {
  readonly #rounds: PlanRounds;
  /** For each edge, the epoch of its first firing that is still in use; -1 if there is none. */
  readonly #firedAt: Int32Array;
  /** The epoch at which each node settled in the current round; -1 if it has not. */
  readonly #settledAt: Int32Array;

  constructor(graph: Graph, rounds: PlanRounds) {
    this.#rounds = rounds;
    this.#firedAt = new Int32Array(graph.edges.length).fill(-1);
    this.#settledAt = new Int32Array(graph.nodes.length).fill(-1);
  }

  restore(node: GraphNode, { fired, held, epoch = 0 }: NodeRecord): void {
    if (held === undefined && fired === undefined) return;
    const firedKeys = new Set(fired);
    const unusedKeys = new Map(held);
    for (const edge of node.outgoing) {
      if (!mayWait(edge)) continue;
      this.#firedAt[edge.index] = unusedKeys.get(edge.key) ?? (firedKeys.has(edge.key) ? epoch : -1);
    }
  }

  /** Notes that a node settled at this epoch; -1 if a round was opened in which it has not. */
  settle(node: number, epoch: number): void {
    this.#settledAt[node] = epoch;
  }

  fire(edge: GraphEdge): void {
    if (edge.always || !this.isInUse(edge)) this.#firedAt[edge.index] = this.#rounds.epoch;
  }

  /** Whether a firing of the edge is still in use. */
  isInUse(edge: GraphEdge): boolean {
    return this.#rounds.isInUse(edge, this.#firedAt[edge.index] as number);
  }

  /**
   * The firings that a node's record must keep if its visit fires these edges. What the settled visit itself fired does not count if that
   * is decided again.
   */
  unusedOf(node: GraphNode, fires: (edge: GraphEdge) => boolean): SettledFields['held'] {
    const unused: [string, number][] = [];
    for (const edge of node.outgoing) {
      // An `always` edge fires in every round, the last included, so nothing of it has to be recorded.
      if (edge.always || !mayWait(edge)) continue;
      const before = this.#firedAt[edge.index] as number;
      const isOwn = this.#settledAt[node.index] === before;
      const at = !isOwn && this.isInUse(edge) ? before : fires(edge) ? this.#rounds.epoch : -1;
      if (this.#rounds.mustHold(edge, at)) unused.push([edge.key, at]);
    }
    return unused.length === 0 ? undefined : unused;
  }
}

/** Whether an edge leads back or leaves a loop. Every other edge settles with its source. */
function mayWait({ backOf, exitOf }: GraphEdge): boolean {
  return backOf !== undefined || exitOf !== undefined;
}

const END_INDEX = 1;

/** Returns a test for the edges that fire: these, and `always` edges. */
function firing(fired: readonly GraphEdge[]): (edge: GraphEdge) => boolean {
  // A set pays off only for many edges; most nodes fire one.
  const chosen = fired.length > 8 ? new Set(fired) : undefined;
  return (edge) => edge.always || (chosen === undefined ? fired.includes(edge) : chosen.has(edge));
}

/** The plan. Dead edges and skips exist only here: they are computed and never stored (C1). */
export class RoundsPlan implements Plan {
  readonly #graph: Graph;
  readonly #rounds: PlanRounds;
  readonly #joins: PlanJoins;
  readonly #firings: OpenFirings;
  /** Index of the node at which the frame begins; undefined for START. */
  readonly #entry: number | undefined;
  readonly #state: PlanState[];
  readonly #visits: number[];
  readonly #cancelling = new Set<number>();
  #openCount = 0;
  /** The epoch that the tree records. */
  #knownEpoch: number;

  // Results of the current step so far.
  #arrived: [GraphEdge, boolean][] = [];
  #nextArrived = 0;
  #started: number[] = [];
  #cancelled: number[] = [];

  /** Rebuilds the counts from a frame's tree. O(nodes + edges). */
  constructor(graph: Graph, frame: FrameTree) {
    this.#graph = graph;
    this.#rounds = new PlanRounds(graph, frame);
    this.#joins = new PlanJoins(graph, frame);
    this.#firings = new OpenFirings(graph, this.#rounds);
    this.#entry = frame.entry === undefined ? undefined : (graph.nodeIndex.get(frame.entry) ?? 0);
    this.#knownEpoch = this.#rounds.epoch;
    this.#state = graph.nodes.map(() => 'idle');
    this.#visits = graph.nodes.map(() => 0);
    for (const edge of graph.edges) this.#unsettle(edge);
    this.#restore(frame);
  }

  get isDone(): boolean {
    return this.#openCount === 0;
  }

  stateOf(node: number): PlanState {
    return this.#state[node] ?? 'idle';
  }

  visitOf(node: number): number {
    return this.#visits[node] as number;
  }

  skippedNodes(): readonly string[] {
    const { policies, nodes } = this.#graph;
    return nodes
      .filter(({ index, id }) => index !== END_INDEX && !isFollowUp(policies, id) && this.#state[index] === 'skipped')
      .map((node) => node.id);
  }

  initial(): PlanStep {
    this.#started = [];
    this.#cancelled = [];
    this.#cancelling.clear();
    for (const node of this.#graph.nodes) {
      if (this.#state[node.index] !== 'open') continue;
      this.#started.push(node.index);
      if (this.#isUnneeded(node)) this.#cancelled.push(node.index);
    }
    return this.#step();
  }

  settledFields(node: number, fired: readonly GraphEdge[]): SettledFields {
    const fires = this.#firing(node, fired);
    const keys = this.#node(node)
      .outgoing.filter(fires)
      .map((edge) => edge.key);
    return { fired: keys, epoch: this.#rounds.epoch, held: this.#firings.unusedOf(this.#node(node), fires) };
  }

  unusedFirings(node: number): SettledFields['held'] {
    return this.#firings.unusedOf(this.#node(node), () => false);
  }

  settle(node: number, fired: readonly GraphEdge[], options: { readonly skipped?: boolean } = {}): PlanStep {
    if (this.#state[node] === 'open') this.#openCount -= 1;
    this.#cancelling.delete(node);
    this.#close(node, options.skipped === true ? 'skipped' : 'settled', firing(fired));
    this.#drain();
    return this.#step();
  }

  /**
   * Whether a write by the visit of `writer` that settled at that epoch comes before `node`'s current visit (E5): it happened in an
   * earlier round of the innermost loop common to both, or it led to that visit over edges that fired and were taken. To its
   * outside a loop is one node.
   */
  isOrdered(writer: { readonly node: string; readonly epoch: number }, node: number): boolean {
    const index = this.#graph.nodeIndex.get(writer.node);
    if (index === undefined || index === node) return true;
    const common = this.#rounds.commonLoop(index, node);
    if (common !== undefined && this.#rounds.since(common) > writer.epoch) return true;
    const view: PlanView = {
      taken: (target) => this.#joins.taken(this.#node(target)),
      round: (loop) => this.#rounds.roundOf(loop),
      hasFired: (edge) => this.#joins.hasFired(edge),
    };
    return isAfter(this.#graph, view, index, node);
  }

  isUndecided(node: number, hasBegun: (node: number) => boolean): boolean {
    const isUnstarted = (to: number): boolean => {
      const state = this.stateOf(to);
      // END may have been reached, but nothing starts there.
      return state === 'settled' ? to === END_INDEX : state !== 'open' || !hasBegun(to);
    };
    // Whether something after a loop, or after a loop around it, has started, so that the loop cannot go round again. For a back edge, what
    // counts is the visit that it would start: if that round had been opened, the edge's source would not be settled any more.
    const isLoopLeft = (loop: number | undefined): boolean =>
      loop !== undefined &&
      (this.#graph.edges.some(({ exitOf, to }) => exitOf === loop && !isUnstarted(to)) ||
        isLoopLeft(this.#rounds.loop(loop).parent));
    return (
      this.stateOf(node) === 'settled' &&
      this.#node(node).outgoing.every(({ to, backOf }) =>
        backOf === undefined ? isUnstarted(to) : !isLoopLeft(backOf),
      )
    );
  }

  /** What comes before the entry fires nothing, not even `always` edges. */
  #firing(node: number, fired: readonly GraphEdge[]): (edge: GraphEdge) => boolean {
    return this.#joins.isBeforeEntry(node) ? () => false : firing(fired);
  }

  #isInFirstRound(index: number): boolean {
    const loop = this.#node(index).loops.at(-1);
    return loop === undefined || this.#rounds.since(loop) === 0;
  }

  #node(index: number): GraphNode {
    return this.#graph.nodes[index] as GraphNode;
  }

  /** Opens an edge for a round: its target waits for it. Back edges settle nothing. */
  #unsettle(edge: GraphEdge): void {
    if (edge.backOf !== undefined) return;
    this.#joins.expect(edge);
    this.#rounds.expectEntry(edge);
  }

  #restore(frame: FrameTree): void {
    for (const node of this.#graph.nodes) {
      const record = nodeRecord(frame, node);
      if (record === undefined) continue;
      this.#visits[node.index] = record.visits ?? 1;
      this.#firings.restore(node, record);
      if (record.fired !== undefined) continue;
      this.#state[node.index] = 'open';
      this.#openCount += 1;
      this.#joins.restoreTook(node, record);
    }
    for (const node of this.#graph.nodes) {
      const record = nodeRecord(frame, node);
      if (record?.fired === undefined || !this.#rounds.isCurrent(node, record.epoch ?? 0)) continue;
      this.#joins.restoreTook(node, record);
      const fired = new Set(record.fired);
      this.#close(node.index, record.status === 'skipped' ? 'skipped' : 'settled', (edge) => fired.has(edge.key));
      this.#firings.settle(node.index, record.epoch ?? 0);
    }
    for (const { head, isStarted } of this.#rounds.restoredHeads()) {
      if (this.#state[head] !== 'idle') continue;
      if (isStarted) this.#start(head);
      else this.#skip(head);
    }
    this.#decide(0);
    this.#drain();
  }

  /** Ends a node for this round. Its edges settle, or are pending until their loop is done. */
  #close(node: number, state: 'settled' | 'skipped', fires: (edge: GraphEdge) => boolean): void {
    this.#state[node] = state;
    this.#firings.settle(node, this.#rounds.epoch);
    const isBeforeEntry = this.#joins.isBeforeEntry(node);
    for (const edge of this.#node(node).outgoing) {
      const isFiring = !isBeforeEntry && fires(edge);
      if (!mayWait(edge)) this.#arrived.push([edge, isFiring]);
      else if (isFiring) this.#firings.fire(edge);
    }
    this.#rounds.countNode(node);
  }

  #skip(node: number): void {
    this.#close(node, 'skipped', (edge) => edge.always && edge.backOf === undefined);
  }

  /** Processes arrived edges until nothing follows. It uses a list, not recursion, because skips may run down a long chain. */
  #drain(): void {
    for (;;) {
      const arrived = this.#arrived[this.#nextArrived];
      if (arrived !== undefined) {
        this.#nextArrived += 1;
        const [edge, isFiring] = arrived;
        this.#joins.settle(edge, isFiring);
        this.#rounds.countEntry(edge);
        this.#decide(edge.to);
        continue;
      }
      this.#arrived.length = 0;
      this.#nextArrived = 0;
      const ended = this.#rounds.takeEnded();
      if (ended === undefined) return;
      this.#endRound(ended);
    }
  }

  #decide(index: number): void {
    if (this.#state[index] !== 'idle') return;
    const isFirst = index === 0 || (index === this.#entry && this.#isInFirstRound(index));
    const decision = isFirst ? 'start' : this.#joins.decide(this.#node(index));
    if (decision === 'start') this.#start(index);
    else if (decision === 'skip') this.#skip(index);
  }

  #start(index: number): void {
    if (index === END_INDEX) {
      this.#state[index] = 'settled';
      return;
    }
    const node = this.#node(index);
    this.#state[index] = 'open';
    this.#openCount += 1;
    this.#visits[index] = (this.#visits[index] as number) + 1;
    this.#started.push(index);
    if (this.#isUnneeded(node)) this.#cancelled.push(index);
    if (typeof node.join !== 'object' || node.join.cancelRest !== true) return;
    for (const edge of node.incoming) {
      const isLate = edge.backOf === undefined && !this.#joins.isSettled(edge);
      if (isLate && this.#state[edge.from] === 'open') this.#cancelled.push(edge.from);
    }
  }

  /** Whether a `first` join that has started already was to cancel this source. */
  #isUnneeded(node: GraphNode): boolean {
    return node.outgoing.some((edge) => {
      if (edge.backOf !== undefined || this.#joins.isSettled(edge)) return false;
      const { join } = this.#node(edge.to);
      return typeof join === 'object' && join.cancelRest === true && this.#state[edge.to] !== 'idle';
    });
  }

  #endRound(index: number): void {
    const loop = this.#rounds.loop(index);
    const led = loop.heads.filter((head) =>
      this.#node(head).incoming.some((edge) => edge.backOf === index && this.#firings.isInUse(edge)),
    );
    if (led.length === 0) {
      this.#rounds.finish(index);
      for (const node of loop.nodes) {
        for (const edge of this.#node(node).outgoing) {
          if (edge.exitOf !== index) continue;
          this.#arrived.push([edge, this.#firings.isInUse(edge)]);
        }
      }
      return;
    }
    this.#rounds.open(index, led);
    for (const node of loop.nodes) {
      this.#state[node] = 'idle';
      this.#firings.settle(node, -1);
      this.#joins.reset(node);
    }
    for (const node of loop.nodes) {
      for (const edge of this.#node(node).outgoing) if (this.#rounds.isInner(edge, loop)) this.#unsettle(edge);
    }
    for (const head of loop.heads) {
      if (led.includes(head)) this.#start(head);
      else this.#skip(head);
    }
  }

  /** Collects the results of the step. */
  #step(): PlanStep {
    const cancel: number[] = [];
    for (const node of this.#cancelled) {
      if (this.#cancelling.has(node) || this.#state[node] !== 'open') continue;
      this.#cancelling.add(node);
      cancel.push(node);
    }
    const start = this.#started.map((node) => ({ node, visit: this.visitOf(node), took: this.#joins.tookOf(node) }));
    this.#started = [];
    this.#cancelled = [];
    const { epoch } = this.#rounds;
    const isNew = epoch !== this.#knownEpoch;
    this.#knownEpoch = epoch;
    return { start, loops: this.#rounds.takeChanges(), epoch: isNew ? epoch : undefined, cancel };
  }
}

// Finds out which visits led to which (E5).

/** What the search needs to know about a plan. */
interface PlanView {
  /** The edges that started the node's current visit: they fired, and its join used them. */
  readonly taken: (node: number) => readonly GraphEdge[];
  /** The number of the loop's current round. */
  readonly round: (loop: number) => number;
  /** Whether an edge that is not a back edge has fired in the current round of the loops around it. */
  readonly hasFired: (edge: GraphEdge) => boolean;
}

/**
 * Whether the current visit of `writer` led to the current visit of `node`, over edges that fired and were used. It searches backwards from
 * `node`, inside of the innermost loop that holds both, because nothing comes into a round from outside. A loop that does not hold both
 * counts as one node: everything that ran in it led to what its outgoing edges started.
 */
function isAfter(graph: Graph, plan: PlanView, writer: number, node: number): boolean {
  const loopsOf = (index: number): readonly number[] => graph.nodes[index]?.loops ?? [];
  const levels = loopsOf(writer).filter((loop, depth) => loopsOf(node)[depth] === loop).length;
  const goal = loopsOf(writer)[levels];
  const common = levels === 0 ? undefined : loopsOf(writer)[levels - 1];
  const isGoal = (index: number): boolean =>
    index === writer || (goal !== undefined && loopsOf(index)[levels] === goal);
  const isBeyond = (index: number): boolean => common !== undefined && loopsOf(index)[levels - 1] !== common;

  /** What is still to be examined: a node's current visit, or a whole loop (as -1 - its index). */
  const open = [node];
  const seen = new Set(open);
  const visit = (item: number): void => {
    if (!seen.has(item)) open.push(item);
    seen.add(item);
  };
  for (let cursor = 0; cursor < open.length; cursor += 1) {
    for (const edge of edgesThatLedTo(graph, plan, open[cursor] as number)) {
      if (isGoal(edge.from)) return true;
      if (!isBeyond(edge.from)) visit(edge.exitOf === undefined ? edge.from : -1 - edge.exitOf);
    }
  }
  return false;
}

function edgesThatLedTo(graph: Graph, plan: PlanView, item: number): readonly GraphEdge[] {
  const innermost = item < 0 ? undefined : graph.nodes[item]?.loops.at(-1);
  // Every round but the first was started by the round before it, and so by everything that led into the loop.
  const isLaterHead =
    innermost !== undefined && plan.round(innermost) > 1 && graph.loops[innermost]?.heads.includes(item);
  if (item >= 0 && isLaterHead !== true) return plan.taken(item);
  const loop = graph.loops[innermost ?? -1 - item];
  // Edges to a loop's heads that are not back edges come from outside of the loop.
  return loop?.heads.flatMap((head) => graph.nodes[head]?.incoming.filter(plan.hasFired) ?? []) ?? [];
}
