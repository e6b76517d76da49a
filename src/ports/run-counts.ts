/** What a store counts of runs without reading them. */

/** Runs that could go on now, if there were a worker for them. */
export interface Backlog {
  /** How many; no more than 10,000 are counted. */
  readonly ready: number;
  /** For how long the one that waits longest could have gone on, in ms. Absent if there is none. */
  readonly oldestMs?: number;
}

/** What is open in a store: runs that have not ended, by their status, and waits. */
export interface OpenCounts {
  readonly runs: Readonly<Record<'running' | 'cancelling' | 'paused', number>>;
  /** Open waits of all kinds. A store may count no more than 100,000. */
  readonly waits: number;
  /** Those whose due time has passed. */
  readonly overdue: number;
}

/** Open runs of a graph under one code: those that are running, cancelling or paused. */
export interface CodeCount {
  readonly graphId: string;
  /** As in a run's row; the graph's hash where that has none. */
  readonly code: string;
  readonly runs: number;
}
