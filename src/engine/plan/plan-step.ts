/** What is asked of a plan, and what it says: what may start, and what is to be recorded (E1, G3, G4). */
import type { GraphEdge } from '../../graph/graph.ts';
import type { LoopRecord } from '../../state/tree.ts';

/** An activation that may run now. */
export interface PlanStart {
  readonly node: number;
  /** Counted from 1; activations skipped by their `when` count too. */
  readonly visit: number;
  /** For a `first` join: the edges that started it, as [source id, edge key]. To be written to the record. */
  readonly took: readonly (readonly [string, string])[] | undefined;
}

/** What follows from a settle: activations to start, and records to write. */
export interface PlanStep {
  readonly start: readonly PlanStart[];
  /** Loop records that changed, to be written to `FrameTree.loops`; undefined means delete. */
  readonly loops: readonly { readonly id: string; readonly record: LoopRecord | undefined }[];
  /** The frame's new epoch, if it changed. */
  readonly epoch: number | undefined;
  /**
   * Open activations that a `first` join with `cancelRest` no longer needs. Settle each as cancelled, firing nothing. Read this after
   * `start`: an activation that became due only now is in both lists, and gets its record without being run.
   */
  readonly cancel: readonly number[];
}

/** The plan's fields in the record of a visit that settles. */
export interface SettledFields {
  readonly fired: readonly string[];
  readonly epoch: number;
  readonly held: readonly (readonly [string, number])[] | undefined;
}

/** The state of a node in the current round. */
export type PlanState = 'idle' | 'open' | 'settled' | 'skipped';

/** The plan of one frame. Nodes are named by their position in the graph. */
export interface Plan {
  /** Whether nothing is started and unsettled, and nothing can start. */
  readonly isDone: boolean;
  /** Where a node is in the current round of its loops. */
  stateOf(node: number): PlanState;
  /** The number of the last visit that was started. */
  visitOf(node: number): number;
  /** Ids of the nodes that are skipped: as far as the plan can see they are not come to, or their own condition turned them away. */
  skippedNodes(): readonly string[];
  /** All activations that may run and are not settled, new ones and those found open. For an empty frame: START alone. */
  initial(): PlanStep;
  /** The fields to put in the record of a visit that settles and fires these edges. `always` edges are added. */
  settledFields(node: number, fired: readonly GraphEdge[]): SettledFields;
  /** What every record of the node must keep while a visit is open: firings of earlier visits that are not used yet. */
  heldBy(node: number): SettledFields['held'];
  /**
   * Settles a visit, firing exactly these edges and the `always` ones, and returns what may start because of it.
   * Call {@link settledFields} before. `skipped`: the node's `when` was false.
   */
  settle(node: number, fired: readonly GraphEdge[], options?: { readonly skipped?: boolean }): PlanStep;
  /** Whether a write by the visit of `writer` that settled at that epoch comes before `node`'s current visit (E5). */
  isOrdered(writer: { readonly node: string; readonly epoch: number }, node: number): boolean;
  /**
   * Whether nothing has come yet of the edges that the node's last visit fired, so that others may fire in their place (H2).
   * @param hasBegun - whether the due visit of a node has left anything
   */
  isUndecided(node: number, hasBegun: (node: number) => boolean): boolean;
}
