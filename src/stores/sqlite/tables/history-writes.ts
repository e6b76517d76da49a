/** Writes snapshots and tags, and prunes: the changes of a history other than commits. */
import { isRunOver } from '../../../state/tree.ts';
import type { RunKey, Prune, SnapshotRow, TagRow, Claim, Commit, CommitReply, WaitRow } from '../../../ports/store.ts';
import {
  headSeq,
  joinHead,
  type Prepare,
  type Statement,
  type CheckpointPlaces,
  dueOf,
  statusCode,
} from './run-rows.ts';
import { CairnError } from '../../../errors.ts';
import type { ReferenceWrites } from './reference-rows.ts';
import { bytesOf } from './row-check.ts';

// A cache of the runs that this process writes to, so that a commit need not look up the head.

export interface RunHead {
  /** The run's number in the tables. */
  readonly no: number;
  /** The newest claim's token. */
  token: number;
  /** Seq of the newest checkpoint. */
  head: number;
  /** Version of the database that this was read from. */
  readonly version: number;
}

const runsMax = 10_000;

/** Heads of runs. They are valid as long as no other connection has written to the database, which SQLite's data version tells. */
export class RunHeads {
  readonly #tenants = new Map<string, Map<string, RunHead>>();
  #size = 0;
  #version = -1;
  readonly #selectVersion: Statement;
  readonly #selectRun: Statement;

