/** Writes one commit: a checkpoint, and its changes of the indexes. */

import { CairnError } from '../../../errors.ts';
import type { Claim, Commit, CommitReply, RunKey, WaitRow } from '../../../ports/store.ts';
import type { CheckpointPlaces } from './checkpoint-places.ts';
import type { Prepare, Statement } from './prepare.ts';
import type { RunHead, RunHeads } from './run-heads.ts';
import { dueOf, statusCode } from './run-rows.ts';
import { bytesOf } from './byte-columns.ts';

const held: CommitReply = Object.freeze({ isHeld: true });
const released: CommitReply = Object.freeze({ isHeld: false });

/** A queued commit: the port's, with its own copy of the bytes. */
export interface PendingCommit extends Pick<Commit, 'claim' | 'checkpoint'> {
  readonly status: Commit['status'];
  readonly graphHash: Commit['graphHash'];
  readonly openWaits: Commit['openWaits'];
  readonly closeWaits: Commit['closeWaits'];
  readonly takeMessages: Commit['takeMessages'];
  readonly releases: Commit['releases'];
}

export class CommitWrite {
  readonly #heads: RunHeads;
  readonly #places: CheckpointPlaces;
  readonly #selectChecksum: Statement;
  readonly #setStatus: Statement;
  readonly #setGraphHash: Statement;
  readonly #openWait: Statement;
  readonly #closeWait: Statement;
  readonly #takeMessage: Statement;
  readonly #releaseClaim: Statement;
  readonly #now: () => number;

  constructor(prepare: Prepare, heads: RunHeads, places: CheckpointPlaces, now: () => number) {
    this.#now = now;
    this.#releaseClaim = prepare(
      'update runs set token = ?, owner = null, lease_until = 0, head_seen = ? where tenant = ? and run_id = ?',
    );
    this.#heads = heads;
    this.#places = places;
    this.#selectChecksum = prepare('select checksum from checkpoints where id = ?');
    this.#setStatus = prepare('update runs set status = ?, head_seen = ? where tenant = ? and run_id = ?');
    this.#setGraphHash = prepare('update runs set graph_hash = ? where tenant = ? and run_id = ?');
    this.#openWait = prepare(
      'insert or replace into waits (run, wait_id, tenant, run_id, kind, due, checksum, body) values (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#closeWait = prepare('delete from waits where run = ? and wait_id = ?');
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
      this.#setStatus().run(statusCode(commit.status), checkpoint.seq, claim.tenant, claim.runId);
    }
    if (commit.graphHash !== undefined) this.#setGraphHash().run(commit.graphHash, claim.tenant, claim.runId);
    if (commit.closeWaits !== undefined) for (const id of commit.closeWaits) this.#closeWait().run(run.no, id);
    if (commit.openWaits !== undefined) this.openWaits(run.no, claim, commit.openWaits);
    if (commit.takeMessages !== undefined) for (const id of commit.takeMessages) this.#takeMessage().run(run.no, id);
    if (commit.releases !== true) return held;
    this.release(claim);
    return released;
  }

  /** Releases a claim. The token grows, so that the released claim is fenced by the same check as one that was taken over. */
  release(claim: Claim): void {
    const head = this.#heads.read(claim);
    if (head?.token !== claim.token) return;
    head.token = Math.max(head.token + 1, Math.floor(this.#now()));
    this.#releaseClaim().run(head.token, head.head, claim.tenant, claim.runId);
  }

  /** Handles a commit whose seq is not the next. It may be one that was written before its reply was lost. */
  #recognise({ claim, checkpoint }: PendingCommit, run: RunHead | undefined): CommitReply {
    const { runId, token } = claim;
    if (run === undefined) throw new CairnError('CLAIM_FENCED', { runId, held: token, current: 0 });
    const id = this.#places.find(run.no, checkpoint.seq) ?? null;
    const stored = this.#selectChecksum().get(id) as { checksum: Uint8Array } | undefined;
    if (stored !== undefined && Buffer.compare(bytesOf(stored.checksum), checkpoint.checksum) === 0) {
      return { isHeld: run.token === token };
    }
    if (run.token !== token) throw new CairnError('CLAIM_FENCED', { runId, held: token, current: run.token });
    throw new CairnError('COMMIT_CONFLICT', { runId, seq: checkpoint.seq, head: run.head });
  }

  openWaits(no: number, { tenant, runId }: RunKey, waits: readonly WaitRow[]): void {
    for (const wait of waits) {
      const { waitId, kind, checksum = null, body } = wait;
      this.#openWait().run(no, waitId, tenant, runId, kind, dueOf(wait), checksum, body);
    }
  }
}
