/** The interface of a frame's plan, which decides what may start and what is recorded for it (E1, G3, G4). */
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

/** The consequences of a settle: activations to start, and records to write. */
export interface PlanStep {
  readonly start: readonly PlanStart[];
  /** Loop records that changed, to be written to `FrameTree.loops`; undefined means delete. */
  readonly loops: readonly { readonly id: string; readonly record: LoopRecord | undefined }[];
  /** The frame's new epoch, if it changed. */
  readonly epoch: number | undefined;
  /**
   * Open activations that a `first` join with `cancelRest` no longer needs. Settle each as cancelled, without firing edges. Handle this
   * list
   * after `start`: an activation that became due just now is in both lists, and gets its record without being run.
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

/** The plan of one frame. Nodes are named by their index in the graph. */
export interface Plan {
  /** Whether nothing is started and unsettled, and nothing can start. */
  readonly isDone: boolean;
  /** The state of a node in the current round of its loops. */
  stateOf(node: number): PlanState;
  /** The number of the last visit that was started. */
  visitOf(node: number): number;
  /** Ids of the skipped nodes: those that the plan knows will not be reached, and those whose `when` was false. */
  skippedNodes(): readonly string[];
  /** All activations that may run and are not settled, both new ones and those found open. For an empty frame only START. */
  initial(): PlanStep;
  /** The fields to put in the record of a visit that settles and fires these edges. `always` edges are added. */
  settledFields(node: number, fired: readonly GraphEdge[]): SettledFields;
  /** Firings of earlier visits that are not used yet. Every record of the node must keep them while a visit is open. */
  unusedFirings(node: number): SettledFields['held'];
  /**
   * Settles a visit that fires exactly these edges and the `always` ones. Returns what may start as a result.
   * Call {@link settledFields} before. `skipped`: the node's `when` was false.
   */
  settle(node: number, fired: readonly GraphEdge[], options?: { readonly skipped?: boolean }): PlanStep;
  /** Whether a write by the visit of `writer` that settled at that epoch comes before `node`'s current visit (E5). */
  isOrdered(writer: { readonly node: string; readonly epoch: number }, node: number): boolean;
  /**
   * Whether nothing has come yet of the edges that the node's last visit fired, so that others may fire in their place (H2).
   * @param hasBegun - whether anything is recorded of the due visit of a node
   */
  isUndecided(node: number, hasBegun: (node: number) => boolean): boolean;
}
