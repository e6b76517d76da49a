/** Writes snapshots, outside of commits (C4). */
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunKey, RunRow, Store } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { RunTree } from '../../state/tree.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { foldStored } from './fold-stored.ts';
import { readLink } from './lineage.ts';
import { tagMarker } from '../stored/resolve-values.ts';
import { encodeSnapshot } from '../stored/snapshot.ts';

/**
 * Writes a snapshot of a checkpoint that is committed. A snapshot that exists already is kept.
 * @param checksum - the checkpoint's link in the chain
 * @param root - the state at that checkpoint; it is encoded before the first await, so it may change afterwards
 * @returns the size of the encoded state in bytes
 * @throws RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND
 */
export async function writeSnapshotOf(
  store: Store,
  key: RunKey,
  seq: number,
  checksum: Uint8Array,
  root: RunTree,
): Promise<number> {
  return writeSnapshotText(store, key, seq, checksum, encodeValue(root));
}

/** Writes a snapshot of a state that is encoded already. @param treeJson - the text made by `encodeValue` */
export async function writeSnapshotText(
  store: Store,
  key: RunKey,
  seq: number,
  checksum: Uint8Array,
  treeJson: string,
): Promise<number> {
  const run = await store.readRun(key);
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: key.runId });
  return writeRow(store, run, seq, checksum, treeJson);
}

/**
 * Writes a snapshot of a state that is first loaded from the store. Values kept in blobs stay in blobs; a live tree no longer shows which
 * those are. Used for states large enough to hold one (C5).
 * @throws what loading the checkpoint throws
 */
export async function writeStoredSnapshot(store: Store, blobs: BlobStore, run: RunRow, seq: number): Promise<number> {
  const { state, link } = await foldStored(store, blobs, run, seq);
  return writeRow(store, run, seq, link, JSON.stringify(state.root));
}

async function writeRow(store: Store, run: RunRow, seq: number, link: Uint8Array, treeJson: string): Promise<number> {
  const parent = await readLink(store, run, seq - 1);
  if (parent === undefined) {
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq - 1) });
  }
  const hasTags = treeJson.includes(tagMarker);
  const snapshot = encodeSnapshot({ runKey: run.key, seq }, { link, parent }, treeJson, hasTags);
  await store.writeSnapshot(run, snapshot);
  return Buffer.byteLength(treeJson);
}
