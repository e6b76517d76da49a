/** Writes a run's snapshots, off the commit's path (C4). Without one, loading costs more, and nothing is lost. */
import { measureValue } from '../history/measure-value.ts';
import { SnapshotPolicy, type LoadCost } from '../history/snapshot-policy.ts';
import { writeSnapshotText } from '../history/write-snapshot.ts';
import { encodeValue } from '../state/codec.ts';
import type { RunCore } from './run-core.ts';

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
  afterCommit(landed: Promise<void>): void {
    if (!this.#policy.isDue) return;
    const core = this.#core;
    this.#policy.onMeasure(measureValue(core.root));
    if (!this.#policy.isDue) return;
    const { seq, checksum } = core.committer;
    const json = encodeValue(core.root);
    this.#policy.onSnapshot(json.length);
    landed.then(() => writeSnapshotText(core.env.store, core.run, seq, checksum, json)).catch(() => {});
  }

  /** When a run pauses, if that makes its head cheaper to read. */
  async atPause(): Promise<void> {
    const core = this.#core;
    if (!this.#policy.isWorthAtPause(measureValue(core.root))) return;
    const { seq, checksum } = core.committer;
    await writeSnapshotText(core.env.store, core.run, seq, checksum, encodeValue(core.root)).catch(() => {});
  }
}
