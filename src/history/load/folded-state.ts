/**
 * A state while it is being loaded: it starts from a snapshot, and each verified row after it is applied. It also counts what that costs.
 */
import type { BlobStore } from '../../ports/blobs.ts';
import type { CheckpointRow, RunRow } from '../../ports/store.ts';
import { Chain } from '../stored/chain.ts';
import { rootChecksum } from '../stored/checkpoint.ts';
import type { DecodedSnapshot } from '../stored/snapshot.ts';
import { costOf, type LoadCost } from './snapshot-policy.ts';
import { StoredState } from '../stored/stored-state.ts';

export class FoldedState {
  readonly #run: RunRow;
  readonly #blobs: BlobStore;
  readonly #base: DecodedSnapshot | undefined;
  #deltaBytes = 0;
  #rows = 0;
  #ownCost = 0;
  readonly state: StoredState;
  /** Undefined until the first row is applied. */
  chain: Chain | undefined;

  /** @param base - the snapshot to start with. The row of its own checkpoint must come first; it is verified but not applied */
  constructor(run: RunRow, blobs: BlobStore, base: DecodedSnapshot | undefined) {
    this.#run = run;
    this.#blobs = blobs;
    this.#base = base;
    this.state = new StoredState(base?.parseTree() ?? {}, base?.hasTags ?? false);
  }

  /** Checksum that the next checkpoint names as its parent. */
  get link(): Uint8Array {
    return this.chain?.link ?? rootChecksum;
  }

  get cost(): LoadCost {
    return {
      deltaBytes: this.#deltaBytes,
      rows: this.#rows,
      ownCost: this.#ownCost,
      stateBytes: this.#base?.treeBytes ?? 0,
      snapshotSeq: this.#base?.seq,
    };
  }

  /**
   * Verifies the next rows and applies them.
   * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, BLOB_NOT_FOUND, BLOB_CORRUPT
   */
  async apply(run: RunRow, rows: readonly CheckpointRow[]): Promise<void> {
    for (const row of rows) {
      if (this.chain === undefined && this.#base !== undefined) {
        this.chain = Chain.from(run, row, this.#base);
        continue;
      }
      this.chain ??= new Chain(-1, rootChecksum);
      const checkpoint = this.chain.verify(run, row);
      const slow = this.state.apply(this.#blobs, run, checkpoint);
      if (slow !== undefined) await slow;
      this.#deltaBytes += checkpoint.sizeBytes;
      this.#rows += 1;
      if (run.key === this.#run.key) this.#ownCost += costOf(checkpoint.sizeBytes, 1);
    }
  }
}
