/** The store port: everything the engine needs of a database. It handles bytes and indexes only; all logic is above it (S1). */
import type { RunStatus } from '../state/tree.ts';
import type { BlobReferences, NamingRow } from './blob-references.ts';
import type { BlobStore } from './blobs.ts';
import type { LimitStore } from './limits.ts';
import type { Backlog, CodeCount, OpenCounts } from './run-counts.ts';
import type { LiveFeed } from './live-feed.ts';
import type { EndedRuns, Remembrance, Removals } from './removals.ts';
import type { RunSchedule, Schedule } from './schedule.ts';

/**
 * What a commit survives. `none`: nothing but this process has it. `process`: it survives a killed process. `power`: it survives a power
 * cut.
 */
export type Durability = 'none' | 'process' | 'power';

/** What a store can do. */
export interface StoreCapabilities {
  /** The highest durability that a commit may ask for. */
  readonly durability: Durability;
  /** Whether several processes may open the store at the same time. */
  readonly isShared: boolean;
}

/**
 * A run's status, as the index of runs stores it. One that is `cancelling` goes on as a `running` one does: the node runs that its graph
 * names for a cancel.
 */
export type StoredStatus = RunStatus;

/** Identifies a run. Every call is made within a tenant, and an id alone does not reach a run of another tenant. */
export interface RunKey {
  readonly tenant: string;
  readonly runId: string;
}

/** A run's row in the index of runs. */
export interface RunRow extends RunKey {
  /** Short stable name of the run, used in checkpoint ids: 16 hex digits. */
  readonly key: string;
  readonly graphId: string;
  readonly graphHash: string;
  /** The code that the run goes on under, opaque to the store; absent: its hash. Empty: any code will do. */
  readonly code?: string;
  readonly status: StoredStatus;
  /** Seq of the newest checkpoint. */
  readonly head: number;
  /** Epoch ms by the writer's clock, for information only, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The checkpoint that this run was forked from; absent if it is not a fork. */
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Encoded meta, opaque to the store: where the graph came from, labels. */
  readonly meta: Uint8Array;
  /** The current claim; absent if there is none or its lease has run out. */
  readonly claim?: { readonly workerId: string; readonly remainingMs: number };
  /** How many claims of it were granted, the present one included. */
  readonly claims: number;
  /**
   * How many owners in a row ended at its present head without giving it back. One counts when its claim is taken over by another worker,
   * in the statement that grants that.
   */
  readonly deaths: number;
  /**
   * The same since it last came to rest, whatever its head was: since a commit released its claim, and since it was claimed while it was
   * paused.
   */
  readonly deathsSinceRest: number;
  /** Whether there are messages that no commit has taken yet. */
  readonly hasMessages: boolean;
  /**
   * Whether there were runs forked from it when the row was read. It saves those who go through many runs from asking for lists that are
   * empty. Absent if the row does not say; then the store is queried. Listings of forks should have it. The same holds for `hasTags`.
   */
  readonly hasForks?: boolean;
  readonly hasTags?: boolean;
  /** Checkpoints with lower seqs were pruned; 0 if none were. */
  readonly prunedBelow: number;
  readonly schedule: RunSchedule;
  /** Who could not go on with the run from its head; absent if nobody said so. */
  readonly refusals?: readonly WorkerMismatch[];
  /**
   * True if the store has found that the row is not as it was written. Only listings give such rows; what else reads or claims the run is
   * STORE_CORRUPT.
   */
  readonly isDamaged?: true;
}

/** A stored checkpoint. */
export interface CheckpointRow extends NamingRow {
  readonly seq: number;
  /** Epoch ms, for information only. */
  readonly at: number;
  readonly body: Uint8Array;
  /** The checksum of the checkpoint: 32 bytes. */
  readonly checksum: Uint8Array;
}

/** A stored snapshot: the whole state at a checkpoint, derived from the checkpoints up to it. */
export interface SnapshotRow extends NamingRow {
  /** Seq of its checkpoint. */
  readonly seq: number;
  readonly body: Uint8Array;
  readonly checksum: Uint8Array;
}

/** Names and values of a run, such as `{ user: 'ann' }`, by which it is found. */
export type Labels = Readonly<Record<string, string>>;

/** Other labels of a run, whether or not it is advanced or has ended. */
export interface Relabelling extends RunKey {
  readonly labels: Labels;
  /** The meta that tells of them, and the one that it was made from. */
  readonly meta: Uint8Array;
  readonly oldMeta: Uint8Array;
}

