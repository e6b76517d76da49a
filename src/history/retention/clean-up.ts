/** Removes runs and checkpoints that the settings of their graph do not retain (D17 to D22). */
import { isRunOver } from '../../state/tree.ts';
import { CairnError } from '../../errors.ts';
import type { RunRow, StoreSpace } from '../../ports/store.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { collectRuns, type WritePlace, withClaim } from '../access/place.ts';
import { newestFirst } from '../read/list-checkpoints.ts';
import { addNamed, collectBlobs, type CollectedBlobs, type NamedBlobs, takeOutNamed } from './collect-blobs.ts';
import { pruneRun } from './prune.ts';

/** What to keep of a graph's runs, and how long: the section `checkpoint` of a workflow or of the configuration. */
export interface CleanUpSettings {
  /** How many checkpoints to keep, the newest over all runs of the graph. Default 10. */
  readonly max_per_workflow?: number;
  /** A run that ended longer ago than this is removed. Default 86,400. */
  readonly ttl_seconds?: number;
  /** Whether to keep all checkpoints of paused runs. If false, their older ones are pruned too. Default true. */
  readonly keep_paused?: boolean;
}

export const cleanUpDefaults: Required<CleanUpSettings> = {
  max_per_workflow: 10,
  ttl_seconds: 86_400,
  keep_paused: true,
};

/** The settings for all graphs, or a function that gives those of a run's graph. Undefined means that nothing may be removed. */
export type SettingsFor = CleanUpSettings | ((run: RunRow) => Promise<CleanUpSettings | undefined>);

export interface CleanUpOptions {
  /** Only runs of this graph. */
  readonly graphId?: string;
  /** Only report what would be removed. */
  readonly dryRun?: boolean;
  /** Give free room back to the file system, see {@link vacuumPlace}. */
  readonly vacuum?: boolean;
}

/** Report of a clean-up; in a dry run, of what it would do. */
export interface CleanUpReport extends CollectedBlobs {
  /** Runs that ended longer ago than their settings allow. */
  readonly removed: readonly { readonly runId: string; readonly graphId: string; readonly endedAt: number }[];
  /** Runs whose older checkpoints were pruned. In a dry run, `checkpoints` is an upper bound. */
  readonly pruned: readonly { readonly runId: string; readonly graphId: string; readonly checkpoints: number }[];
  /** Runs that were skipped because a worker has them or because they have forks. */
  readonly skipped: readonly { readonly runId: string; readonly because: 'busy' | 'forked' }[];
  /** The space that the store takes now. Absent if it is unknown. */
  readonly space?: StoreSpace;
  /** With `vacuum`: how much room the file system got back; in a dry run, how much it could get at once. */
  readonly freedBytes?: number;
}

type Report = { readonly [Part in 'removed' | 'pruned' | 'skipped']: CleanUpReport[Part][number][] };

/** For each run, how many of its checkpoints are among the newest of all. */
async function countNewest(
  place: WritePlace,
  runs: readonly RunRow[],
  most: number,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let remaining = most;
  for await (const { run } of newestFirst(place, runs)) {
    if (remaining === 0) break;
    remaining -= 1;
    counts.set(run.runId, (counts.get(run.runId) ?? 0) + 1);
  }
  return counts;
}

class CleanUp {
  readonly report: Report = { removed: [], pruned: [], skipped: [] };
  readonly #place: WritePlace;
  readonly #settingsFor: SettingsFor;
  readonly #isDry: boolean;
  /** Hashes in removed rows: blobs that may not be needed any more. */
  readonly #named: NamedBlobs = new Map();

  constructor(place: WritePlace, settingsFor: SettingsFor, isDry: boolean) {
    this.#place = place;
    this.#settingsFor = settingsFor;
    this.#isDry = isDry;
  }

