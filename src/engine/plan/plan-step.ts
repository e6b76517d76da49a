/** What a plan says: what may start, and what is to be recorded (E1, G3, G4). */
import type { LoopRecord } from '../../state/tree.ts';

/** An activation that may run now. */
export interface PlanStart {
  readonly node: number;
  /** Counted from 1; activations skipped by their `when` count too. */
  readonly visit: number;
  /** What a `first` join took: [source id, edge key] of the edges that started it. Write it to the record. */
  readonly took: readonly (readonly [string, string])[] | undefined;
}

/** What follows from a settle: start these, write those. */
export interface PlanStep {
  readonly start: readonly PlanStart[];
  /** Loop records that changed: write them to `FrameTree.loops`; undefined: delete it. */
  readonly loops: readonly { readonly id: string; readonly record: LoopRecord | undefined }[];
  /** The frame's epoch, if it changed. */
  readonly epoch: number | undefined;
  /**
   * Open activations that a `first` join with `cancelRest` no longer needs: settle each as cancelled, firing nothing. Read it
   * after `start`: one that was due only now is in both, and gets its record without being run.
   */
  readonly cancel: readonly number[];
}

/** The plan's part of the record of a visit that settles. */
export interface SettledFields {
  readonly fired: readonly string[];
  readonly epoch: number;
  readonly held: readonly (readonly [string, number])[] | undefined;
}

/** Where a node stands in the current round. */
export type PlanState = 'idle' | 'open' | 'settled' | 'skipped';
