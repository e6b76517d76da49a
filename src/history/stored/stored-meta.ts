/** The meta of a run's row: what is needed to find the run's graph again and to compare it (H3). */
import { CairnError } from '../../errors.ts';
import type { Ids } from '../../ports/ids.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { hashParts, getOwn, setOwn } from '../../state/values/values.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { applyDelta } from '../../state/delta.ts';
import { checkpointId, type DecodedCheckpoint, blobHash, readBlobValue } from './checkpoint.ts';

/** A part of the system that starts runs under ids that it derives: a schedule, what a schedule started when it was due, a chat. */
export type RunOrigin = 'schedule' | 'due' | 'chat';

export interface StoredMeta {
  /** Path or URL of the module or file that exports the graph. The name of the export is in `exportName`. */
  readonly source?: string;
  readonly exportName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Set on runs that were imported without being trusted, and on their forks. */
  readonly isImported?: true;
  /** Set on runs that were restored from a backup without being trusted, and on their forks. */
  readonly isRestored?: true;
  /** What derived the run's id and started it; absent for runs that a caller started, for forks of them, and for imports not trusted. */
  readonly origin?: RunOrigin;
  /** Seed of the run's idempotency keys: see key-seed.ts. */
  readonly keySeed?: string;
  /** Hash of the graph that the run was started with, which `structure` and `text` describe. */
  readonly graphHash?: string;
  /** Hash of a blob with the graph's structure, as JSON. */
  readonly structure?: string;
  /** Hash of a blob with the graph's source text, as a JSON string. */
  readonly text?: string;
}

const decoder = new TextDecoder();

/** Decodes the meta of a run's row. @throws CHECKPOINT_CORRUPT it cannot be decoded */
export function metaOf({ key, meta }: Pick<RunRow, 'key' | 'meta'>): StoredMeta {
  if (meta.byteLength === 0) return {};
  try {
    const stored: unknown = JSON.parse(decoder.decode(meta));
    if (typeof stored !== 'object' || stored === null) throw new TypeError('it is no object');
    return stored;
  } catch (error) {
    const data = { checkpoint: key, reason: 'what its row keeps beside the run cannot be read' };
    throw new CairnError('CHECKPOINT_CORRUPT', data, { cause: error });
  }
}

/** The blobs that a run's row refers to. They belong to the run like those of its checkpoints. */
export function listMetaBlobs(run: Pick<RunRow, 'key' | 'meta'>): ReadonlySet<string> {
  const { structure, text } = metaOf(run);
  return new Set([structure, text].filter((hash) => hash !== undefined));
}

// The key seed of a run, from which its idempotency keys are derived: a hash of the store's identity, the tenant, the run's id and its birth.
// It is made when the run is admitted and stored in its row. So runs with the same id in two stores or tenants, or one after the other in
// one, never send a receiver the same keys (X1). Runs from before seeds existed use their id. A fork has its own seed and reads those of its ancestors from their rows.

const checkLength = 8;

function checkOf(seed: string): string {
  return hashParts(['key seed check', seed]).slice(0, checkLength);
}

/**
 * The birth of a new run: no other run has it, though one had the same id and was removed.
 * @param at - when the run is admitted, in epoch ms
 */
export function birthOf(ids: Pick<Ids, 'random'>, at: number): string {
  return `${at} ${ids.random()}`;
}

/**
 * The seed of a new run. It includes a check value, because a damaged seed would send effects again under other keys.
 * @param birth - tells the run from others that had its id before
 */
export async function makeKeySeed(
  store: Pick<Store, 'readIdentity'>,
  tenant: string,
  runId: string,
  birth: string,
): Promise<string> {
  const seed = hashParts(['key seed', await store.readIdentity(), tenant, runId, birth]);
  return `${seed}.${checkOf(seed)}`;
}

/** The seed of a run. @throws CHECKPOINT_CORRUPT its row is damaged */
export function keySeedOf(run: Pick<RunRow, 'runId' | 'key' | 'meta'>): string {
  const { keySeed } = metaOf(run);
  if (keySeed === undefined) return run.runId;
  const [seed = '', check] = keySeed.split('.');
  if (check === checkOf(seed)) return seed;
  throw new CairnError('CHECKPOINT_CORRUPT', { checkpoint: run.key, reason: 'the seed of its keys is damaged' });
}

// A state with values in their stored form, to which checkpoints are applied.

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
