/** What earlier attempts of a visit recorded, as a node's function sees it. */

/**
 * What earlier attempts of this visit recorded. It is empty in a first attempt and not in a repeated one, so use it only to check a
 * function, never to decide what the function does (P1).
 */
export interface VisitPast {
  /**
   * Whether the run was forked within this visit and has made no call of its own in it since. Its function may make other calls than those
   * on record; they count as new ones.
   */
  readonly isFork: boolean;
  /** Steps by their names, in the order in which they were recorded. */
  steps(): readonly PastStep[];
  /** What is recorded of the next call with this name: a step, or a question, open or answered. Undefined: neither. */
  kindOf(name: string): 'step' | 'question' | undefined;
  /** Whether the next call with this name is on record: in this visit, or in a fork in that of an ancestor behind the fork point. */
  isRecorded(name: string): boolean;
  /** Whether this attempt has made all calls that are on record of this visit, child runs among them, so that what it calls next is new. */
  isAllMade(): boolean;
  /** Who answered the newest question of this name; undefined if nobody did, or they gave no name. */
  answeredBy(name: string): string | undefined;
  /** The newest answer to a question of this name; undefined if it has none. */
  answerTo(name: string): { readonly value: unknown } | undefined;
  /** Whether the next question with this name is on record, and has this identity. */
  isAsked(name: string, identity: unknown): boolean;
  /** Whether what is on record of the next question, timer or signal with this name was waited for under other code. */
  isOfOtherCode(name: string): boolean;
  /** The child run on record of the next call with this name. */
  childOf(name: string): PastChild | undefined;
  /** Names of all recorded calls: steps, questions, timers, signals and child runs. */
  names(): ReadonlySet<string>;
  /**
   * Says that this attempt does not repeat the recorded calls of some names, because it knows how they ended. They then count as made: a
   * later call of such a name is the next one, and `ctx.retire` retires them too.
   */
  passOver(isPassed: (name: string) => boolean): void;
  /** The same for the next calls of these names, however many are on record. */
  pass(names: Iterable<string>): void;
  /**
   * Says that the function, whose code has changed, no longer asks what it asked under these names. Questions are closed as changed, and
   * answers to them are not used; so are the questions of child runs of these names.
   */
  close(names: Iterable<string>): void;
}

/** A recorded step. `started` means that its end was not recorded. */
export interface PastStep {
  readonly name: string;
  readonly status: 'started' | 'done' | 'failed';
  readonly output?: unknown;
  /** Its effect class. */
  readonly effect?: string;
  /** Whether the run is a fork that went on without it: it is the original's, and need not be called. */
  readonly isLeft?: true;
}

/** A recorded child run. */
export interface PastChild {
  /** Id of its graph; undefined in runs of older versions. */
  readonly graph: string | undefined;
  /** Whether every node that began in it has ended. */
  readonly isOver: boolean;
  /** Outputs of its nodes that have completed, by their ids. */
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly artifacts: unknown;
}
