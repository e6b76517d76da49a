/** Writes a run's snapshots, off the commit's path (C4). Without one, loading costs more, and nothing is lost. */
import { measureValue } from '../../history/stored/measure-value.ts';
import { SnapshotPolicy, type LoadCost } from '../../history/load/snapshot-policy.ts';
import { writeSnapshotText, writeStoredSnapshot } from '../../history/load/write-snapshot.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { RunCore } from '../run/run-core.ts';

/** Decides by the policy when a snapshot is due, and writes it. */
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

  /** If one is due: the tree is encoded now, while it is what the last checkpoint says, and written once that has landed. */
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

  /** When a run pauses, if that makes its head cheaper to read. */
  async atPause(): Promise<void> {
    const stateBytes = measureValue(this.#core.root);
    if (!this.#policy.isWorthAtPause(stateBytes)) return;
    await this.#prepare(stateBytes)().catch(() => {});
  }

  /** Values kept as blobs are not in the tree's text; where there may be some, the snapshot is made from what is stored (C5). */
  #prepare(stateBytes: number): () => Promise<unknown> {
    const { env, run, root, committer, draft } = this.#core;
    const { seq, checksum } = committer;
    if (draft.hasBlobs && stateBytes >= env.limits.inlineBytes) {
      return async () => {
        const stored = await env.store.readRun(run);
        if (stored !== undefined) await writeStoredSnapshot(env.store, env.blobs, stored, seq);
      };
    }
    const json = encodeValue(root);
    return () => writeSnapshotText(env.store, run, seq, checksum, json);
  }
}
