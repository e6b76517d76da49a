/** Removes blobs that nothing refers to any more (C5). */
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { requireSound } from '../../ports/sound-run.ts';
import type { RunKey, RunRow, Store } from '../../ports/store.ts';
import { readAllRuns, readAllWaits } from '../place/place.ts';
import { checkpointText } from '../stored/checkpoint.ts';
import { asBuffer } from '../stored/messages.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { readSnapshotText } from '../stored/chain.ts';

/** Blobs younger than this are spared, because a run stores a blob before it commits the reference to it. */
const sparedMs = 24 * 3_600_000;
const pageRows = 256;

/** Matches the hashes in a stored text. However a blob is referred to (as a value, a file or a node's output), its hash is in the text. */
const hashes = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

/** Every text stored for a run: its row, checkpoints, snapshots, open waits and messages. Its ancestors' texts belong to them. */
async function* textsOf(store: Store, run: RunRow): AsyncGenerator<string> {
  const text = (bytes: Uint8Array): string => asBuffer(bytes).toString('latin1');
  yield text(run.meta);
  for (let from = firstSeqOf(run); from <= run.head;) {
    const rows = await store.readCheckpoints(run, { from, to: run.head, limit: pageRows });
    for (const row of rows) yield checkpointText(run.key, row);
    from = (rows.at(-1)?.seq ?? run.head) + 1;
  }
  for (let seq = run.head; seq >= 0;) {
    const snapshot = await store.readSnapshot(run, seq);
    if (snapshot === undefined) break;
    yield readSnapshotText(run.key, snapshot);
    seq = snapshot.seq - 1;
  }
  for await (const { body } of readAllWaits({ store, tenant: run.tenant }, { runId: run.runId })) yield text(body);
  for (const { body } of await store.readMessages(run)) yield text(body);
}

/**
 * Adds the hashes in a run's own rows, which include those of its blobs. Call before the run, or a part of it, is removed. If the history
 * is damaged, what can be read of it is added.
 */
export async function addNamed(store: Store, key: RunKey, named: Set<string>): Promise<void> {
  const run = await store.readRun(key);
  if (run === undefined) return;
  try {
    for await (const text of textsOf(store, run)) for (const [hash] of text.matchAll(hashes)) named.add(hash);
  } catch (error) {
    if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
  }
}

/** Lists the blobs that are old enough to be removed. */
async function listOld(blobs: BlobStore, tenant: string, among: ReadonlySet<string> | undefined): Promise<Set<string>> {
  const old = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await blobs.sweep(tenant, cursor === undefined ? {} : { cursor });
    for (const { hash, ageMs } of page.rows) if (ageMs > sparedMs && among?.has(hash) !== false) old.add(hash);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return old;
}

/**
 * Removes blobs of a tenant that are older than a day and that no run refers to. It reads runs until each of these blobs was found or all
 * runs were read. If no blob is old enough, no run is read.
 *
 * @param among - only these blobs; default: all
 * @returns the number removed
 */
export async function collectBlobs(
  store: Store,
  blobs: BlobStore,
  tenant: string,
  among?: ReadonlySet<string>,
): Promise<number> {
  const old = await listOld(blobs, tenant, among);
  // Rows are read first: they are quick to read and hold the blobs that most runs share.
  for await (const run of readAllRuns({ store, tenant })) {
    if (old.size === 0) return 0;
    requireSound(store.name, run);
    for (const [hash] of asBuffer(run.meta).toString('latin1').matchAll(hashes)) old.delete(hash);
  }
  for await (const run of readAllRuns({ store, tenant })) {
    for await (const text of textsOf(store, run)) {
      if (old.size === 0) return 0;
      for (const [hash] of text.matchAll(hashes)) old.delete(hash);
    }
  }
  let removed = 0;
  for (const hash of old) if (await blobs.remove(tenant, hash, sparedMs)) removed += 1;
  return removed;
}
