/** Loads the state of any checkpoint: the newest snapshot at or before it, and the deltas since (P3, C4, C6). */
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import { foldStored } from './fold-stored.ts';
import { resolveValues } from '../stored/checkpoint.ts';
import type { LoadCost } from './snapshot-policy.ts';

export { readHistory, readLineage, readOwner } from './lineage.ts';
export type { LoadCost } from './snapshot-policy.ts';
export { writeSnapshotOf } from './fold-stored.ts';

export interface LoadedState {
  /** The state as a plain mutable tree that belongs to the caller, with values decoded and blobs read. */
  readonly root: RunTree;
  readonly seq: number;
  /** Checksum that the next checkpoint names as its parent. */
  readonly checksum: Uint8Array;
  readonly cost: LoadCost;
}

/**
 * Loads the state at a checkpoint, by default the head. Everything read is verified, from the snapshot on. A damaged snapshot is skipped if
 * the deltas that it was made from still exist.
 * @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, CHECKPOINT_CORRUPT with the newest intact ancestor, CHECKPOINT_VERSION_UNKNOWN,
 * RUN_NOT_FOUND an ancestor is gone, BLOB_NOT_FOUND, BLOB_CORRUPT
 */
export async function loadState(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  seq: number = run.head,
): Promise<LoadedState> {
  const folded = await foldStored(store, blobs, run, seq);
  const { root: stored, hasTags } = folded.state;
  const root = hasTags ? await resolveValues(blobs, run.tenant, stored) : stored;
  return { root: root as RunTree, seq, checksum: folded.link, cost: folded.cost };
}
