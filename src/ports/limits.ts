/**
 * What a store keeps for limits that hold across the fleet: small records that are written if nobody wrote them meanwhile, and lines of runs
 * that wait for a place. A store that lacks it runs everything but what names a limit. All rules are above it (S1).
 */

/** A run, as each call of a store names it. */
interface OfRun {
  readonly tenant: string;
  readonly runId: string;
}

/** A record of a tenant, by name. */
export interface LimitRecord {
  readonly name: string;
  /** Which writing of it this is: a text that its writer made, and that no other writing of it ever had. */
  readonly version: string;
  /** Opaque to the store. */
  readonly body: string;
}

/** A record as it shall be. */
export interface LimitChange {
  readonly name: string;
  /** The version that it must have now; absent: there must be none of this name. */
  readonly expected?: string;
  readonly version: string;
  /** Absent: the record is removed. */
  readonly body?: string;
}

/** A run that is put into a line, in the order of priority (higher first), then rank, then age. */
export interface ParkedRun {
  /** It is given up, as `releaseClaim` does. If it is not the newest, nothing is done with this run. */
  readonly claim: OfRun & { readonly token: number };
  readonly line: string;
  readonly rank: number;
  /** Who shares the line fairly with others: see {@link LimitStore.readLine}. */
  readonly group?: string;
}

/** Changes that are made together or not at all. */
export interface LimitWrite {
  readonly tenant: string;
  readonly changes: readonly LimitChange[];
  /**
   * Runs that go into a line. From then on each is `paused` in the index of runs, whatever its history says: it can be claimed if it has a
   * message or a wait that is due. One that is in a line already keeps its place there. A run that has ended stays as it is.
   */
  readonly park?: readonly ParkedRun[];
  /** Ids of runs that leave their line: those that are `paused` in the index are `running` again. */
  readonly unpark?: readonly string[];
}

/** Who may hold a place: a claim of a run, or a run until it has ended. */
export interface PlaceHolder {
  readonly runId: string;
  /** Token of the claim; absent: the run itself. */
  readonly token?: number;
}

/** A run in a line. */
export interface LineRow {
  readonly runId: string;
  readonly priority: number;
  readonly rank: number;
}

/** The first of a line, and the last rank that a group has in it. */
export interface LineHead {
  readonly first: readonly LineRow[];
  readonly lastRank?: number;
}

/** Which part of an ordered listing to read. */
export interface LimitPage {
  /** Only names that begin with it. */
  readonly prefix?: string;
  /** Only names behind this one. */
  readonly after?: string;
  readonly limit: number;
}

/** The most runs before another one in its line that are counted. */
export const aheadMax = 1_000;

/** The part of a store that limits need. Names and lines are texts of any letters. Errors are those of every method of a store. */
export interface LimitStore {
  /** The records of these names that there are. */
  read(tenant: string, names: readonly string[]): Promise<readonly LimitRecord[]>;
  /** Records by name, sorted by it. */
  list(tenant: string, page: LimitPage): Promise<readonly LimitRecord[]>;
  /**
   * Makes all changes in one transaction that survives a killed process. @returns false if a record was not of its expected version; then
   * nothing was changed
   */
  write(write: LimitWrite): Promise<boolean>;
  /**
   * Which of these hold on, by place. A claim holds while it is the newest and its lease has not run out; one whose lease has run out is
   * given up in the same transaction, so that it can be renewed no more. A run holds until it has ended.
   */
  check(tenant: string, holders: readonly PlaceHolder[]): Promise<readonly boolean[]>;
  /** The first runs of a line that are still paused in the index, and the last rank of a group. Indexed. */
  readLine(tenant: string, line: string, query: { readonly limit: number; readonly group?: string }): Promise<LineHead>;
  /** Lines with runs in them, sorted by name. */
  listLines(tenant: string, page: LimitPage): Promise<readonly string[]>;
  /** The line in which a run waits, and how many are before it, up to {@link aheadMax}. */
  findInLine(run: OfRun): Promise<{ readonly line: string; readonly ahead: number } | undefined>;
}
