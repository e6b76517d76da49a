/** What a fork takes over of its ancestors' records, as the parts of an advancing run ask for it (X2). */
import type { Intent, RunTree, StepRecord } from '../../state/tree.ts';
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
}

/** A step that is called for. */
export interface DueStep {
  readonly key: string;
  readonly effect: string;
  /** Of the input that it was given, if any. */
  readonly hash: string | undefined;
}

/** The ancestors' records of one run. A run that is no fork has none. */
export interface RecordedPast {
  /** Whether takeovers are under way. */
  readonly isBusy: boolean;
  /** Whether some ancestor recorded this place at all. */
  hasRecord(path: readonly string[]): boolean;
  /** Whether a recorded outcome of equal input stands in for this activation; it is then settled with it, in recorded order. */
  takesOver(activation: Activation): boolean;
  /** Whether an effect that was open at the fork point was begun again in the original: what was decided about it before is used up there. */
  reopens(activation: Activation): boolean;
  /** Takes over the earliest recorded of those that wait for no one recorded before them. */
  pump(): void;
  /**
   * An effect that was open at the fork point is taken from the original if that has recorded it by now. If the original is worked on, and
   * may still record it, the fork goes no further here.
   */
  takesOverOpen(activation: Activation, intent: Intent): Promise<boolean>;
  /** What is recorded of a step of equal input, if its class lets a fork take it over. */
  stepOutcome(activation: Activation, step: DueStep): Promise<TakenStep | undefined>;
  /** A step whose effect the original announced, with nothing of its end: open here too. The like of {@link reopens}, if it is begun. */
  openStep(activation: Activation, step: DueStep): Promise<TakenStep | undefined>;
  /** The like of {@link takesOverOpen} for a step. */
  openStepOutcome(
    activation: Activation,
    key: string,
    intent: Intent,
  ): Promise<{ readonly output: unknown } | 'refused' | undefined>;
  /** Each record is taken once, after a crash too: call it together with what records the step. */
  noteTaken(taken: Pick<TakenStep, 'place' | 'from'>): void;
}
