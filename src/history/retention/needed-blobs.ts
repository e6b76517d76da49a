/**
 * Says which blobs are still needed (C5). References tell it at the cost of what is asked. Texts are read only of runs of which references may
 * be missing: those that a version without references has written to, and all of a store without references.
 */
import { requireIntact } from '../../ports/intact-run.ts';
import type { BlobReferences } from '../../ports/blob-references.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { readAllRuns } from '../access/read-all.ts';
import { listMetaBlobs } from '../stored/stored-meta.ts';
import { hashesInMeta, readNamed } from './stored-texts.ts';

/** How many hashes are asked about at once, and how many runs are listed. */
const [askedAtOnce, pageRuns] = [500, 100];

/** Where something else would have to be read: no more runs than these. */
const searchedRuns = 2_000;

/**
 * How far is looked. `some`: what was removed; of the runs whose texts would have to be read, at most 2,000 are. `all`: as far as needed.
 * `fill`: so too, and references that are missing are noted.
 */
export type Search = 'some' | 'all' | 'fill';

/** Leaves only those to which no run refers. @returns false if there are too many runs to read: then it is not known */
export async function takeOutNeeded(store: Store, tenant: string, left: Set<string>, search: Search): Promise<boolean> {
  if (left.size === 0) return true;
  const { references } = store;
  if (references === undefined) return searchAll(store, tenant, left, search === 'some' ? searchedRuns : Infinity);
  if (search === 'fill') await searchUnread(store, references, tenant, left, search);
  for (const hashes of inParts([...left])) for (const hash of await references.named(tenant, hashes)) left.delete(hash);
  await takeOutDefined(store, references, tenant, left, search !== 'some');
  return left.size === 0 || search === 'fill' || searchUnread(store, references, tenant, left, search);
}

function* inParts(hashes: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < hashes.length; from += askedAtOnce) yield hashes.slice(from, from + askedAtOnce);
}

/**
 * Takes out what defines a graph that has runs. Of a graph that was changed since, its runs tell whether one still has the definition, which is
 * looked at only where all is looked through.
 */
async function takeOutDefined(
  store: Store,
  references: BlobReferences,
  tenant: string,
  left: Set<string>,
  isExact: boolean,
): Promise<void> {
  const byGraph = new Map<string, Set<string>>();
  for (const hashes of inParts([...left]))
    for (const { hash, graphId } of await references.defined(tenant, hashes))
      byGraph.set(graphId, (byGraph.get(graphId) ?? new Set()).add(hash));
  for (const [graphId, hashes] of byGraph) {
    const { rows } = await store.listRuns({ tenant, graphId, limit: 1 });
    if (rows.length === 0) continue;
    if (!isExact) for (const hash of hashes) left.delete(hash);
    else await searchRows(store, tenant, graphId, hashes, left);
  }
}

/** Looks for a graph's definitions in the rows of its runs, the newest first, which nearly all have the newest. */
async function searchRows(
  store: Store,
  tenant: string,
  graphId: string,
  hashes: Set<string>,
  left: Set<string>,
): Promise<void> {
  for await (const run of readAllRuns({ store, tenant }, { graphId })) {
    for (const hash of listMetaBlobs(requireIntact(store.name, run))) if (hashes.delete(hash)) left.delete(hash);
    if (hashes.size === 0) return;
  }
}

/** Reads the runs of which references may be missing. */
async function searchUnread(
  store: Store,
  references: BlobReferences,
  tenant: string,
  left: Set<string>,
  search: Search,
): Promise<boolean> {
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await references.listUnread(tenant, { limit: pageRuns, ...(cursor !== undefined && { cursor }) });
    for (const runId of page.rows) {
      count += 1;
      if (search === 'some' && count > searchedRuns) return false;
      const run = await store.readRun({ tenant, runId });
      if (run === undefined) continue;
      const { hashes, read } = await readNamed(store, run);
      for (const hash of hashes) left.delete(hash);
      if (search === 'fill') await fill(references, run, hashes, read);
      else if (left.size === 0) return true;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return true;
}

/** Notes what was found in a run's texts, so that they need not be read again. */
async function fill(
  references: BlobReferences,
  run: RunRow,
  hashes: ReadonlySet<string>,
  read: Parameters<BlobReferences['add']>[2],
): Promise<void> {
  const defining = [...listMetaBlobs(run)];
  if (defining.length > 0) await references.define(run.tenant, run.graphId, defining);
  const named = [...hashes].filter((hash) => !defining.includes(hash));
  await references.add({ tenant: run.tenant, runId: run.runId }, named, read);
}

/** Without references: rows are read first, as they are quick to read and have the blobs that most runs share. */
async function searchAll(store: Store, tenant: string, left: Set<string>, runsMax: number): Promise<boolean> {
  let count = 0;
  for await (const run of readAllRuns({ store, tenant })) {
    requireIntact(store.name, run);
    for (const hash of hashesInMeta(run)) left.delete(hash);
    if (left.size === 0) return true;
    count += 1;
    if (count > runsMax) return false;
  }
  for await (const run of readAllRuns({ store, tenant })) {
    for (const hash of (await readNamed(store, run)).hashes) left.delete(hash);
    if (left.size === 0) return true;
  }
  return true;
}
