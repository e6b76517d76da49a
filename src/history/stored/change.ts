/** The reason why a checkpoint was made: an event with one or more parts, small and readable (C3). */
import type { Amounts } from '../../graph/amounts.ts';

export type ChangeKind =
  /** A run was admitted. */
  | 'start'
  /** An attempt settled and its visit is over. */
  | 'settle'
  /** An attempt failed and will be tried again. */
  | 'retry'
  /** A write or external activation or step is about to start. */
  | 'intent'
  /** An intent was withdrawn unused, as on SIGTERM. */
  | 'withdraw'
  /** The process that announced an effect, and lost the run then, told (`status`) how it ended, or that it had not begun. */
  | 'told'
  /** A node or step that may have begun in another process (its `attempt`) was begun again: `by` says what allowed it. */
  | 'repeat'
  /** A step's result was recorded. */
  | 'step'
  /** A wait was opened. */
  | 'wait'
  /** A question that nobody has answered was reminded of. */
  | 'remind'
  /** A question that nobody has answered is for others too (`detail.to`). */
  | 'escalate'
  /** A wait was closed: by an answer, a due time, a signal, or the run's end. */
  | 'answer'
  /** A repeated function waits for something else at a place: the wait on record was closed, and an answer to it is not used. */
  | 'changed'
  /** A signal came before any node waited for it, and is pending. */
  | 'signal'
  /** `ctx.save` was called. */
  | 'save'
  /** `ctx.retire` removed earlier calls from the live state. */
  | 'retire'
  /** `ctx.append` added items to a list. */
  | 'append'
  /** A node emitted a recorded event. */
  | 'event'
  /** The recorded outcome of an ancestor was taken over (X2). */
  | 'replay'
  | 'fork'
  /** A failed or cancelled run was resumed, or a run was resumed under another graph. */
  | 'resume'
  | 'pause'
  | 'cancel'
  /** The run fails, and the node that its graph names for that is next. */
  | 'fail'
  /** The run ended. */
  | 'end'
  /** An error that nobody caught arose in code that an attempt had started, when that attempt had ended already. */
  | 'warning'
  /** What a node or a step recorded comes near the limit of a checkpoint (`policies.checkpointBytes`). */
  | 'large'
  /** Pruning combined several checkpoints into this one. */
  | 'fold';

/**
 * The record of a failed attempt, as it is stored (K1d). Node, step and attempt stand in the part around it, the time in its checkpoint.
 * Those who read it get a failure of it (`history/read/failures.ts`).
 */
export interface FailureNote {
  readonly code: string;
  readonly message: string;
  /** Name of the error's class, if it is not `Error`. */
  readonly name?: string;
  readonly stack?: StackNote;
  /** What caused it, outermost first. */
  readonly causes?: readonly CauseNote[];
  /** The worker that made the attempt. */
  readonly worker?: string;
  /** Set if the attempt was a repetition of one that may have begun before. */
  readonly again?: BegunAgain;
}

export interface CauseNote {
  readonly code?: string;
  readonly name?: string;
  readonly message: string;
  readonly stack?: StackNote;
}

/**
 * A stack. What is thrown at one place has the same stack each time, so its frames are stored once by each process that advances the run:
 * later records name the checkpoint.
 */
export interface StackNote {
  readonly id: string;
  /** Innermost first: `place (/app/pay.ts:12:9)`, or `… 3 of libraries` for some that were left out. */
  readonly frames?: readonly string[];
  /** The checkpoint that has the frames, if they are not here. */
  readonly seq?: number;
}

/** Why an effort is begun again that another process may have begun. */
export interface BegunAgain {
  /** The worker that had begun it, if it is known. */
  readonly worker?: string;
  /**
   * What allowed it: its effect class (`default`: nobody declared one), the declaration that it is idempotent, that `reconcile` found that
   * it had not happened, or a person who was asked.
   */
  readonly by: 'default' | 'idempotent' | 'reconcile' | 'person';
}

export interface ChangePart {
  readonly kind: ChangeKind;
  /** Node ids from the root. Names of child runs and keys of map items are included. */
  readonly node?: readonly string[];
  /** Number of the visit. Absent: the first. */
  readonly visit?: number;
  /** Visits of the nodes that contain this one, outermost first. Absent if all are first visits. */
  readonly outer?: readonly number[];
  /** For a step: how many saves came before it. Absent if none. */
  readonly saves?: number;
  /** Which attempt, counted from 1. For `retry`: the attempt to come. */
  readonly attempt?: number;
  /** Effect class. Absent in a `settle` of a pure node. */
  readonly effect?: string;
  /** For `repeat`: nobody declared the effect class; it is the default. */
  readonly isDeclared?: false;
  readonly status?: string;
  /** For `settle` and `replay`: what a node that completed says of its own work, if it did not quite succeed, such as `fail`. */
  readonly verdict?: string;
  /** Key of a step. */
  readonly step?: string;
  /** Name of a list. */
  readonly list?: string;
  /** Name of a recorded event. */
  readonly name?: string;
  /** Hash of the activation's or step's input. */
  readonly hash?: string;
  /** For the answer to a question: hash of the question. */
  readonly asked?: string;
  /** Channels that were read, if the node does not declare its reads. Of a step: those that were not read before it. */
  readonly reads?: readonly string[];
  /** Duration in milliseconds. Absent in the `settle` of a pure node that took less than 1 ms. */
  readonly durationMs?: number;
  /**
   * For `settle`, `replay` and `step`: the cost by unit of all attempts of the visit or step; and (`spared`) what of it a fork took over.
   */
  readonly spent?: Amounts;
  readonly spared?: Amounts;
  /** For `resume`: the budgets that it set. */
  readonly budget?: Amounts;
  readonly wait?: string;
  /** Who started, answered, settled, told, resumed, cancelled or forked. For `retry`: `when` if the function of the policy decided. */
  readonly by?: string;
  /** By which door that came: `cli`, `http`, `mcp`, `chat`, `link`; absent for the library, and for what the run did itself. */
  readonly door?: string;
  /** As what `by` acted: the owner of the store, or a program. */
  readonly as?: 'owner' | 'program';
  /** For an answer by a link: hash of the link. */
  readonly link?: string;
  /** For the end of a wait by a signal: who sent it. */
  readonly sender?: Pick<ChangePart, 'by' | 'door' | 'as'>;
  /** For `answer`: the question asked for the eyes of another person than who answered another one. */
  readonly fourEyes?: true;
  /** For `replay`: where the outcome was recorded. For `fork`: the fork point. */
  readonly from?: { readonly runId: string; readonly seq: number };
  readonly graphHash?: string;
  /** For `start` and `resume`: the graph's version, else the library's, and the caller's W3C trace context. */
  readonly version?: string;
  readonly traceparent?: string;
  /** For `resume`: any code may go on from here. */
  readonly anyVersion?: boolean;
  /** Why an attempt failed: its whole record, or code and message alone where the record is elsewhere or there is none. */
  readonly error?: FailureNote;
  /** For `repeat`: the worker that had begun it, if it is known. */
  readonly worker?: string;
  /** For `repeat`: the idempotency key, which is the same as before. */
  readonly key?: string;
  /** For `resume` and `fork`: what differs, in words. For `event`: the event, as plain JSON. */
  readonly detail?: unknown;
}

export type Change = readonly ChangePart[];
