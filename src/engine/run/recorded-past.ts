/** The interface through which a run's parts take over what a fork's ancestors recorded (X2). */
import type { Amounts } from '../../graph/amounts.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Intent, RunTree, StepRecord } from '../../state/tree.ts';
import type { Activation } from './frame-run.ts';
import type { Payer } from './ledger.ts';

/** The last record taken over of a node, or of steps with one name. */
export type TakenRecord = NonNullable<RunTree['replayed']>[string];

/** Something that may have a record in an ancestor: a node's visit, a step of it, or a question. */
export interface Due {
  readonly activation: Activation;
  /** Undefined if it is the node's own visit. */
  readonly stepKey: string | undefined;
  readonly effect: string;
  /** Hash of the step's own input; undefined if its input is that of its activation. */
  readonly givenHash: string | undefined;
  /** Of a question: hash of what is asked. */
  readonly asked?: string | undefined;
  /** Its idempotency key, with the key seed of its run or of an ancestor (X1). */
  keyIn(keySeed: string): string;
}

/** Where something was recorded. */
export interface Recorded {
  readonly run: RunRow;
  readonly seq: number;
  /** Which of the records of its node, or of steps with its name, in that checkpoint, counted from 0. */
  readonly nth: number;
  /** Index among all parts of that checkpoint's change. What settled in one turn shares a checkpoint, and settled in this order. */
  readonly index: number;
  readonly part: ChangePart;
}

/** What an ancestor has for something due: a record of its end or announcement, or records that cannot be read. */
export type Offer = { readonly recorded: Recorded } | { readonly unread: RunRow };

/** What a fork takes over for a step. */
export interface TakenStep {
  /** Key in `replayed` under which it is noted. */
  readonly place: string;
  readonly from: TakenRecord;
  /** The step as it ended there. Or `started` with the original's intent: it may have happened there, and is in doubt here (X3). */
  readonly step: StepRecord;
  /** What the visit that it belongs to had read there. */
  readonly reads?: readonly string[];
}

/** What a fork's original has recorded meanwhile about an effect that was open at the fork point. */
export type OriginalEnd =
  | { readonly kind: 'node'; readonly offer: Offer }
  | { readonly kind: 'step'; readonly taken: TakenStep }
  /** A worker has the original and may still record the end, so the fork stops here. */
  | { readonly kind: 'refused' };

/** The ancestors' records of one run. A run that is not a fork has none. */
export interface RecordedPast {
  /** Whether something is being taken over. */
  readonly isBusy: boolean;
  /** Whether any ancestor recorded this place. */
  hasRecord(path: readonly string[]): boolean;
  /** What a visit cost where it was last recorded. */
  costOf(path: readonly string[], visit: number): Amounts | undefined;
  /** Keys of the visit's recorded steps and answers that a function gets that makes those calls again alike. */
  callsOf(activation: Activation): readonly string[];
  /** Whether an ancestor recorded the end of this step. */
  hasCall(activation: Activation, stepKey: string): boolean;
  /** Whether an answer is recorded that a question of this visit would get without being asked. */
  hasAnswer(activation: Activation): boolean;
  /**
   * The record of something with equal input, if its class lets a fork take it over. `announced`: it was open at the fork point. Then only
   * whether the original started it again counts, because earlier decisions about it are used up there.
   */
  offer(due: Due, what: 'any' | 'announced'): Offer | undefined;
  /** Takes over an offer for a node's visit, in recorded order, in a later turn. */
  take(activation: Activation, offer: Offer): void;
  /** Takes over the earliest recorded one that does not have to wait for another. */
  pump(): void;
  /** Reads an offer for a step; undefined if it cannot be taken over after all. */
  readStep(due: Due, offer: Offer): Promise<TakenStep | undefined>;
  /**
   * Notes that a step was taken over, and what it cost there, so that it is taken over only once, also after a crash. Call it together with
   * recording the step.
   */
  noteStep(activation: Activation, payer: Payer | undefined, taken: TakenStep): void;
  /**
   * What the original has recorded meanwhile about an effect that was open at the fork point; undefined if there is nothing and no worker
   * has it.
   */
  originalEnd(due: Due, intent: Intent): Promise<OriginalEnd | undefined>;
}
