/** The store port: all the engine asks of a database. Bytes and indexes only; everything clever lives above it (S1). */

import type { RunSchedule, Schedule } from './schedule.ts';

/** Survives: nothing but this process / a killed process / a power cut. */
export type Durability = 'none' | 'process' | 'power';

/** What a store can do. */
export interface StoreCapabilities {
  /** The most a commit can ask for. */
  readonly durability: Durability;
  /** Whether several processes may open the store at once. */
  readonly isShared: boolean;
}

/** A run's status as the index knows it. */
export type StoredStatus = 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** Every call is inside a tenant; ids are not enough to reach another tenant's run. */
export interface RunKey {
  readonly tenant: string;
  readonly runId: string;
}

/** A run as the index knows it. */
export interface RunRow extends RunKey {
  /** Short stable name of the run in checkpoint ids: 16 hex digits. */
  readonly key: string;
  readonly graphId: string;
  readonly graphHash: string;
  readonly status: StoredStatus;
  /** Seq of the newest checkpoint. */
  readonly head: number;
  /** Epoch ms, by the writer's clock; information only. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The checkpoint this run was forked from. */
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Opaque to the store: where the graph came from, labels. */
  readonly meta: Uint8Array;
  /** The current claim, if its lease has not run out. */
  readonly claim?: { readonly workerId: string; readonly remainingMs: number };
  /** Whether messages are waiting to be taken. */
  readonly hasMessages: boolean;
  /** Seqs below this one were pruned; 0: none. */
  readonly prunedBelow: number;
  readonly schedule: RunSchedule;
}

/** A checkpoint as it is stored. */
export interface CheckpointRow {
  readonly seq: number;
  /** Epoch ms; information only. */
  readonly at: number;
  readonly body: Uint8Array;
  /** 32 bytes. */
  readonly checksum: Uint8Array;
}

/** A whole state, derived from checkpoints. */
export interface SnapshotRow {
  /** The checkpoint it stands for. */
  readonly seq: number;
  readonly body: Uint8Array;
  readonly checksum: Uint8Array;
}

/** The admission of a run: the run and its first checkpoint, durable before the call resolves (E2). */
export interface Admission extends RunKey {
  readonly key: string;
  readonly graphId: string;
  readonly graphHash: string;
  readonly status: StoredStatus;
  readonly meta: Uint8Array;
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Its seq is 0, or the parent's seq + 1 for a fork. */
  readonly checkpoint: CheckpointRow;
  readonly waits: readonly WaitRow[];
  readonly schedule?: Schedule;
  /** If given, the new run is claimed at once, in the same write, due or not. */
  readonly claim?: { readonly workerId: string; readonly leaseMs: number };
  readonly durability: Durability;
}

/** The run of this id, admitted now or before. */
export interface AdmissionReply {
  /** False: a run of this id existed already; `run` is that one and nothing was written. */
  readonly created: boolean;
  readonly run: RunRow;
  readonly claim?: Claim;
}

/** The right to advance a run, as handed out by the store. */
export interface Claim extends RunKey {
  readonly workerId: string;
  /** Grows with each claim of this run; checked on every write. */
  readonly token: number;
  /** How long it holds from the moment the call was made, by the store's clock. */
  readonly leaseMs: number;
}

/** Who wants to advance a run, and for how long at first. */
export interface ClaimRequest extends RunKey {
  readonly workerId: string;
  readonly leaseMs: number;
  /** Take over even within the lease if the current owner is this worker (known to be dead). */
  readonly takeFrom?: string;
}

/** A claim, or who holds the run. */
export type ClaimReply =
  GrantedClaim | { readonly claim?: undefined; readonly owner: string; readonly remainingMs: number };

/** A claim that was granted, and the run as it is now. */
export interface GrantedClaim {
  readonly claim: Claim;
  readonly run: RunRow;
}

/** Who looks for runs to advance, and which he can. Conditions hold together; an empty list allows nothing. */
export interface NextRequest {
  readonly tenant: string;
  readonly workerId: string;
  readonly leaseMs: number;
  /** Epoch ms by the caller's clock: what counts as due. */
  readonly at: number;
  /** Only runs of these graphs. */
  readonly graphs?: readonly string[];
  /** Only runs of these queues. */
  readonly queues?: readonly string[];
  /** Ids of runs to pass over, such as those that could not be advanced a moment ago. */
  readonly except?: readonly string[];
  /** The most to claim. */
  readonly limit: number;
}

