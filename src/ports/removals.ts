/** The port of retention: how a store finds the runs that ended first, removes many in one write, and remembers what was removed. */

/** The statuses of runs that expire. */
export type EndedStatus = 'completed' | 'failed' | 'cancelled';

/** Why a run was removed: by the retention of its graph, or by whoever asked for it. */
export type RemovalReason = 'expired' | 'removed';

/** The line that a removed run leaves. It has nothing of what the run did, nor its labels. */
export interface RemovedRun {
  readonly runId: string;
  /** Epoch ms by the store's clock. */
  readonly removedAt: number;
  readonly because: RemovalReason;
  /** Until when no run of this id begins, in epoch ms by the store's clock. */
  readonly until: number;
}

/** What a removal leaves behind. */
export interface Remembrance {
  readonly because: RemovalReason;
  /** For how long no other run of this id begins. */
  readonly rememberMs: number;
}

/** Which of the runs that ended to remove. */
export interface EndedRemoval extends Remembrance {
  readonly tenant: string;
  readonly runIds: readonly string[];
}

/** Ended runs of a graph, of one status. */
export interface EndedQuery {
  readonly tenant: string;
  readonly graphId: string;
  readonly status: EndedStatus;
  /** Only those that ended before this time, in epoch ms. */
  readonly endedBefore?: number;
  /** Or that are not among this many of the graph, the newest that ended, whatever their status. */
  readonly beyond?: number;
  readonly limit: number;
  readonly cursor?: string;
}

/** A run that ended, as a listing of them has it. */
export interface EndedRun {
  readonly runId: string;
  /** When it came to its status, in epoch ms by the writer's clock. */
  readonly endedAt: number;
  readonly hasForks: boolean;
  readonly hasTags: boolean;
}

/** Finds ended runs by an index. */
export interface EndedRuns {
  /** Ids of the graphs that have runs which ended, sorted. */
  graphs(tenant: string): Promise<readonly string[]>;
  /** Runs in the order in which they ended, the first first. */
  list(query: EndedQuery): Promise<{ readonly rows: readonly EndedRun[]; readonly cursor?: string }>;
}

/**
 * Removes runs and remembers which. While a line is remembered, an admission under its id is RUN_EXPIRED, unless it says that it brings the
 * run back (`revives`).
 */
export interface Removals {
  /**
   * Removes runs in one transaction, each whole or not at all, and leaves a line of each. Those that are not there, have not ended, have a
   * live claim, forks, tags or a message that is still to be delivered are passed over, as they are when it is written. @returns ids of those removed
   */
  remove(removal: EndedRemoval): Promise<readonly string[]>;
  /** The line of a removed run; undefined if there is none, or its time is over. */
  read(run: { readonly tenant: string; readonly runId: string }): Promise<RemovedRun | undefined>;
  /** Forgets a removed run, so that its id may be used again. @returns whether it was remembered */
  forget(run: { readonly tenant: string; readonly runId: string }): Promise<boolean>;
  /**
   * Takes a duty that one process does for all, or keeps it, until its lease is over. @returns false if another has it
   */
  takeDuty(name: string, workerId: string, leaseMs: number): Promise<boolean>;
}