  /** Cleans up the runs of one graph. @param runs - all of them, newest first, so that forks come before their originals */
  async clean(runs: readonly RunRow[]): Promise<void> {
    const [newest] = runs;
    if (newest === undefined) return;
    const settingsFor = this.#settingsFor;
    const chosen = typeof settingsFor === 'function' ? await settingsFor(newest) : settingsFor;
    if (chosen === undefined) return;
    const settings = { ...cleanUpDefaults, ...chosen };
    const oldest = this.#place.now() - settings.ttl_seconds * 1000;
    const retained: RunRow[] = [];
    for (const run of runs) {
      const isExpired = isRunOver(run.status) && run.updatedAt < oldest;
      if (!isExpired || !(await this.#remove(run))) retained.push(run);
    }
    const counted = retained.filter(({ status }) => status !== 'paused' || !settings.keep_paused);
    const counts = await countNewest(this.#place, counted, settings.max_per_workflow);
    for (const run of counted)
      if (run.status !== 'running') await this.#prune(run, Math.max(1, counts.get(run.runId) ?? 0));
  }

  /**
   * Removes blobs that nothing refers to: those that removed rows named, or all, since what was too young at an earlier removal is old
   * enough by now.
   */
  async collect(isAll: boolean): Promise<CollectedBlobs> {
    const { store, blobs, tenant } = this.#place;
    return this.#isDry ? { blobs: 0 } : collectBlobs(store, blobs, tenant, this.#named, isAll);
  }

  /** Removes a run. @returns whether it is gone */
  async #remove(run: RunRow): Promise<boolean> {
    const { runId, graphId, updatedAt: endedAt, tenant } = run;
    const { store } = this.#place;
    const remove = async (): Promise<void> => {
      await addNamed(store, run, this.#named);
      await store.removeRun({ tenant, runId });
    };
    const isGone = this.#isDry || (await this.#attempt(runId, remove));
    if (isGone) this.report.removed.push({ runId, graphId, endedAt });
    return isGone;
  }

  async #prune(run: RunRow, keepLast: number): Promise<void> {
    const { runId, graphId, head, prunedBelow } = run;
    const most = head - Math.max(firstSeqOf(run), prunedBelow) + 1 - keepLast;
    if (most <= 0) return;
    const { store, blobs } = this.#place;
    let checkpoints = most;
    const prune = async (): Promise<void> => {
      const named: NamedBlobs = new Map();
      await addNamed(store, run, named);
      const report = await withClaim(this.#place, run, (claim, row) =>
        pruneRun(store, blobs, claim, row, { keepLast }),
      );
      checkpoints = report.removed;
      await takeOutNamed(store, run, named);
      for (const [hash, how] of named) this.#named.set(hash, how);
    };
    const isDone = this.#isDry || (await this.#attempt(runId, prune));
    if (isDone && checkpoints > 0) this.report.pruned.push({ runId, graphId, checkpoints });
  }

  /** Calls `act`; a run that a worker has, or that has forks, is skipped. @returns whether it was done */
  async #attempt(runId: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      // Another process may have removed the run meanwhile.
      if (CairnError.is(error, 'RUN_NOT_FOUND')) return false;
      const isForked = CairnError.is(error, 'HISTORY_HAS_FORKS');
      if (!isForked && !CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) throw error;
      this.report.skipped.push({ runId, because: isForked ? 'forked' : 'busy' });
      return false;
    }
  }
}

/** Cleans up a store. @throws STORE_* as the store; CHECKPOINT_CORRUPT a history is damaged, and stays as it is */
export async function cleanUpPlace(
  place: WritePlace,
  settingsFor: SettingsFor,
  { graphId, dryRun = false, vacuum = false }: CleanUpOptions = {},
): Promise<CleanUpReport> {
  const groups = Map.groupBy(await collectRuns(place, graphId), (run) => run.graphId);
  const work = new CleanUp(place, settingsFor, dryRun);
  for (const runs of groups.values()) await work.clean(runs);
  const collected = await work.collect(graphId === undefined);
  return { ...work.report, ...collected, ...(await readRoom(place, vacuum, dryRun)) };
}

async function readRoom(
  place: WritePlace,
  vacuum: boolean,
  isDry: boolean,
): Promise<Pick<CleanUpReport, 'space' | 'freedBytes'>> {
  const { store } = place;
  const vacuumed = vacuum && !isDry ? await vacuumPlace(place) : undefined;
  const space = vacuumed ?? (await store.readSpace?.());
  if (space === undefined) return {};
  const { sizeBytes, freeBytes } = space;
  const freedBytes = vacuumed?.freedBytes ?? freeBytes;
  return { space: { sizeBytes, freeBytes }, ...(vacuum && store.vacuum !== undefined && { freedBytes }) };
}

/** The space that a store takes after a vacuum. */
export interface VacuumReport extends StoreSpace {
  /** How much the file system got back. */
  readonly freedBytes: number;
}

/** Gives room back. @returns undefined if the store does so by itself. @throws STORE_BUSY */
export async function vacuumPlace({ store }: Pick<WritePlace, 'store'>): Promise<VacuumReport | undefined> {
  if (store.vacuum === undefined) return undefined;
  const before = await store.readSpace?.();
  await store.vacuum();
  const after = (await store.readSpace?.()) ?? { sizeBytes: 0, freeBytes: 0 };
  return { ...after, freedBytes: Math.max(0, (before?.sizeBytes ?? 0) - after.sizeBytes) };
}
