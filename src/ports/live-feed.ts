/** The port for pieces of what nodes are just making: text of an answer as it comes, events of `emit`. Lost pieces are no harm. */

/** Identifies a run, as the store does. */
interface FedRun {
  readonly tenant: string;
  readonly runId: string;
}

/** A piece: what a node streamed while it worked. */
export interface LivePiece {
  /** Grows within a run, over all processes that advance it. */
  readonly n: number;
  /** Node ids from the root; names of child runs are included. */
  readonly node: readonly string[];
  /** Plain JSON. */
  readonly detail: unknown;
}

/** What changes in a run's feed, at once. */
export interface LiveChange {
  /** Pieces that are not needed any more, by number; `all` of the run's. They go first. */
  readonly remove?: readonly number[] | 'all';
  readonly add?: readonly LivePiece[];
}

/**
 * Keeps the pieces of runs under way, beside a store, for readers in any process. It is no record: pieces are removed when what they were
 * part of is recorded, they are never synced to the disk, and no backup or export has them. Methods may throw the errors of the store; the
 * engine goes on without the pieces then.
 */
export interface LiveFeed {
  /** How often a reader looks for new pieces, in milliseconds. */
  readonly pollMs: number;
  write(run: FedRun, change: LiveChange): Promise<void>;
  /** The pieces of a run with a number above `after`, ascending. */
  read(run: FedRun, after: number): Promise<readonly LivePiece[]>;
}
