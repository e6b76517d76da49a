/**
 * Firings that have to wait: that of a back edge until the round is over, that of an edge leaving a loop until the loop is done (G4). A
 * later visit of the source replaces its record, so the record lists the firings of earlier visits that are still held.
 */
import type { Graph, GraphEdge, GraphNode } from '../../graph/graph.ts';
import type { NodeRecord } from '../../state/tree.ts';
import type { SettledFields } from './plan-step.ts';
import type { PlanRounds } from './rounds.ts';

export class HeldFirings {
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
    const heldKeys = new Map(held);
    for (const edge of node.outgoing) {
      if (!mayWait(edge)) continue;
      this.#firedAt[edge.index] = heldKeys.get(edge.key) ?? (firedKeys.has(edge.key) ? epoch : -1);
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
  heldBy(node: GraphNode, fires: (edge: GraphEdge) => boolean): SettledFields['held'] {
    const held: [string, number][] = [];
    for (const edge of node.outgoing) {
      // An `always` edge fires in every round, the last included, so nothing of it has to be kept.
      if (edge.always || !mayWait(edge)) continue;
      const before = this.#firedAt[edge.index] as number;
      const isOwn = this.#settledAt[node.index] === before;
      const at = !isOwn && this.isInUse(edge) ? before : fires(edge) ? this.#rounds.epoch : -1;
      if (this.#rounds.mustHold(edge, at)) held.push([edge.key, at]);
    }
    return held.length === 0 ? undefined : held;
  }
}

/** Whether an edge leads back or leaves a loop. Every other edge settles with its source. */
export function mayWait({ backOf, exitOf }: GraphEdge): boolean {
  return backOf !== undefined || exitOf !== undefined;
}
