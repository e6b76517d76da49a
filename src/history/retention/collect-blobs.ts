/** Removes blobs that nothing refers to any more (C5). */
import type { NamedBlob } from '../../ports/blob-references.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunKey, RunRow, Store } from '../../ports/store.ts';
import { listMetaBlobs } from '../stored/stored-meta.ts';
import { takeOutNeeded } from './needed-blobs.ts';
import { readNamed, readNamedIfSound } from './stored-texts.ts';

/** Blobs younger than this are spared, because a run stores a blob before it commits the reference to it. */
const sparedMs = 24 * 3_600_000;

/** What removed rows named, by hash, and whether each was in a value: the text of a graph, which its other runs share, is in a run's row. */
export type NamedBlobs = Map<string, { readonly isValue: boolean }>;

/**
 * Adds what runs name, their rows included. Call before they are removed. Their texts are read only where references may be missing; if a
 * history is damaged then, what can be read of it is added.
 */
export async function addNamed(
  store: Store,
  tenant: string,
  runIds: readonly string[],
  named: NamedBlobs,
): Promise<void> {
  const known = new Map((await store.references?.of(tenant, runIds))?.map((run) => [run.runId, run]));
  for (const runId of runIds) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined) continue;
    const found = known.get(runId);
    const hashes = found?.isRead === true ? found.named.map(({ hash }) => hash) : await readNamedIfSound(store, run);
    const ofGraph = new Set(listMetaBlobs(run));
    for (const hash of [...hashes, ...ofGraph]) named.set(hash, { isValue: !ofGraph.has(hash) });
  }
}

/** What a run names before a part of it is removed. */
export interface NamedBefore {
  readonly run: RunKey;
  readonly hashes: ReadonlySet<string>;
  readonly references: readonly NamedBlob[];
}

/** Looks up what a run names. Call before it is pruned. */
export async function readBeforePrune(store: Store, run: RunRow): Promise<NamedBefore> {
  const { tenant, runId } = run;
  const [found] = (await store.references?.of(tenant, [runId])) ?? [];
  const references = found?.named ?? [];
  const ofReferences = references.map(({ hash }) => hash);
  const hashes = found?.isRead === true ? ofReferences : [...ofReferences, ...(await readNamedIfSound(store, run))];
  return { run: { tenant, runId }, hashes: new Set(hashes), references };
}

/** Adds what a run that was pruned names no longer, and drops the references to it. */
export async function addDropped(store: Store, before: NamedBefore, named: NamedBlobs): Promise<void> {
  if (before.hashes.size === 0) return;
  const run = await store.readRun(before.run);
  // It was removed meanwhile, and its references with it.
  const still = run === undefined ? new Set<string>() : (await readNamed(store, run)).hashes;
  const dropped = before.references.filter(({ hash }) => !still.has(hash));
  if (dropped.length > 0) await store.references?.drop(before.run, dropped);
  for (const hash of before.hashes) if (!still.has(hash)) named.set(hash, { isValue: true });
}

/** What a collection did. */
export interface CollectedBlobs {
  /** Number of large values removed: nothing refers to them, and they are older than a day. */
  readonly blobs: number;
  /**
   * Number of large values of what was removed that stay for now, since they were stored within the last day, or since there are too many
   * runs whose texts would have to be read to know whether they need them. A later clean-up removes what none needs. Absent if there are none.
   */
  readonly blobsLeft?: number;
}

/** Lists the blobs that are old enough to be removed, and counts those that are not. */
async function listOld(
  blobs: BlobStore,
  tenant: string,
): Promise<{ readonly old: Set<string>; readonly young: Set<string> }> {
  const old = new Set<string>();
  const young = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await blobs.sweep(tenant, cursor === undefined ? {} : { cursor });
    for (const { hash, ageMs } of page.rows) (ageMs > sparedMs ? old : young).add(hash);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { old, young };
}

/**
 * Removes blobs of a tenant that are older than a day and that no run refers to: those that removed rows named, or all.
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
  const isOfValue = (hash: string): boolean => named.get(hash)?.isValue === true;
  if (isAll) {
    const { old, young } = await listOld(blobs, tenant);
    await takeOutNeeded(store, tenant, old, 'fill');
    return reportOf((await removeEach(blobs, tenant, old)).removed, [...young].filter(isOfValue).length);
  }
  const unneeded = new Set(named.keys());
  const isKnown = await takeOutNeeded(store, tenant, unneeded, 'some');
  const { removed, remaining } = isKnown
    ? await removeEach(blobs, tenant, unneeded)
    : { removed: 0, remaining: [...unneeded] };
  let count = 0;
  for (const hash of remaining.filter(isOfValue)) if (await blobs.has(tenant, hash)) count += 1;
  return reportOf(removed, count);
}

const reportOf = (blobs: number, left: number): CollectedBlobs => ({ blobs, ...(left > 0 && { blobsLeft: left }) });

/** Counts the blobs that a collection of all would remove. Removes nothing. */
export async function countUnneeded(store: Store, blobs: BlobStore, tenant: string): Promise<number> {
  const { old } = await listOld(blobs, tenant);
  await takeOutNeeded(store, tenant, old, 'all');
  return old.size;
}

/** Removes those that are old enough. @returns how many, and those that are not, or were not there */
async function removeEach(
  blobs: BlobStore,
  tenant: string,
  hashes: ReadonlySet<string>,
): Promise<{ readonly removed: number; readonly remaining: readonly string[] }> {
  const remaining: string[] = [];
  for (const hash of hashes) if (!(await blobs.remove(tenant, hash, sparedMs))) remaining.push(hash);
  return { removed: hashes.size - remaining.length, remaining };
}
