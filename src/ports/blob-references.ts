/**
 * The port of references: which runs name which blobs, by an index. So whether a blob is still needed costs what is asked about, not what is
 * stored (C5).
 */

/** A text that is stored, with the hashes of the blobs that it names. */
export interface NamingRow {
  /** Absent: none. */
  readonly blobs?: readonly string[];
}

/** A blob that a run names. */
export interface NamedBlob {
  readonly hash: string;
  /** How many writes have named it. It grows, so that whoever has seen a number knows whether another write came since. */
  readonly times: number;
}

/** What is known of the blobs that a run names. */
export interface RunReferences {
  readonly runId: string;
  readonly named: readonly NamedBlob[];
  /**
   * Whether these are all. Not so of a run that a version without references admitted, has claimed since, or posted a message to: then its
   * texts tell.
   */
  readonly isRead: boolean;
}

/** What was seen of a run whose texts were read. They are all that it has if the run is still so and nobody has it. */
export interface ReadTexts {
  readonly head: number;
  readonly claims: number;
  /** Ids of the messages that were read. */
  readonly messages: readonly number[];
}

/** A graph whose runs have a blob in their rows: its structure or its text. */
export interface DefinedGraph {
  readonly hash: string;
  readonly graphId: string;
}

/**
 * References of runs to blobs. A store records those of an admission, a commit and a message (`blobs` of their rows) in the write itself, and
 * removes those of a run with it. There may be more than the texts of a run name, and never less: a missing one loses a value for good.
 */
export interface BlobReferences {
  /** Those of the hashes that a run of the tenant names. */
  named(tenant: string, hashes: readonly string[]): Promise<readonly string[]>;
  /** What runs name; those that are not there are left out. */
  of(tenant: string, runIds: readonly string[]): Promise<readonly RunReferences[]>;
  /**
   * Adds what texts of a run name. No effect if the run is not there.
   * @param read - set if all its texts were read: from now on its references are all, unless it is not as it was seen, or somebody has it
   */
  add(
    run: { readonly tenant: string; readonly runId: string },
    hashes: readonly string[],
    read?: ReadTexts,
  ): Promise<void>;
  /** Drops what a run that was pruned no longer names, but for what a write has named again since. */
  drop(run: { readonly tenant: string; readonly runId: string }, named: readonly NamedBlob[]): Promise<void>;
  /** Runs of which references may be missing, in the order of their admission. */
  listUnread(
    tenant: string,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<{ readonly rows: readonly string[]; readonly cursor?: string }>;
  /** Notes for good that rows of a graph's runs name these, as an admission does with what it `defines`. */
  define(tenant: string, graphId: string, hashes: readonly string[]): Promise<void>;
  /** The graphs of which the hashes were noted. */
  defined(tenant: string, hashes: readonly string[]): Promise<readonly DefinedGraph[]>;
}

/** The hashes that rows of one write name; undefined if they name none, as nearly all do. */
function blobsOfRows(...rows: readonly (NamingRow | undefined)[]): readonly string[] | undefined {
  let all: Set<string> | undefined;
  for (const row of rows) if (row?.blobs !== undefined) for (const hash of row.blobs) (all ??= new Set()).add(hash);
  return all && [...all];
}

/** What an admission names: its meta, its checkpoint and its waits. */
export function blobsOfAdmission(
  admission: NamingRow & { readonly checkpoint: NamingRow; readonly waits: readonly NamingRow[] },
): readonly string[] | undefined {
  return blobsOfRows(admission, admission.checkpoint, ...admission.waits);
}

/** What a commit names: its checkpoint, and the waits that it opens. */
export function blobsOfCommit(commit: {
  readonly checkpoint: NamingRow;
  readonly openWaits?: readonly NamingRow[] | undefined;
}): readonly string[] | undefined {
  if (commit.openWaits === undefined) return commit.checkpoint.blobs;
  return blobsOfRows(commit.checkpoint, ...commit.openWaits);
}
