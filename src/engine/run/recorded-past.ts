/** What a fork takes over of its ancestors' records, as the parts of an advancing run ask for it (X2). */
import type { Amounts } from '../../graph/amounts.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Intent, RunTree, StepRecord } from '../../state/tree.ts';
import type { Activation } from './frame-run.ts';
import type { Payer } from './ledger.ts';

/** The last record taken of a node, or of the steps of a name. */
export type TakenRecord = NonNullable<RunTree['replayed']>[string];

/** What may have a record in an ancestor: a node's visit, a step of it, or a question. */
export interface Due {
  readonly activation: Activation;
  /** Undefined: it is the node's own. */
  readonly stepKey: string | undefined;
  readonly effect: string;
  /** Hash of the input that a step was given; undefined: its input is its activation's. */
  readonly givenHash: string | undefined;
  /** Its idempotency key, under the seed of the run it is part of or of one it was forked from (X1). */
  keyIn(keySeed: string): string;
}

/** Where something was recorded. */
export interface Recorded {
  readonly run: RunRow;
  readonly seq: number;
  /** Which of the records of its node, or of steps of its name, in that checkpoint, counted from 0. */
  readonly nth: number;
  /** Which of all parts of that checkpoint's change it is: what settled in one turn shares a checkpoint, and settled in this order. */
  readonly index: number;
  readonly part: ChangePart;
}

/** What an ancestor has for something that is due: the record of its end, or of its announcement; or records that cannot be read. */
export type Offer = { readonly recorded: Recorded } | { readonly unread: RunRow };

/** What a fork takes over for a step. */
export interface TakenStep {
  /** Under which key of `replayed` it is noted. */
  readonly place: string;
  readonly from: TakenRecord;
  /** As it ended there; or `started`, under the original's intent: it may have happened there, and is in doubt here (X3). */
  readonly step: StepRecord;
}

/** What the original of a fork says by now of an effect that was open at the fork point. */
export type OriginalEnd =
  | { readonly kind: 'node'; readonly offer: Offer }
  | { readonly kind: 'step'; readonly taken: TakenStep }
  /** It is worked on, and may still record it: the fork goes no further here. */
  | { readonly kind: 'refused' };

/** The ancestors' records of one run. A run that is no fork has none. */
export interface RecordedPast {
  /** Whether takeovers are under way. */
  readonly isBusy: boolean;
  /** Whether some ancestor recorded this place at all. */
  hasRecord(path: readonly string[]): boolean;
  /** What a visit cost where it was last recorded. */
  costOf(path: readonly string[], visit: number): Amounts | undefined;
  /** Whether an answer is recorded that a question of this visit would take without asking. */
  hasAnswer(activation: Activation): boolean;
  /**
   * What is recorded for something of equal input, if its class lets a fork take it over. `announced`: it was open at the fork point;
   * only whether it was begun again in the original counts, since what was decided about it before is used up there.
   */
  offer(due: Due, what: 'any' | 'announced'): Offer | undefined;
  /** Takes what was offered for a node's visit, in recorded order, in a turn of its own. */
  take(activation: Activation, offer: Offer): void;
  /** Takes over the earliest recorded of those that wait for no one recorded before them. */
  pump(): void;
  /** Reads what was offered for a step; undefined: it cannot be taken over after all. */
  readStep(due: Due, offer: Offer): Promise<TakenStep | undefined>;
  /** Notes that a step was taken over, so that it is taken once, after a crash too, and what it cost there: call it together with what records the step. */
  noteStep(activation: Activation, payer: Payer | undefined, taken: TakenStep): void;
  /** What the original has recorded by now of an effect that was open at the fork point; undefined: nothing, and nobody works on it. */
  originalEnd(due: Due, intent: Intent): Promise<OriginalEnd | undefined>;
}
