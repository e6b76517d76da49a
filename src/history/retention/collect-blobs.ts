/** Removes blobs that nothing refers to any more (C5). */
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { requireIntact } from '../../ports/intact-run.ts';
import type { RunKey, RunRow, Store } from '../../ports/store.ts';
import { readAllRuns, readAllWaits } from '../access/read-all.ts';
import { checkpointText } from '../stored/checkpoint.ts';
import { asBuffer } from '../stored/checksum.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { readSnapshotText } from '../stored/chain.ts';
import { listMetaBlobs } from '../stored/stored-meta.ts';

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

/** Hashes in rows that are removed, and whether each was in a value: the text of a graph, which its other runs share, is in a run's row. */
export type NamedBlobs = Map<string, { readonly isValue: boolean }>;

/**
 * Adds the hashes in a run's own rows, which include those of its blobs. Call before the run, or a part of it, is removed. If the history
 * is damaged, what can be read of it is added.
 */
export async function addNamed(store: Store, key: RunKey, named: NamedBlobs): Promise<void> {
  const run = await store.readRun(key);
  if (run === undefined) return;
  const ofGraph = new Set(listMetaBlobs(run));
  try {
    for await (const text of textsOf(store, run))
      for (const [hash] of text.matchAll(hashes)) named.set(hash, { isValue: !ofGraph.has(hash) });
  } catch (error) {
    if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
  }
}

/** What a collection did. */
export interface CollectedBlobs {
  /** Number of large values removed: nothing refers to them, and they are older than a day. */
  readonly blobs: number;
  /**
   * Number of large values of what was removed that stay for now, since they were stored within the last day, or since there are too many
   * runs to look for others that need them. A later clean-up removes what none needs. Absent if there are none.
   */
  readonly blobsLeft?: number;
}

/** Takes out what a run that was pruned still names. */
export async function takeOutNamed(store: Store, key: RunKey, named: NamedBlobs): Promise<void> {
  const still: NamedBlobs = new Map();
  await addNamed(store, key, still);
  for (const hash of still.keys()) named.delete(hash);
}

/** Lists the blobs that are old enough to be removed, and counts those that are not. */
async function listOld(
  blobs: BlobStore,
  tenant: string,
  among: Readonly<Pick<NamedBlobs, 'has'>> | undefined,
): Promise<{ readonly old: Set<string>; readonly young: Set<string> }> {
  const old = new Set<string>();
  const young = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await blobs.sweep(tenant, cursor === undefined ? {} : { cursor });
    for (const { hash, ageMs } of page.rows) if (among?.has(hash) !== false) (ageMs > sparedMs ? old : young).add(hash);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { old, young };
}

/** To remove what some runs named, no more runs than these are read: of a larger store a sweep removes it. */
const searchedRuns = 2_000;

/**
 * Removes blobs of a tenant that are older than a day and that no run refers to. It reads runs until each of these blobs was found or all
 * runs were read. If no blob is old enough, no run is read. If there are many runs, what others named stays until all blobs are looked through.
 *
 * @param named - those that removed rows named
 * @param isAll - whether to look through all blobs, since what was too young at an earlier removal is old enough by now. Default: only `named`
 */
export async function collectBlobs(
  store: Store,
  blobs: BlobStore,
  tenant: string,
  named: Readonly<NamedBlobs>,
  isAll = false,
): Promise<CollectedBlobs> {
  if (named.size === 0 && !isAll) return { blobs: 0 };
  const { old, young } = await listOld(blobs, tenant, isAll ? undefined : named);
  const isSearched = await takeOutNeeded(store, tenant, old, isAll ? Infinity : searchedRuns);
  const remaining = [...young, ...(isSearched ? [] : old)].filter((hash) => named.get(hash)?.isValue === true).length;
  const report = remaining === 0 ? {} : { blobsLeft: remaining };
  return { blobs: isSearched ? await removeEach(blobs, tenant, old) : 0, ...report };
}

/** Counts the blobs that a collection of all would remove. Removes nothing. */
export async function countUnneeded(store: Store, blobs: BlobStore, tenant: string): Promise<number> {
  const { old } = await listOld(blobs, tenant, undefined);
  await takeOutNeeded(store, tenant, old);
  return old.size;
}

/** @returns how many of them were removed */
async function removeEach(blobs: BlobStore, tenant: string, old: ReadonlySet<string>): Promise<number> {
  let removed = 0;
  for (const hash of old) if (await blobs.remove(tenant, hash, sparedMs)) removed += 1;
  return removed;
}

/** Leaves only those to which no run refers. @returns false if there are more runs than `runsMax`: then it is not known */
async function takeOutNeeded(store: Store, tenant: string, old: Set<string>, runsMax = Infinity): Promise<boolean> {
  if (old.size === 0) return true;
  let count = 0;
  // Rows are read first: they are quick to read and hold the blobs that most runs share.
  for await (const run of readAllRuns({ store, tenant })) {
    requireIntact(store.name, run);
    for (const [hash] of asBuffer(run.meta).toString('latin1').matchAll(hashes)) old.delete(hash);
    if (old.size === 0) return true;
    count += 1;
    if (count > runsMax) return false;
  }
  for await (const run of readAllRuns({ store, tenant })) {
    for await (const text of textsOf(store, run)) {
      for (const [hash] of text.matchAll(hashes)) old.delete(hash);
      if (old.size === 0) return true;
    }
  }
  return true;
}