/** An index row of an open wait: for the inbox and for due times. */
export interface WaitRow {
  readonly waitId: string;
  readonly kind: 'question' | 'timer' | 'signal' | 'doubt' | 'retry';
  /** Epoch ms. */
  readonly dueAt?: number;
  /** Opaque: what an inbox shows and an answer is checked against. */
  readonly body: Uint8Array;
  /** 32 bytes, by whoever made the row; a store only keeps them. Absent in rows from before there were any. */
  readonly checksum?: Uint8Array;
}

/** One checkpoint with its index changes; atomic, refused alone (S3). */
export interface Commit {
  readonly claim: Claim;
  readonly checkpoint: CheckpointRow;
  /** Given only when it changes. */
  readonly status?: StoredStatus;
  readonly graphHash?: string;
  readonly openWaits?: readonly WaitRow[];
  readonly closeWaits?: readonly string[];
  /** Ids of messages this commit takes. */
  readonly takeMessages?: readonly number[];
  readonly durability: Durability;
}

/** The commit has landed. */
export interface CommitReply {
  /** Whether the claim still held when the reply was made (a retry of a landed commit may find it gone). */
  readonly isHeld: boolean;
}

/** An answer, a signal or a cancel request: a row of its own that needs no claim (O1). */
export interface Message extends RunKey {
  readonly kind: 'answer' | 'signal' | 'cancel';
  /** Wait id of an answer, unique id of a signal, empty for cancel. The first of (kind, name) wins. */
  readonly name: string;
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly at: number;
  /** As that of a wait. */
  readonly checksum?: Uint8Array;
}

/** What became of a message. */
export type MessageReply =
  /** `equal`: the same body was there already. */
  | { readonly status: 'accepted' | 'equal' }
  /** Another body came first. */
  | { readonly status: 'taken'; readonly first: Uint8Array }
  /** An answer to a wait that is not open and has no answer on record. */
  | { readonly status: 'closed' };

/** A message not yet taken. */
export interface MessageRow {
  readonly id: number;
  readonly kind: 'answer' | 'signal' | 'cancel';
  readonly name: string;
  readonly body: Uint8Array;
  readonly at: number;
  readonly checksum?: Uint8Array;
}

/** A part of a listing. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Give it back to get what follows; absent at the end. */
  readonly cursor?: string;
}

/** Which runs; conditions hold together. */
export interface RunQuery {
  readonly tenant: string;
  readonly status?: readonly StoredStatus[];
  readonly graphId?: string;
  readonly parentRunId?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** An open wait, and the run it belongs to. */
export interface OpenWait extends RunKey, WaitRow {
  readonly graphId: string;
}

/** Which open waits; conditions hold together. */
export interface WaitQuery {
  readonly tenant: string;
  readonly runId?: string;
  readonly kinds?: readonly WaitRow['kind'][];
  /** Only waits due at or before this time, epoch ms. */
  readonly dueBy?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

/** A name for a checkpoint of a run. */
export interface TagRow {
  readonly name: string;
  readonly seq: number;
}

/** Folds checkpoints `from + 1 … upTo` into `folded`, which replaces the row at `upTo`; and the like for the oldest kept one (C8). */
export interface Prune extends RunKey {
  readonly token: number;
  /** Rows to remove, by seq; none may be a fork point or tagged, which the store checks in the same transaction. */
  readonly remove: readonly number[];
  /** Rows that replace those of the same seq. */
  readonly replace: readonly CheckpointRow[];
  readonly snapshots: readonly SnapshotRow[];
  readonly prunedBelow: number;
}

/**
 * Where runs, checkpoints, waits and messages are kept.
 *
 * Every method may throw STORE_UNAVAILABLE, STORE_BUSY, STORE_FULL, STORE_READ_ONLY, STORE_CORRUPT or STORE_CLOSED, and nothing else
 * unless said. Nothing handed in or out is shared: byte arrays are copied by the store, or never changed by anyone.
 */
export interface Store {
  /** For messages: a URL without secrets. */
  readonly name: string;
  readonly capabilities: StoreCapabilities;

  /**
   * Names the data to the outside: idempotency keys derive from it, so that two stores never send the same one. It is kept with the data and
   * copied with it; empty where none was ever given.
   */
  readIdentity(): Promise<string>;
  /** Gives the data another identity, for the runs that are admitted from now on. */
  setIdentity(identity: string): Promise<void>;

