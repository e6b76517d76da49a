/** What a fork takes over of its ancestors' records, as the parts of an advancing run ask for it (X2). */
import type { Amounts } from '../../graph/amounts.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Account, Intent, RunTree, StepRecord } from '../../state/tree.ts';
import type { Activation } from './frame-run.ts';

/** The last record taken of a node, or of the steps of a name. */
export type TakenRecord = NonNullable<RunTree['replayed']>[string];

/** What a fork takes over for a step: its output, or an effect that failed in the original and may have happened (X3). */
export interface TakenStep {
  readonly place: string;
  readonly from: TakenRecord;
  readonly output: unknown;
  readonly by: string | undefined;
  readonly doubt?: StepRecord;
  /** What it cost there. */
  readonly cost: Account;
}

/** A step that is called for. */
export interface DueStep {
  readonly key: string;
  readonly effect: string;
  /** Of the input that it was given, if any. */
  readonly hash: string | undefined;
}

/** Where an outcome was recorded. */
export interface Recorded {
  readonly run: RunRow;
  readonly seq: number;
  /** Which of the records of its node, or of steps of its name, in that checkpoint, counted from 0. */
  readonly nth: number;
  /** Which of all parts of that checkpoint's change it is: what settled in one turn shares a checkpoint, and settled in this order. */
  readonly index: number;
  readonly part: ChangePart;
}

/** What an ancestor has for an activation that is due: a record, or records that cannot be read. */
export type Offer = { readonly recorded: Recorded } | { readonly unread: RunRow };

/** An effort whose effect was open at the fork point. */
export interface OpenEffort {
  readonly activation: Activation;
  /** Undefined: the node's own. */
  readonly stepKey: string | undefined;
  keyIn(keySeed: string): string;
}

/** What the original of a fork says by now of an effect that was open at the fork point. */
export type OriginalEnd =
  | { readonly kind: 'node'; readonly offer: Offer }
  | { readonly kind: 'step'; readonly output: unknown; readonly cost: Account }
  /** A step that failed there since: in doubt here as it was there, whatever was decided about it before the fork point. */
  | { readonly kind: 'failedStep'; readonly taken: TakenStep }
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
   * What is recorded for an activation of equal input, if its class lets a fork take it over. `announced`: it was open at the fork point;
   * only whether it was begun again in the original counts, since what was decided about it before is used up there.
   */
  offer(activation: Activation, what: 'any' | 'announced'): Offer | undefined;
  /** Takes what was offered, in recorded order, in a turn of its own. */
  take(activation: Activation, offer: Offer): void;
  /** Takes over the earliest recorded of those that wait for no one recorded before them. */
  pump(): void;
  /** What the original has recorded by now of an effect that was open at the fork point; undefined: nothing, and nobody works on it. */
  originalEnd(effort: OpenEffort, intent: Intent): Promise<OriginalEnd | undefined>;
  /** What is recorded of a step of equal input, if its class lets a fork take it over. */
  stepOutcome(activation: Activation, step: DueStep): Promise<TakenStep | undefined>;
  /** A step whose effect the original announced, with nothing of its end: open here too. */
  openStep(activation: Activation, step: DueStep): Promise<TakenStep | undefined>;
  /** Each record is taken once, after a crash too: call it together with what records the step. */
  noteTaken(taken: Pick<TakenStep, 'place' | 'from'>): void;
}