/** A new run and its first checkpoint, durable before `admitRun` resolves (E2). `blobs` are those of its meta; absent: its writer does not say. */
export interface Admission extends RunKey, NamingRow {
  readonly key: string;
  readonly graphId: string;
  readonly graphHash: string;
  readonly code?: string;
  readonly status: StoredStatus;
  readonly meta: Uint8Array;
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** The first checkpoint. Its seq is 0; for a fork, the parent's seq + 1. */
  readonly checkpoint: CheckpointRow;
  readonly waits: readonly WaitRow[];
  /** Names and values by which `listRuns` finds the run. Only {@link Store.labelRun} changes them. At most 16. */
  readonly labels?: Labels;
  readonly schedule?: Schedule;
  /** If set, the new run is claimed in the same write, whether or not it is due. */
  readonly claim?: { readonly workerId: string; readonly leaseMs: number };
  /** Blobs that the meta of each run of its graph names. A store with references notes them once, as {@link BlobReferences.define} does. */
  readonly defines?: readonly string[];
  /** Whether a run of this id that was removed comes back with it, as an import brings one. It is forgotten then that it was removed. */
  readonly revives?: boolean;
  readonly durability: Durability;
}

/** The run with this id, admitted by this call or an earlier one. */
export interface AdmissionReply {
  /** False if a run with this id existed already. Then `run` is that one, and nothing was written. */
  readonly created: boolean;
  readonly run: RunRow;
  readonly claim?: Claim;
}

/** One worker's right to advance a run, granted by the store. */
export interface Claim extends RunKey {
  readonly workerId: string;
  /** Fencing token: grows with each claim of the run and is checked on every write. */
  readonly token: number;
  /** How long the claim holds, in milliseconds from the start of the call, by the store's clock. */
  readonly leaseMs: number;
}

/** How another thread of this process renews claims, over a connection of its own. */
export interface RenewalSource {
  /** The package whose module `connect` is given. */
  readonly peer?: string;
  /**
   * JavaScript text of a function `(data, peer) => ({ renew, close })`, or a promise of that; `require` gives what is built in. `renew` takes
   * claims and returns which of them are held, by place. A text, because the code of a bundled program has no file of its own.
   */
  readonly connect: string;
  /** Plain data for it. It may hold a password. */
  readonly data: unknown;
}

/** A request for a claim. */
export interface ClaimRequest extends RunKey {
  readonly workerId: string;
  readonly leaseMs: number;
  /** Take the claim over before its lease ends if this worker holds it. Used when that worker is known to be dead. */
  readonly takeFrom?: string;
}

/** The claim, or who holds the run and for how long. */
export type ClaimReply =
  | GrantedClaim
  | { readonly claim?: undefined; readonly owner: string; readonly remainingMs: number };

/** A granted claim, and the run's row at that moment. */
export interface GrantedClaim {
  readonly claim: Claim;
  readonly run: RunRow;
}

/** What became of a claim that was to be renewed: it holds on, or another was granted since (`current` is its token, 0 without a run). */
export type Renewal =
  | { readonly isHeld: true; readonly hasMessages: boolean }
  | { readonly isHeld: false; readonly current: number };

/** What a worker says of itself, now and then. */
export interface WorkerBeat {
  readonly tenant: string;
  readonly workerId: string;
  /** The graphs that it has code for. */
  readonly graphs: GraphCodes;
  /** How long it counts as alive from now on, by the store's clock. 0: it has stopped. */
  readonly aliveMs: number;
  /** Encoded, opaque to the store: what is shown of it. */
  readonly body: Uint8Array;
}

/** A worker that is alive, or was within the last day. */
export interface WorkerRow extends Omit<WorkerBeat, 'aliveMs'> {
  /** When it was last heard of, in epoch ms by the store's clock. */
  readonly seenAt: number;
  /** How long it still counts as alive; 0 or less if it does not. */
  readonly remainingMs: number;
}

/** The code of a worker: of each of its graphs, by the graph's id, what a run's `code` is compared with. */
export type GraphCodes = Readonly<Record<string, string>>;

/** That a worker could not go on with a run from where it stands. */
export interface WorkerMismatch {
  /** The code that the worker has for the graph, or its id if it has none. */
  readonly by: string;
  /** Epoch ms by the store's clock. */
  readonly at: number;
}

