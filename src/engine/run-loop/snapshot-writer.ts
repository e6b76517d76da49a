/** Writes a run's snapshots outside of its commits (C4). Without a snapshot loading takes longer, but nothing is lost. */
import { measureValue } from '../../history/stored/measure-value.ts';
import { SnapshotPolicy, type LoadCost } from '../../history/load/snapshot-policy.ts';
import { writeSnapshotText, writeStoredSnapshot } from '../../history/load/fold-stored.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { RunCore } from '../live-run/run-core.ts';

/** Writes a snapshot when the policy says so. */
export class SnapshotWriter {
  readonly #core: RunCore;
  readonly #policy: SnapshotPolicy;

  constructor(core: RunCore, cost: LoadCost) {
    this.#core = core;
    this.#policy = new SnapshotPolicy(cost);
  }

  onLanded(sizeBytes: number): void {
    this.#policy.onCommit(sizeBytes);
  }

  /**
   * Call after a commit. If a snapshot is due, the tree is encoded now, while it equals the last checkpoint, and is written once that
   * checkpoint is durable.
   */
  afterCommit(): void {
    if (!this.#policy.isDue) return;
    const core = this.#core;
    const stateBytes = measureValue(core.root);
    this.#policy.onMeasure(stateBytes);
    if (!this.#policy.isDue) return;
    this.#policy.onSnapshot(stateBytes);
    const write = this.#prepare(stateBytes);
    core.committer
      .settled()
      .then(write)
      .catch(() => {});
  }

  /** Call when the run pauses. Writes a snapshot if that makes the head cheaper to read. */
  async atPause(): Promise<void> {
    const stateBytes = measureValue(this.#core.root);
    if (!this.#policy.isWorthAtPause(stateBytes)) return;
    await this.#prepare(stateBytes)().catch(() => {});
  }

  /**
   * Prepares a snapshot. The tree's JSON text does not show which values are blobs, so if there may be some, the snapshot is made from what
   * is stored (C5).
   */
  #prepare(stateBytes: number): () => Promise<unknown> {
    const { env, run, root, committer, draft } = this.#core;
    const { seq, checksum } = committer;
    if (draft.hasBlobs && stateBytes >= env.bounds.inlineBytes) {
      return async () => {
        const stored = await env.store.readRun(run);
        if (stored !== undefined) await writeStoredSnapshot(env.store, env.blobs, stored, seq);
      };
    }
    const json = encodeValue(root);
    return () => writeSnapshotText(env.store, run, seq, checksum, json);
  }
}
