/** A state with values in their stored form, to which checkpoints are applied. */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { getOwn, setOwn } from '../../state/values/plain-object.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { applyDelta } from '../../state/delta.ts';
import { checkpointId, type DecodedCheckpoint, blobHash, readBlobValue } from './checkpoint.ts';

/** The run that the state belongs to. */
export type StateOwner = Pick<RunRow, 'key' | 'tenant'>;

export class StoredState {
  readonly root: Record<string, unknown>;
  /** Whether any value may be a type tag. */
  hasTags: boolean;

  constructor(root: Record<string, unknown>, hasTags: boolean) {
    this.root = root;
    this.hasTags = hasTags;
  }

  /**
   * Applies a checkpoint's ops. Returns a promise only if a blob may have to be read. @throws CHECKPOINT_CORRUPT, BLOB_NOT_FOUND,
   * BLOB_CORRUPT
   */
  apply(blobs: BlobStore, run: StateOwner, checkpoint: DecodedCheckpoint): Promise<void> | undefined {
    if (checkpoint.hasTags) this.hasTags = true;
    if (this.hasTags) return this.#applyWithBlobs(blobs, run, checkpoint);
    applyOps(this.root, run, checkpoint, checkpoint.ops);
    return undefined;
  }

  async #applyWithBlobs(blobs: BlobStore, run: StateOwner, checkpoint: DecodedCheckpoint): Promise<void> {
    for (const op of checkpoint.ops) {
      await inlineGrownBlob(this.root, blobs, run.tenant, op);
      applyOps(this.root, run, checkpoint, [op]);
    }
  }
}

/**
 * If an op changes a value that is stored as a blob, reads the blob and puts the value itself into the tree. Blobs are not read before
 * that.
 */
export async function inlineGrownBlob(root: object, blobs: BlobStore, tenant: string, op: unknown): Promise<void> {
  const place = findGrownBlob(root, op);
  if (place === undefined) return;
  setOwn(place.holder, place.key, await readBlobValue(blobs, tenant, place.hash, JSON.parse));
}

interface BlobPlace {
  readonly holder: object;
  readonly key: string;
  readonly hash: string;
}

/** The blob on an op's path that the op appends to or reaches into; undefined if there is none. */
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
  run: StateOwner,
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