/** Which runs can go on. All conditions must hold; an empty list matches nothing. */
export interface ClaimableQuery {
  readonly tenant: string;
  /** What counts as due, in epoch ms. Absent: now by the store's clock, so that a worker whose clock is wrong fires nothing early. */
  readonly at?: number;
  /** Only runs of these graphs. */
  readonly graphs?: readonly string[];
  /** Only runs of these queues. */
  readonly queues?: readonly string[];
  /**
   * The code of the asker. Of these graphs, a run of other code is passed over while a live worker has that ({@link Store.noteWorker}), and
   * each run that the asker's code has refused at its head ({@link Store.releaseClaim}).
   */
  readonly codes?: GraphCodes;
  /** Runs of other code are passed over whether or not somebody has it. */
  readonly isPinned?: boolean;
  /** Ids of runs to skip, such as those that could not be advanced a moment ago. */
  readonly except?: readonly string[];
  /** The most runs to claim or to list. */
  readonly limit: number;
}

/** Which runs to claim, and for whom. */
export interface NextRequest extends ClaimableQuery {
  readonly workerId: string;
  readonly leaseMs: number;
}

/** An open wait's row in the index, for listing questions and for finding what is due. */
export interface WaitRow extends NamingRow {
  readonly waitId: string;
  /**
   * `delivery`: nothing of the run waits. It is a webhook that the commit owes, without a due time, until {@link Store.clearDelivery}.
   */
  readonly kind: 'question' | 'timer' | 'signal' | 'doubt' | 'retry' | 'refused' | 'delivery';
  /** Epoch ms at which the wait is due; absent if it has no due time. */
  readonly dueAt?: number;
  /** When it was opened, in epoch ms, of one with a due time. Listings need not give it back. */
  readonly openedAt?: number;
  /** Encoded wait, opaque to the store: what is shown to people and what answers are checked against. */
  readonly body: Uint8Array;
  /** Checksum of the row, 32 bytes, made by the writer; a store only keeps it. Absent in rows written before checksums existed. */
  readonly checksum?: Uint8Array;
}

/** One checkpoint with its changes of the indexes. It is written whole or refused by itself (S3). */
export interface Commit {
  readonly claim: Claim;
  readonly checkpoint: CheckpointRow;
  /** The new status, if it changes. */
  readonly status?: StoredStatus;
  readonly graphHash?: string;
  readonly code?: string;
  readonly openWaits?: readonly WaitRow[];
  readonly closeWaits?: readonly string[];
  /** Ids of the messages that this commit takes. */
  readonly takeMessages?: readonly number[];
  /** Whether the claim is released with this commit, as `releaseClaim` does. The reply then says that it is not held. */
  readonly releases?: boolean;
  /** Whether effects begin once it is written, so that its loss would leave one without a trace. A store that may lose it can say so. */
  readonly beginsEffects?: boolean;
  readonly durability: Durability;
}

/** Reply to a commit that was written. */
export interface CommitReply {
  /** Whether the claim still held at the time of the reply. A retry of a commit that was written before may find it gone. */
  readonly isHeld: boolean;
}

/** What a message says: an answer, a signal, a cancel request, or what a process that lost the run knows of an effect it announced. */
export type MessageKind = 'answer' | 'signal' | 'cancel' | 'effect';

/** A message to a run, stored as a row. Posting one needs no claim (O1). */
export interface Message extends RunKey, NamingRow {
  readonly kind: MessageKind;
  /**
   * The wait id of an answer, the unique id of a signal, the announcement of an effect; of a cancel empty, or `force` if it gives up what
   * still runs. Only the first message of each (kind, name) is accepted.
   */
  readonly name: string;
  readonly body: Uint8Array;
  /** When it was posted, in epoch ms. */
  readonly at: number;
  /** Checksum of the message, like that of a wait. */
  readonly checksum?: Uint8Array;
  /**
   * Seats of the run that the message takes, in its own write: all of them, or it is not accepted. A seat is a name; the first message that
   * takes it has it for good, by its own name, and may take it again.
   */
  readonly seats?: readonly string[];
  /**
   * Only for a run that goes on: one that has completed, failed or was cancelled takes nothing, and the reply is `ended`. A message that was
   * posted before is `equal` or `taken` all the same.
   */
  readonly isForOpen?: true;
  /** The run of this id, which is admitted in the same write if there is none, without a claim. */
  readonly admission?: Admission;
}

