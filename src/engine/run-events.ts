/** The events of a run: durable ones, one for each checkpoint, and what is told between them. */
import type { StateView } from '../graph/contracts/node-contract.ts';
import type { Change } from '../history/stored/change.ts';

/** A durable event: one checkpoint and what it changed. */
export interface RunEvent {
  readonly type: 'checkpoint';
  readonly runId: string;
  readonly seq: number;
  /** The checkpoint's public id, `KEY.SEQ`. A checkpoint inherited from an ancestor keeps the ancestor's id. */
  readonly checkpointId: string;
  /** Epoch ms; information only. */
  readonly at: number;
  readonly change: Change;
}

/** Sent in place of checkpoints that were pruned: the state at the oldest checkpoint that remains. The events after it follow as usual. */
export interface StateEvent {
  readonly type: 'state';
  readonly runId: string;
  readonly seq: number;
  readonly checkpointId: string;
  readonly state: StateView;
}

/**
 * An event that is sent between durable events and never stored. For `waiting`, `detail` holds the open wait (`waitId`, `wait`); or, if the
 * run waits for an effect that another process began, who may still be running it and until when (`owner`, `until` in epoch ms).
 */
export interface LiveEvent {
  readonly type: 'started' | 'emitted' | 'retrying' | 'waiting' | 'settled';
  readonly runId: string;
  /** Seq of the checkpoint that came before this event. */
  readonly after: number;
  readonly node: readonly string[];
  readonly detail: unknown;
}

/** Any event in the stream of a run. */
export type StreamEvent = RunEvent | StateEvent | LiveEvent;
