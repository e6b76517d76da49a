/** The small readable reason of a checkpoint (C3): one event with parts. */
import type { Amounts } from '../../graph/amounts.ts';

export type ChangeKind =
  /** A run was admitted. */
  | 'start'
  /** An attempt settled; the visit is over. */
  | 'settle'
  /** An attempt failed and will be tried again. */
  | 'retry'
  /** A write or external activation or step is about to start. */
  | 'intent'
  /** An intent was given back unused (SIGTERM). */
  | 'withdraw'
  /** A step's result was recorded. */
  | 'step'
  /** A wait was opened. */
  | 'wait'
  /** A wait was closed: by an answer, a due time, a signal, or the run's end. */
  | 'answer'
  /** A signal came before it was asked for, and is kept. */
  | 'signal'
  /** ctx.save. */
  | 'save'
  /** ctx.retire took earlier calls out of the live state. */
  | 'retire'
  /** ctx.append added items to a list of a composed node. */
  | 'append'
  /** A recorded event that a node told. */
  | 'event'
  /** A recorded outcome of an ancestor was taken over (X2). */
  | 'replay'
  | 'fork'
  /** A failed or cancelled run goes on, or a run goes on under another graph. */
  | 'resume'
  | 'pause'
  | 'cancel'
  /** The run ended. */
  | 'end'
  /** Several checkpoints pruned into one. */
  | 'fold';

export interface ChangePart {
  readonly kind: ChangeKind;
  /** Node ids from the root; child frames and map items included. */
  readonly node?: readonly string[];
  /** Absent: the first. */
  readonly visit?: number;
  /** Visits of the nodes above it, outermost first. Absent: first visits. */
  readonly outer?: readonly number[];
  /** Of a step: after how many saves. Absent: none. */
  readonly saves?: number;
  readonly attempt?: number;
  /** Effect class. Absent from a `settle`: pure. */
  readonly effect?: string;
  readonly status?: string;
  /** Key of a step. */
  readonly step?: string;
  /** Name of a list. */
  readonly list?: string;
  /** Name of a recorded event. */
  readonly name?: string;
  /** Hash of the activation's or step's input. */
  readonly hash?: string;
  /** Channels read, when the node does not declare them. */
  readonly reads?: readonly string[];
  /** Absent from a `settle` of a pure node that ran: less than one. */
  readonly durationMs?: number;
  /** Of a `settle`, `replay` or `step`: what the visit or step has cost, all its attempts together; and where that was recorded that a fork took over. */
  readonly spent?: Amounts;
  readonly spared?: Amounts;
  /** Of a `resume`: the budgets that it set. */
  readonly budget?: Amounts;
  readonly wait?: string;
  /** Who answered, settled or resumed. Of a `retry`: `when`, if the policy's function was asked. */
  readonly by?: string;
  /** For `replay`: where the outcome was recorded. For `fork`: the fork point. */
  readonly from?: { readonly runId: string; readonly seq: number };
  readonly graphHash?: string;
  /** For `start` and `resume`: the library's version, and the W3C trace context of whoever called. */
  readonly version?: string;
  readonly traceparent?: string;
  readonly error?: { readonly code: string; readonly message: string };
  /** For `resume` and `fork`: what differs, human readable. For `event`: the event, as plain JSON. */
  readonly detail?: unknown;
}

export type Change = readonly ChangePart[];
