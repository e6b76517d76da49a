/** Prunes runs under a claim, and removes blobs that nothing refers to any more (C8, C5). */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { requireIntact } from '../../ports/intact-run.ts';
import { readAllRuns } from '../access/read-all.ts';
import { refusalOf, withClaim } from '../access/claim-run.ts';
import type { WritePlace } from '../access/place.ts';
import { isUnowned } from '../read/list-runs.ts';
import { addDropped, collectBlobs, readBeforePrune, type CollectedBlobs, type NamedBlobs } from './collect-blobs.ts';
import { planPrune, pruneRun, type PruneReport } from './prune.ts';

/** Which checkpoints to keep besides those that are needed. */
export interface KeepOptions {
  /** Keep each checkpoint whose seq is a multiple of this number. */
  readonly keepEvery?: number;
  /** Keep this many of the newest checkpoints. Default 1: the head. */
  readonly keepLast?: number;
  /** Only report which checkpoints would be removed. Large values are not reported. */
  readonly dryRun?: boolean;
}

/** What pruning did to a run; in a dry run, what it would do. */
export interface PrunedRun extends PruneReport {
  readonly runId: string;
}

/** Report of pruning. */
export interface PrunedRuns extends CollectedBlobs {
  /** What went from each run. Of a store of many runs, the first 1,000 that had something to spare. */
  readonly pruned: readonly PrunedRun[];
  /** How many runs were looked at. */
  readonly runs: number;
  /** How many checkpoints were removed from all of them. */
  readonly checkpoints: number;
  /** Runs that were skipped because a worker has them. */
  readonly busy: readonly string[];
}

/** @param named - gets the hashes that the run names no more */
async function pruneOne(
  place: WritePlace,
  row: RunRow,
  { dryRun = false, ...options }: KeepOptions,
  named: NamedBlobs,
): Promise<PrunedRun> {
  const { store, blobs, isWorkerDead } = place;
  if (dryRun) {
    const { runId, claim } = row;
    if (claim !== undefined && !isUnowned(row, isWorkerDead)) throw refusalOf(runId, claim.workerId, claim.remainingMs);
    return { runId, ...(await planPrune(store, blobs, row, options)) };
  }
  const before = await readBeforePrune(store, row);
  const report = await withClaim(place, row, (claim, run) => pruneRun(store, blobs, claim, run, options));
  if (report.removed > 0) await addDropped(store, before, named);
  return { runId: row.runId, ...report };
}

/** Prunes one run, and removes large values that only it referred to. @throws CLAIM_TAKEN, CHECKPOINT_CORRUPT */
export async function pruneOneRun(place: WritePlace, run: RunRow, options: KeepOptions = {}): Promise<PrunedRuns> {
  const { store, blobs, tenant } = place;
  const named: NamedBlobs = new Map();
  const pruned = await pruneOne(place, run, options, named);
  const collected = options.dryRun === true ? { blobs: 0 } : await collectBlobs(store, blobs, tenant, named);
  return { pruned: [pruned], runs: 1, checkpoints: pruned.removed, busy: [], ...collected };
}

/** So many runs are reported one by one; first those that had something to spare. */
const reportedRuns = 1_000;

/**
 * Prunes every run, page by page, and removes every large value that nothing refers to.
 * @param progressed - called with how many runs were looked at
 * @throws CHECKPOINT_CORRUPT
 */
export async function pruneAllRuns(
  place: WritePlace,
  options: KeepOptions = {},
  progressed?: (runs: number) => void,
): Promise<PrunedRuns> {
  const pruned: PrunedRun[] = [];
  const spare: PrunedRun[] = [];
  const busy: string[] = [];
  const named: NamedBlobs = new Map();
  let [runs, checkpoints] = [0, 0];
  for await (const run of readAllRuns(place)) {
    requireIntact(place.store.name, run);
    runs += 1;
    try {
      const report = await pruneOne(place, run, options, named);
      checkpoints += report.removed;
      const reported = report.removed > 0 ? pruned : spare;
      if (reported.length < reportedRuns) reported.push(report);
    } catch (error) {
      if (!CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) throw error;
      busy.push(run.runId);
    }
    progressed?.(runs);
  }
  const { store, blobs, tenant } = place;
  const collected = options.dryRun === true ? { blobs: 0 } : await collectBlobs(store, blobs, tenant, named, true);
  return { pruned: [...pruned, ...spare].slice(0, reportedRuns), runs, checkpoints, busy, ...collected };
}