  constructor(prepare: Prepare) {
    this.#selectVersion = prepare('pragma data_version', 'arrays');
    this.#selectRun = prepare(
      `select r.no, r.token, ${headSeq('r.head_seen')} as seq from runs r ${joinHead} where r.tenant = ? and r.run_id = ?`,
    );
  }

  /** Call when a transaction has begun; from then on no other connection writes. Returns the version of the database. */
  beginTransaction(): number {
    return (this.#version = (this.#selectVersion().get() as unknown as [number])[0]);
  }

  /** Drops what was learned in a transaction that was rolled back. */
  forget(): void {
    this.#tenants.clear();
    this.#size = 0;
  }

  /** Call inside of a transaction only. The caller must update the returned head when it changes the run. */
  read(key: RunKey): RunHead | undefined {
    const known = this.#tenants.get(key.tenant)?.get(key.runId);
    return known?.version === this.#version ? known : this.#readAgain(key);
  }

  #readAgain(key: RunKey): RunHead | undefined {
    const row = this.#selectRun().get(key.tenant, key.runId) as { no: number; token: number; seq: number } | undefined;
    if (row === undefined) {
      this.drop(key);
      return undefined;
    }
    const head = { no: row.no, token: row.token, head: row.seq, version: this.#version };
    this.#keep(key, head);
    return head;
  }

  #keep({ tenant, runId }: RunKey, head: RunHead): void {
    if (this.#size >= runsMax) this.forget();
    const runs = this.#tenants.get(tenant) ?? new Map<string, RunHead>();
    if (!runs.has(runId)) this.#size += 1;
    this.#tenants.set(tenant, runs.set(runId, head));
  }

  /** Drops a run that was removed. */
  drop({ tenant, runId }: RunKey): void {
    if (this.#tenants.get(tenant)?.delete(runId) === true) this.#size -= 1;
  }
}

export class HistoryWrites {
  readonly #heads: RunHeads;
  readonly #places: CheckpointPlaces;
  readonly #insertSnapshot: Statement;
  readonly #setTag: Statement;
  readonly #removeTag: Statement;
  readonly #selectNeeded: Statement;
  readonly #removeSnapshot: Statement;
  readonly #replaceCheckpoint: Statement;
  readonly #setPrunedBelow: Statement;

  constructor(prepare: Prepare, heads: RunHeads, places: CheckpointPlaces) {
    this.#heads = heads;
    this.#places = places;
    this.#insertSnapshot = prepare('insert or ignore into snapshots (run, seq, checksum, body) values (?, ?, ?, ?)');
    this.#setTag = prepare('insert or replace into tags (run, name, seq) values (?, ?, ?)');
    this.#removeTag = prepare('delete from tags where run = ? and name = ?');
    this.#selectNeeded = prepare(
      'select seq from tags where run = ? union select parent_seq from runs where tenant = ? and parent_run = ?',
    );
    this.#removeSnapshot = prepare('delete from snapshots where run = ? and seq = ?');
    this.#replaceCheckpoint = prepare('update checkpoints set at = ?, checksum = ?, body = ? where id = ?');
    this.#setPrunedBelow = prepare('update runs set pruned_below = ? where tenant = ? and run_id = ?');
  }

  #requireCheckpoint(key: RunKey, seq: number): RunHead {
    const run = this.#heads.read(key);
    if (run === undefined || !this.#hasCheckpoint(run, seq)) {
      throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${key.runId}@${seq}` });
    }
    return run;
  }

  #hasCheckpoint(run: RunHead, seq: number): boolean {
    return this.#places.find(run.no, seq) !== undefined;
  }

  writeSnapshot(key: RunKey, { seq, checksum, body }: SnapshotRow): void {
    const { no } = this.#requireCheckpoint(key, seq);
    this.#insertSnapshot().run(no, seq, checksum, body);
  }

  tagCheckpoint(key: RunKey, { name, seq }: TagRow): void {
    const { no } = this.#requireCheckpoint(key, seq);
    this.#setTag().run(no, name, seq);
  }

  removeTag(key: RunKey, name: string): void {
    const run = this.#heads.read(key);
    if (run !== undefined) this.#removeTag().run(run.no, name);
  }

  /** Must be called inside of a transaction, so that no fork can be admitted between the check and the removal (C8). */
  pruneRun(prune: Prune): void {
    const { tenant, runId, token, remove, replace, snapshots, prunedBelow } = prune;
    const run = this.#heads.read(prune);
    if (run?.token !== token) {
      throw new CairnError('CLAIM_FENCED', { runId, token, current: run?.token ?? 0 });
    }
    const needed = new Set(
      this.#selectNeeded()
        .all(run.no, tenant, runId)
        .map((row) => row['seq']),
    ).add(run.head);
    const conflict =
      remove.find((seq) => needed.has(seq)) ?? replace.find(({ seq }) => !this.#hasCheckpoint(run, seq))?.seq;
    if (conflict !== undefined) throw new CairnError('COMMIT_CONFLICT', { runId, seq: conflict, head: run.head });
    this.#places.remove(run.no, remove);
    for (const seq of remove) this.#removeSnapshot().run(run.no, seq);
    for (const { seq, at, checksum, body } of replace) {
      this.#replaceCheckpoint().run(at, checksum, body, this.#places.find(run.no, seq) ?? null);
    }
    for (const { seq, checksum, body } of snapshots) this.#insertSnapshot().run(run.no, seq, checksum, body);
    this.#setPrunedBelow().run(prunedBelow, tenant, runId);
  }
}

// Writes one commit: a checkpoint, and its changes of the indexes.

const accepted: CommitReply = Object.freeze({ isHeld: true });
const released: CommitReply = Object.freeze({ isHeld: false });

/** A queued commit: the port's, with its own copy of the bytes. */
export interface PendingCommit extends Pick<Commit, 'claim' | 'checkpoint'> {
  readonly status: Commit['status'];
  readonly graphHash: Commit['graphHash'];
  readonly code: Commit['code'];
  readonly openWaits: Commit['openWaits'];
  readonly closeWaits: Commit['closeWaits'];
  readonly takeMessages: Commit['takeMessages'];
  readonly releases: Commit['releases'];
  readonly blobs: readonly string[] | undefined;
}

export class CommitWrite {
  readonly #heads: RunHeads;
  readonly #places: CheckpointPlaces;
  readonly #selectChecksum: Statement;
  readonly #setStatus: Statement;
  readonly #setGraphHash: Statement;
  readonly #setCode: Statement;
  readonly #openWait: Statement;
  readonly #closeWait: Statement;
  readonly #clearDelivery: Statement;
  readonly #takeMessage: Statement;
  readonly #releaseClaim: Statement;
  readonly #references: ReferenceWrites;
  readonly #now: () => number;

  constructor(
    prepare: Prepare,
    heads: RunHeads,
    places: CheckpointPlaces,
    references: ReferenceWrites,
    now: () => number,
  ) {
    this.#references = references;
    this.#now = now;
    this.#releaseClaim = prepare(
      'update runs set token = ?, owner = null, lease_until = 0, lease_ms = 0, deaths_unreleased = deaths_unreleased * ?, head_seen = ? where tenant = ? and run_id = ?',
    );
    this.#heads = heads;
    this.#places = places;
    this.#selectChecksum = prepare('select checksum from checkpoints where id = ?');
    this.#setStatus = prepare(
      'update runs set status = ?, head_seen = ?, ended_at = ? where tenant = ? and run_id = ?',
    );
    this.#setGraphHash = prepare('update runs set graph_hash = ? where tenant = ? and run_id = ?');
    this.#setCode = prepare('update runs set code = ? where tenant = ? and run_id = ?');
    this.#openWait = prepare(
      'insert or replace into waits (run, wait_id, tenant, run_id, kind, due, opened, checksum, body) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#closeWait = prepare('delete from waits where run = ? and wait_id = ?');
    this.#clearDelivery = prepare(
      "delete from waits where run = (select no from runs where tenant = ? and run_id = ?) and wait_id = ? and kind = 'delivery'",
    );
    this.#takeMessage = prepare('update messages set is_taken = 1 where run = ? and id = ?');
  }

  /** Must be called inside of a transaction. @throws CLAIM_FENCED, COMMIT_CONFLICT before anything is written */
  commit(commit: PendingCommit): CommitReply {
    const { claim, checkpoint } = commit;
    const run = this.#heads.read(claim);
    if (run?.token !== claim.token || run.head + 1 !== checkpoint.seq) return this.#recognise(commit, run);
    this.#places.append(run.no, checkpoint);
    run.head = checkpoint.seq;
    if (commit.status !== undefined) {
      const endedAt = isRunOver(commit.status) ? checkpoint.at : null;
      this.#setStatus().run(statusCode(commit.status), checkpoint.seq, endedAt, claim.tenant, claim.runId);
    }
    if (commit.graphHash !== undefined) this.#setGraphHash().run(commit.graphHash, claim.tenant, claim.runId);
    if (commit.code !== undefined) this.#setCode().run(commit.code, claim.tenant, claim.runId);
    if (commit.closeWaits !== undefined) for (const id of commit.closeWaits) this.#closeWait().run(run.no, id);
    if (commit.openWaits !== undefined) this.openWaits(run.no, claim, commit.openWaits);
    if (commit.takeMessages !== undefined) for (const id of commit.takeMessages) this.#takeMessage().run(run.no, id);
    if (commit.blobs !== undefined) this.#references.note(claim.tenant, run.no, commit.blobs);
    if (commit.releases !== true) return accepted;
    this.release(claim, true);
    return released;
  }

  /** Releases a claim. The token grows, so that the released claim is fenced by the same check as one that was taken over. */
  release(claim: Claim, isRested = false): void {
    const head = this.#heads.read(claim);
    if (head?.token !== claim.token) return;
    head.token = Math.max(head.token + 1, Math.floor(this.#now()));
    this.#releaseClaim().run(head.token, isRested ? 0 : 1, head.head, claim.tenant, claim.runId);
  }

  /** Handles a commit whose seq is not the next. It may be one that was written before its reply was lost. */
  #recognise({ claim, checkpoint }: PendingCommit, run: RunHead | undefined): CommitReply {
    const { runId, token } = claim;
    if (run === undefined) throw new CairnError('CLAIM_FENCED', { runId, token, current: 0 });
    const id = this.#places.find(run.no, checkpoint.seq) ?? null;
    const stored = this.#selectChecksum().get(id) as { checksum: Uint8Array } | undefined;
    if (stored !== undefined && Buffer.compare(bytesOf(stored.checksum), checkpoint.checksum) === 0) {
      return { isHeld: run.token === token };
    }
    if (run.token !== token) throw new CairnError('CLAIM_FENCED', { runId, token, current: run.token });
    throw new CairnError('COMMIT_CONFLICT', { runId, seq: checkpoint.seq, head: run.head });
  }

  clearDelivery({ tenant, runId }: RunKey, waitId: string): void {
    this.#clearDelivery().run(tenant, runId, waitId);
  }

  openWaits(no: number, { tenant, runId }: RunKey, waits: readonly WaitRow[]): void {
    for (const wait of waits) {
      const { waitId, kind, openedAt = null, checksum = null, body } = wait;
      this.#openWait().run(no, waitId, tenant, runId, kind, dueOf(wait), openedAt, checksum, body);
    }
  }
}