/** What happened to a posted message. */
export type MessageReply =
  /** `equal`: an equal message was there already. `created`: its run was admitted with it. */
  | { readonly status: 'accepted' | 'equal'; readonly created?: true }
  /** Another message with this kind and name came first; `first` is its body. */
  | { readonly status: 'taken'; readonly first: Uint8Array }
  /** Nothing was written: a message of the name `holder` has this seat. */
  | { readonly status: 'seated'; readonly seat: string; readonly holder: string }
  /** An answer whose wait is not open and was not answered either. */
  | { readonly status: 'closed' }
  /** The message was for a run that goes on, and this one does not. */
  | { readonly status: 'ended' };

/** A message that no commit has taken yet. */
export interface MessageRow {
  readonly id: number;
  readonly kind: MessageKind;
  readonly name: string;
  readonly body: Uint8Array;
  readonly at: number;
  readonly checksum?: Uint8Array;
}

/** One page of a listing. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Pass it in the next query to get the page after this one; absent on the last page. */
  readonly cursor?: string;
}

/** Which runs to list; all conditions must hold. */
export interface RunQuery {
  readonly tenant: string;
  readonly status?: readonly StoredStatus[];
  readonly graphId?: string;
  readonly parentRunId?: string;
  /** Only runs that have all of these labels. */
  readonly labels?: Labels;
  /** Only runs created at or after this time, in epoch ms. */
  readonly since?: number;
  /** Only runs created before this time, in epoch ms. */
  readonly until?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Which runs to count: as they are listed, but for those whose ids begin in one of these ways. */
export interface CountQuery extends Omit<RunQuery, 'limit' | 'cursor'> {
  readonly exceptIds?: readonly string[];
}

/** An open wait with its run. */
export interface OpenWait extends RunKey, WaitRow {
  readonly graphId: string;
}

/** Which open waits to list; all conditions must hold. */
export interface WaitQuery {
  readonly tenant: string;
  readonly runId?: string;
  /** Default: all but deliveries, which are listed by themselves. */
  readonly kinds?: readonly WaitRow['kind'][];
  /** Only waits that are due at or before this time, in epoch ms. */
  readonly dueBy?: number;
  /** Only waits for which an answer is posted that no commit has taken yet; or, if false, only the others. */
  readonly isAnswered?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

/** A name for a checkpoint of a run. */
export interface TagRow {
  readonly name: string;
  readonly seq: number;
}

/** Shortens a history: removes checkpoints and replaces others, which then also hold the changes of the removed ones (C8). */
export interface Prune extends RunKey {
  readonly token: number;
  /** Seqs of the rows to remove. The store checks in the same transaction that none is a fork point or tagged. */
  readonly remove: readonly number[];
  /** Rows that replace those of the same seq. */
  readonly replace: readonly CheckpointRow[];
  readonly snapshots: readonly SnapshotRow[];
  readonly prunedBelow: number;
}

/** Something that whoever runs a store should know of the server behind it. */
export interface StoreFinding {
  readonly name: string;
  readonly verdict: 'ok' | 'warning';
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
}

/** The room that a store takes. */
export interface StoreSpace {
  readonly sizeBytes: number;
  /** How much of it removed rows have freed. Rows that are written later use it again. */
  readonly freeBytes: number;
}

/**
 * Stores runs, checkpoints, waits and messages.
 *
 * Every method may throw STORE_UNAVAILABLE, STORE_BUSY, STORE_FULL, STORE_READ_ONLY, STORE_CORRUPT or STORE_CLOSED, and no other error
 * unless stated. Byte arrays passed in or returned are never changed afterwards by either side; a store copies them where it must.
 */
export interface Store {
  /** URL of the store without secrets, for messages. */
  readonly name: string;
  readonly capabilities: StoreCapabilities;
  /** The blobs that belong to the store. Absent if they are stored elsewhere; then whoever makes an engine over the store names them. */
  readonly blobs?: BlobStore;
  /** Where processes see what nodes are just making. Absent: only the process that advances a run can tell. */
  readonly live?: LiveFeed;
  /** What limits across the fleet need. Absent if the store has none; then what names a limit is refused. */
  readonly limits?: LimitStore;
  /** Removes many runs at once and remembers removed ones. Absent: a run that was removed leaves nothing, and its id may be used again. */
  readonly removals?: Removals;
  /** Finds runs that ended by an index. Absent: callers list all runs. */
  readonly ended?: EndedRuns;
  /** Which runs name which blobs, by an index. Absent: whoever removes blobs reads what all runs store. */
  readonly references?: BlobReferences;

