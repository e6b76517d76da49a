/** What the rows of the benchmark are, and how a group of them measures. */

/** One line of the table. */
export interface Row {
  readonly name: string;
  /** What it is compared with. */
  readonly against: string;
  /** The ratio it must not exceed. Absent: it is printed, and neither met nor missed. */
  readonly target?: number;
}

/** One measurement of one row: what we took and what it is compared with, in the same unit. */
export interface Sample {
  readonly ours: number;
  readonly floor: number;
  readonly unit: 'us' | 'ms' | 'bytes' | 'MB' | 'calls' | 'rows';
}

/** The samples of one repetition, by the name of their row. */
export type Repetition = Readonly<Record<string, Sample>>;

export interface Bench {
  /** Measures once; each sample is paired with a floor of its own. */
  readonly repeat: () => Promise<Repetition> | Repetition;
  readonly close?: () => Promise<void> | void;
}

/** Rows that are measured together, in a process of their own. */
export interface Group {
  readonly rows: readonly Row[];
  /** Whether it runs dist/, which is then built first. */
  readonly needsBuild?: true;
  /** Repetitions dropped at first. A few thousand nodes must have run before the compiler is done. Default 1. */
  readonly warmUps?: number;
  /** Makes what all repetitions need. `folder` is empty and its own. @throws NotMeasured */
  readonly prepare: (folder: string) => Promise<Bench> | Bench;
}

/** Thrown where a row cannot be measured here; the message says why. It counts as missed, never as met. */
export class NotMeasured extends Error {
  override readonly name = 'NotMeasured';
}
