/** Writes snapshots and tags, and prunes: the changes of a history other than commits. */

import { CairnError } from '../../../errors.ts';
import type { Prune, RunKey, SnapshotRow, TagRow } from '../../../ports/store.ts';
import type { CheckpointPlaces } from './checkpoint-places.ts';
import type { Prepare, Statement } from './prepare.ts';
import type { RunHead, RunHeads } from './run-heads.ts';

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
      throw new CairnError('CLAIM_FENCED', { runId, held: token, current: run?.token ?? 0 });
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