  /**
   * Identity of the data, from which idempotency keys are derived. It is stored with the data and copied with it. Empty if none was ever set.
   */
  readIdentity(): Promise<string>;
  /** Gives the data another identity. It applies to runs admitted from now on. */
  setIdentity(identity: string): Promise<void>;

  /**
   * Records a new run before its id is returned (E2). For a fork it checks, in the same transaction, that the parent checkpoint exists
   * (C10). @throws CHECKPOINT_NOT_FOUND there is no such parent checkpoint; RUN_EXPIRED a run of this id was removed and is remembered
   */
  admitRun(admission: Admission): Promise<AdmissionReply>;
  /** The run's current row; undefined if there is no such run. */
  readRun(key: RunKey): Promise<RunRow | undefined>;
  /** Runs whose id or key begins with `prefix`, at most `limit`, sorted by id. */
  findRuns(tenant: string, prefix: string, limit: number): Promise<readonly RunRow[]>;
  /** Lists runs, newest first. Indexed, paged by cursor (S4). */
  listRuns(query: RunQuery): Promise<Page<RunRow>>;
  /** How many runs there are of a kind, without reading them. Absent: callers list them. */
  countRuns?(query: CountQuery): Promise<number>;
  /**
   * Writes meta and labels of a run in place of those it has, if its meta is still the one that they were made from; also if they are written
   * already. Absent: labels never change. @returns false if the meta is another @throws RUN_NOT_FOUND
   */
  labelRun?(change: Relabelling): Promise<boolean>;
  /** Removes a run with all that is its own. @param leaves - the line that it leaves, if any. @throws RUN_NOT_FOUND, HISTORY_HAS_FORKS, CLAIM_TAKEN */
  removeRun(key: RunKey, leaves?: Remembrance): Promise<void>;

  /** Claims one run. @throws RUN_NOT_FOUND */
  claimRun(request: ClaimRequest): Promise<ClaimReply>;
  /**
   * Finds runs that can go on and claims them, in one transaction. Such a run is running, cancelling or paused, has no live claim, is due,
   * and has something to do: it is running or cancelling, or has a message, or has a wait that is due. Where the clock is that of a host, a
   * wait that was opened later than now is due too: its owner corrects what the clock made of it. Higher priorities come first. Within
   * a priority, the run that could go on earliest comes first (counted from its due time, its oldest message or its first due wait), then
   * the oldest run.
   */
  claimNext(request: NextRequest): Promise<readonly GrantedClaim[]>;
  /**
   * Ids of the runs that `claimNext` would claim, in its order; claims and writes nothing. Only a hint, for hosts that tell others which
   * runs to advance: another may claim a run meanwhile, and a damaged run may be listed.
   */
  listClaimable(query: ClaimableQuery): Promise<readonly string[]>;
  /** How many runs `claimNext` would find. Absent: callers look at the newest open runs. */
  readBacklog?(query: Pick<ClaimableQuery, 'tenant' | 'graphs' | 'queues'>): Promise<Backlog>;
  /** Counts what is open, by indexes, so that what has ended costs nothing. Absent: callers list it. */
  countOpen?(tenant: string): Promise<OpenCounts>;
  /**
   * Counts the open runs of these graphs by graph and code, sorted by both. A store may count no more than 100,000. Absent: callers list them.
   */
  countCodes?(tenant: string, graphs: readonly string[]): Promise<readonly CodeCount[]>;
  /**
   * Calls `wake` when a run of the tenant may have become claimable through this store, or got a message: it was admitted, posted to, or
   * its claim was released. It names the run where the store knows it. `wake` may be called without need, and is not called when a due time
   * arrives. Absent if the store cannot know; its users then poll. @returns a function that stops watching
   */
  watch?(tenant: string, wake: (runId?: string) => void): () => void;
  /**
   * Whether `watch` just now also hears, with the run's id, of what other processes write. Then nobody need poll for messages. Absent: no.
   */
  hearsOthers?(): boolean;
  /** Extends the leases of claims, in one call for all that a process holds. Replies are in the order of the claims. */
  renewClaims(claims: readonly Claim[]): Promise<readonly Renewal[]>;
  /**
   * How leases are renewed while this process's event loop is blocked, or in words why they cannot be. Absent: they cannot be, or no other
   * process can take a claim.
   */
  renewalSource?(): RenewalSource | string;
  /**
   * Gives up a claim. No effect if the claim is no longer the newest.
   * @param refusedBy - set if the worker's code could not go on with the run from its head: see {@link WorkerMismatch}. It is recorded with
   * the run, at most 32 of them, the newest, until the head moves.
   */
  releaseClaim(claim: Claim, refusedBy?: string): Promise<void>;
  /** Notes that a worker is alive, in place of what was noted of it before. */
  noteWorker(worker: WorkerBeat): Promise<void>;
  /** The workers of a tenant that were heard of within the last day, sorted by id. */
  listWorkers(tenant: string): Promise<readonly WorkerRow[]>;
  /** The store's clock, in epoch ms: due times and leases are judged by it. Absent if it is the clock of this machine. */
  readTime?(): Promise<number>;

