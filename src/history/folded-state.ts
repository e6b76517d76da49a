/** A state as it grows out of a snapshot and the deltas after it; values stay in their stored form. */
import { CairnError } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { CheckpointRow, RunRow } from '../ports/store.ts';
import { applyDelta } from '../state/delta.ts';
import { getOwn, setOwn } from '../state/plain.ts';
import { Chain } from './chain.ts';
import { checkpointId, rootChecksum, type DecodedCheckpoint } from './checkpoint.ts';
import { blobHash, readBlobText } from './resolve-values.ts';
import type { DecodedSnapshot } from './snapshot.ts';
import { costOf, type LoadCost } from './snapshot-policy.ts';

export class FoldedState {
  readonly #run: RunRow;
  readonly #blobs: BlobStore;
  readonly #base: DecodedSnapshot | undefined;
  #deltaBytes = 0;
  #rows = 0;
  #ownCost = 0;
  /** Undefined until the first row. */
  chain: Chain | undefined;
  readonly root: Record<string, unknown>;
  /** Whether any value may be a type tag. */
  hasTags: boolean;

  /** @param base - the snapshot to begin with; its own checkpoint's row comes first, to be verified */
  constructor(run: RunRow, blobs: BlobStore, base: DecodedSnapshot | undefined) {
    this.#run = run;
    this.#blobs = blobs;
    this.#base = base;
    this.root = base?.parseTree() ?? {};
    this.hasTags = base?.hasTags ?? false;
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
      if (checkpoint.hasTags) this.hasTags = true;
      if (this.hasTags) await this.#applyWithBlobs(run, checkpoint);
      else applyOps(this.root, run, checkpoint, checkpoint.ops);
      this.#deltaBytes += row.body.length;
      this.#rows += 1;
      if (run.key === this.#run.key) this.#ownCost += costOf(row.body.length, 1);
    }
  }

  /** An op that goes on from a value kept as a blob needs the value itself in the tree; it is read when that happens, and not before. */
  async #applyWithBlobs(run: RunRow, checkpoint: DecodedCheckpoint): Promise<void> {
    for (const op of checkpoint.ops) {
      const place = findGrownBlob(this.root, op);
      if (place !== undefined) {
        setOwn(place.holder, place.key, JSON.parse(await readBlobText(this.#blobs, run.tenant, place.hash)));
      }
      applyOps(this.root, run, checkpoint, [op]);
    }
  }
}

interface BlobPlace {
  readonly holder: object;
  readonly key: string;
  readonly hash: string;
}

/** The blob that an op appends to or reaches into, if there is one on its path. */
function findGrownBlob(root: object, op: unknown): BlobPlace | undefined {
  const [kind, path] = Array.isArray(op) ? (op as readonly unknown[]) : [];
  if (!Array.isArray(path)) return undefined;
  const keys = path as readonly string[];
  const depth = kind === 'a' || kind === 't' ? keys.length : keys.length - 1;
  let holder = root;
  for (const key of keys.slice(0, depth)) {
    const value = getOwn(holder, key);
    const hash = blobHash(value);
    if (hash !== undefined) return { holder, key, hash };
    if (typeof value !== 'object' || value === null) return undefined;
    holder = value;
  }
  return undefined;
}

function applyOps(
  root: Record<string, unknown>,
  run: RunRow,
  { seq, fold }: DecodedCheckpoint,
  ops: readonly unknown[],
): void {
  try {
    applyDelta(root, ops);
  } catch (error) {
    const data = {
      checkpoint: checkpointId(run.key, seq),
      reason: 'its delta does not apply',
      intact: checkpointId(run.key, fold?.after ?? seq - 1),
    };
    throw new CairnError('CHECKPOINT_CORRUPT', data, { cause: error });
  }
}
