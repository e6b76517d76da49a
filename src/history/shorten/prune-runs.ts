/** Prunes runs as their owner, and removes what nothing refers to any more (C8, C5). */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { collectRuns } from '../place/all-rows.ts';
import { refusalOf } from '../place/hold.ts';
import type { WritePlace } from '../place/place.ts';
import { withClaim } from '../place/with-claim.ts';
import { isUnowned } from '../read/list-runs.ts';
import { addNamed, collectBlobs } from './collect-blobs.ts';
import { planPrune, pruneRun, type PruneReport } from './prune.ts';

/** Which checkpoints stay besides those that are needed. */
export interface KeepOptions {
  /** Keeps each checkpoint whose seq is a multiple of it. */
  readonly keepEvery?: number;
  /** Keeps so many of the newest. Default 1: the head. */
  readonly keepLast?: number;
  /** Only tells what would go, but for large values: nothing is changed. */
  readonly dryRun?: boolean;
}

/** What pruning did to a run; in a dry run, what it would do. */
export interface PrunedRun extends PruneReport {
  readonly runId: string;
}

/** What pruning did. */
export interface PrunedRuns {
  readonly pruned: readonly PrunedRun[];
  /** Runs that somebody works on: they were left as they are. */
  readonly busy: readonly string[];
  /** How many large values went that nothing refers to any more, and that are older than a day; in a dry run 0. */
  readonly blobs: number;
}

async function pruneOne(
  place: WritePlace,
  row: RunRow,
  { dryRun = false, ...options }: KeepOptions,
): Promise<PrunedRun> {
  const { store, blobs, isWorkerDead } = place;
  if (dryRun) {
    const { runId, claim } = row;
    if (claim !== undefined && !isUnowned(row, isWorkerDead)) throw refusalOf(runId, claim.workerId, claim.remainingMs);
    return { runId, ...(await planPrune(store, blobs, row, options)) };
  }
  const report = await withClaim(place, row, (claim, run) => pruneRun(store, blobs, claim, run, options));
  return { runId: row.runId, ...report };
}

/** Prunes one run, with the large values that only it named. @throws CLAIM_TAKEN, CHECKPOINT_CORRUPT */
export async function pruneOneRun(place: WritePlace, run: RunRow, options: KeepOptions = {}): Promise<PrunedRuns> {
  const { store, blobs, tenant } = place;
  const named = new Set<string>();
  await addNamed(store, run, named);
  const pruned = await pruneOne(place, run, options);
  const collected = options.dryRun === true ? 0 : await collectBlobs(store, blobs, tenant, named);
  return { pruned: [pruned], busy: [], blobs: collected };
}

/** Prunes every run, and removes every large value that nothing refers to, left by whomever. @throws CHECKPOINT_CORRUPT */
export async function pruneAllRuns(place: WritePlace, options: KeepOptions = {}): Promise<PrunedRuns> {
  const pruned: PrunedRun[] = [];
  const busy: string[] = [];
  for (const run of await collectRuns(place)) {
    try {
      pruned.push(await pruneOne(place, run, options));
    } catch (error) {
      if (!CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) throw error;
      busy.push(run.runId);
    }
  }
  const collected = options.dryRun === true ? 0 : await collectBlobs(place.store, place.blobs, place.tenant);
  return { pruned, busy, blobs: collected };
}