  /**
   * Appends one checkpoint. Resolves when it is as durable as requested. A run's commits become durable in the order of their seqs.
   * Concurrent commits share a transaction if the store can do that. A commit whose seq and checksum are stored already succeeds without
   * writing.
   * @throws CLAIM_FENCED the token is not the newest; COMMIT_CONFLICT the seq is not head + 1
   */
  commit(commit: Commit): Promise<CommitReply>;

  /** Checkpoints of one run, without its ancestors', with `from <= seq <= to`, ascending, at most `limit`. */
  readCheckpoints(
    key: RunKey,
    range: { readonly from: number; readonly to: number; readonly limit?: number },
  ): Promise<readonly CheckpointRow[]>;
  /** The newest snapshot of this run at or before a seq; undefined if there is none. */
  readSnapshot(key: RunKey, atOrBefore: number): Promise<SnapshotRow | undefined>;
  /** Stores a snapshot, separately from commits. If there is one already, it stays. @throws CHECKPOINT_NOT_FOUND */
  writeSnapshot(key: RunKey, snapshot: SnapshotRow): Promise<void>;

  /** Stores a message, durably as far as the store can. @throws RUN_NOT_FOUND there is no such run, and none is to be admitted */
  postMessage(message: Message): Promise<MessageReply>;
  /** Messages that no commit has taken yet, oldest first. */
  readMessages(key: RunKey): Promise<readonly MessageRow[]>;
  /**
   * Whether a message of this kind and name was posted, taken or not, so that posting it again changes nothing. False without such a run.
   */
  hasMessage(key: RunKey, message: Pick<Message, 'kind' | 'name'>): Promise<boolean>;
  /** Lists open waits, soonest due first, then oldest. Indexed, paged by cursor. */
  listWaits(query: WaitQuery): Promise<Page<OpenWait>>;
  /**
   * Removes the row of a delivery, whoever has the run's claim and whether or not the run has ended. No effect on waits of other kinds, or if
   * there is none.
   */
  clearDelivery(key: RunKey, waitId: string): Promise<void>;

  /** Sets or moves a tag. @throws CHECKPOINT_NOT_FOUND */
  tagCheckpoint(key: RunKey, tag: TagRow): Promise<void>;
  /** Removes a tag; no effect if there is none of this name. */
  removeTag(key: RunKey, name: string): Promise<void>;
  /** All tags of a run, sorted by name. */
  readTags(key: RunKey): Promise<readonly TagRow[]>;

  /**
   * Shortens a history in one transaction: everything is done, or nothing. @throws CLAIM_FENCED, COMMIT_CONFLICT (a fork or a tag needs a
   * row to be removed)
   */
  pruneRun(prune: Prune): Promise<void>;

  /**
   * Checks the medium that the rows are stored on, such as the pages of a file. Returns one line for each fault. Absent if there is nothing
   * to check.
   */
  findDamage?(): Promise<readonly string[]>;

  /** What `doctor` should say of the server behind the store. Absent if there is none. */
  examine?(): Promise<readonly StoreFinding[]>;

  /** The room that the rows take on the medium. Absent if the store cannot tell. */
  readSpace?(): Promise<StoreSpace>;
  /**
   * Gives room that removed rows have freed back to the file system. It rewrites what is stored, and no other write is made meanwhile.
   * Absent if the store does so by itself. @throws STORE_BUSY others write all the time
   */
  vacuum?(): Promise<void>;

  /** Closes the store. Later calls throw STORE_CLOSED; a second `close` does nothing. */
  close(): Promise<void>;
}