  /** Records a run before its id is returned (E2). Atomic with the check that a fork's parent checkpoint exists (C10). @throws CHECKPOINT_NOT_FOUND no such parent checkpoint */
  admitRun(admission: Admission): Promise<AdmissionReply>;
  /** The run as it is now. */
  readRun(key: RunKey): Promise<RunRow | undefined>;
  /** Runs whose id or key begins with `prefix`, at most `limit`, in order of id. */
  findRuns(tenant: string, prefix: string, limit: number): Promise<readonly RunRow[]>;
  /** Newest first. Indexed, paged by cursor (S4). */
  listRuns(query: RunQuery): Promise<Page<RunRow>>;
  /** Removes a run and all that belongs to it. @throws RUN_NOT_FOUND, HISTORY_HAS_FORKS, CLAIM_TAKEN */
  removeRun(key: RunKey): Promise<void>;

  /** @throws RUN_NOT_FOUND */
  claimRun(request: ClaimRequest): Promise<ClaimReply>;
  /**
   * Claims runs that can go on, in one act: running or paused, without a live claim, due, and with something to do (running, a message
   * waiting, a wait due by then). Higher priority first, then longest due: since its due time, its oldest message or the time of its first
   * due wait, whichever was first; then oldest.
   */
  claimNext(request: NextRequest): Promise<readonly GrantedClaim[]>;
  /**
   * Calls back when a run of the tenant may have become claimable through this store: admitted, messaged, given back. It may be called in
   * vain, and times that come are not told. Left out: the store has no way to know, and its users look now and then. Returns what ends it.
   */
  watch?(tenant: string, wake: () => void): () => void;
  /** Extends the lease; says whether messages are waiting. @throws CLAIM_FENCED */
  renewClaim(claim: Claim): Promise<{ readonly hasMessages: boolean }>;
  /** Gives the run back; nothing happens if the claim is no longer the newest. */
  releaseClaim(claim: Claim): Promise<void>;

  /**
   * Appends one checkpoint. Resolves when it is as durable as asked for; a run's commits become durable in the order of their seqs.
   * Concurrent commits share a transaction where the store can. A commit whose (seq, checksum) is already stored has landed.
   * @throws CLAIM_FENCED the token is not the newest; COMMIT_CONFLICT seq is not head + 1
   */
  commit(commit: Commit): Promise<CommitReply>;

  /** Checkpoints of one run (not of its ancestors) with `from <= seq <= to`, ascending, at most `limit`. */
  readCheckpoints(
    key: RunKey,
    range: { readonly from: number; readonly to: number; readonly limit?: number },
  ): Promise<readonly CheckpointRow[]>;
  /** The newest snapshot of this run at or before a seq. */
  readSnapshot(key: RunKey, atOrBefore: number): Promise<SnapshotRow | undefined>;
  /** Writes a derived snapshot, off the commit's path; one that exists is kept. @throws CHECKPOINT_NOT_FOUND */
  writeSnapshot(key: RunKey, snapshot: SnapshotRow): Promise<void>;

  /** Durable (as far as the store can) before it resolves. @throws RUN_NOT_FOUND */
  postMessage(message: Message): Promise<MessageReply>;
  /** Messages not yet taken, oldest first. */
  readMessages(key: RunKey): Promise<readonly MessageRow[]>;
  /** Open waits, soonest due first, then oldest. Indexed, paged by cursor. */
  listWaits(query: WaitQuery): Promise<Page<OpenWait>>;

  /** Sets or moves a tag. @throws CHECKPOINT_NOT_FOUND */
  tagCheckpoint(key: RunKey, tag: TagRow): Promise<void>;
  /** Nothing happens if there is no such tag. */
  removeTag(key: RunKey, name: string): Promise<void>;
  /** All tags of a run, by name. */
  readTags(key: RunKey): Promise<readonly TagRow[]>;

  /** Atomic; nothing is removed unless all of it is. @throws CLAIM_FENCED, COMMIT_CONFLICT (a row to remove is needed by a fork or a tag) */
  pruneRun(prune: Prune): Promise<void>;

  /** Reads all that the rows stand on, such as the pages of a file, and says what is wrong, a line each. Left out: there is no such thing. */
  findDamage?(): Promise<readonly string[]>;

  /** Later calls are STORE_CLOSED; a second close does nothing. */
  close(): Promise<void>;
}
