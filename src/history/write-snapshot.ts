/** Writes snapshots, off the commit's path (C4). */
import { CairnError } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { RunKey, RunRow, Store } from '../ports/store.ts';
import { encodeValue } from '../state/codec.ts';
import type { RunTree } from '../state/tree.ts';
import { checkpointId } from './checkpoint.ts';
import { foldStored } from './fold-stored.ts';
import { measureValue } from './measure-value.ts';
import { readLink } from './lineage.ts';
import { tagMarker } from './resolve-values.ts';
import { encodeSnapshot } from './snapshot.ts';
import type { SnapshotPolicy } from './snapshot-policy.ts';

/** Under this size no value of a tree can be one that is kept as a blob by default; over it, that must be found out. */
const blobFreeBytes = 256 * 1024;

/**
 * Writes a snapshot of a checkpoint whose commit has landed; one that exists is kept.
 *
 * A small state is encoded as it is. A large one may hold values that are kept as blobs, which the live tree does not tell: it is put
 * together again from what is stored, so that those bytes are not stored twice (C5).
 * @param checksum - the checkpoint's link, as the chain has it
 * @param root - the state as of that checkpoint; encoded before the first await
 * @param blobs - absent: every value is written into the snapshot
 * @returns the size of the encoded state, bytes
 * @throws RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND, CHECKPOINT_CORRUPT
 */
export async function writeSnapshotOf(
  store: Store,
  key: RunKey,
  seq: number,
  checksum: Uint8Array,
  root: RunTree,
  blobs?: BlobStore,
): Promise<number> {
  const isStored = blobs !== undefined && measureValue(root) >= blobFreeBytes;
  const live = isStored ? undefined : encodeValue(root);
  const run = await requireRun(store, key);
  const treeJson = live ?? JSON.stringify((await foldStored(store, blobs!, run, seq)).state.root);
  const parent = await readLink(store, run, seq - 1);
  if (parent === undefined) {
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq - 1) });
  }
  const of = { link: checksum, parent };
  const snapshot = encodeSnapshot({ runKey: run.key, seq }, of, treeJson, treeJson.includes(tagMarker));
  await store.writeSnapshot(run, snapshot);
  return snapshot.body.length;
}

/**
 * After a commit: writes a snapshot if reading the head has become too dear. The state is measured first, since a state that only
 * grew is never worth one.
 */
export async function writeSnapshotIfDue(
  store: Store,
  blobs: BlobStore,
  key: RunKey,
  seq: number,
  checksum: Uint8Array,
  root: RunTree,
  policy: SnapshotPolicy,
): Promise<void> {
  if (!policy.isDue) return;
  policy.onMeasure(measureValue(root));
  if (!policy.isDue) return;
  policy.onSnapshot(await writeSnapshotOf(store, key, seq, checksum, root, blobs));
}

/** When a run pauses: writes a snapshot if it makes the head cheaper to read. */
export async function writeSnapshotAtPause(
  store: Store,
  blobs: BlobStore,
  key: RunKey,
  seq: number,
  checksum: Uint8Array,
  root: RunTree,
  policy: SnapshotPolicy,
): Promise<void> {
  if (!policy.isWorthAtPause(measureValue(root))) return;
  policy.onSnapshot(await writeSnapshotOf(store, key, seq, checksum, root, blobs));
}

async function requireRun(store: Store, key: RunKey): Promise<RunRow> {
  const run = await store.readRun(key);
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: key.runId });
  return run;
}
