/** Removes runs and checkpoints that the settings of their graph do not keep (D17 to D22). */
import { isRunOver } from '../../state/tree.ts';
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { collectRuns, type WritePlace, withClaim } from '../place/place.ts';
import { newestFirst } from '../read/list-checkpoints.ts';
import { addNamed, collectBlobs } from './collect-blobs.ts';
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
}

/** Report of a clean-up; in a dry run, of what it would do. */
export interface CleanUpReport {
  /** Runs that ended longer ago than their settings allow. */
  readonly removed: readonly { readonly runId: string; readonly graphId: string; readonly endedAt: number }[];
  /** Runs whose older checkpoints were pruned. In a dry run, `checkpoints` is an upper bound. */
  readonly pruned: readonly { readonly runId: string; readonly graphId: string; readonly checkpoints: number }[];
  /** Number of large values removed: nothing refers to them, and they are older than a day. */
  readonly blobs: number;
  /** Runs that were left alone because a worker has them or because they have forks. */
  readonly left: readonly { readonly runId: string; readonly because: 'busy' | 'forked' }[];
}

type Report = { readonly [Part in Exclude<keyof CleanUpReport, 'blobs'>]: CleanUpReport[Part][number][] };

/** For each run, how many of its checkpoints are among the newest of all. */
async function countNewest(
  place: WritePlace,
  runs: readonly RunRow[],
  most: number,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let left = most;
  for await (const { run } of newestFirst(place, runs)) {
    if (left === 0) break;
    left -= 1;
    counts.set(run.runId, (counts.get(run.runId) ?? 0) + 1);
  }
  return counts;
}

class CleanUp {
  readonly report: Report = { removed: [], pruned: [], left: [] };
  readonly #place: WritePlace;
  readonly #settingsFor: SettingsFor;
  readonly #isDry: boolean;
  /** Hashes in removed rows: blobs that may not be needed any more. */
  readonly #named = new Set<string>();

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
    const given = typeof settingsFor === 'function' ? await settingsFor(newest) : settingsFor;
    if (given === undefined) return;
    const settings = { ...cleanUpDefaults, ...given };
    const oldest = this.#place.now() - settings.ttl_seconds * 1000;
    const kept: RunRow[] = [];
    for (const run of runs) {
      const isExpired = isRunOver(run.status) && run.updatedAt < oldest;
      if (!isExpired || !(await this.#remove(run))) kept.push(run);
    }
    const counted = kept.filter(({ status }) => status !== 'paused' || !settings.keep_paused);
    const counts = await countNewest(this.#place, counted, settings.max_per_workflow);
    for (const run of counted)
      if (run.status !== 'running') await this.#prune(run, Math.max(1, counts.get(run.runId) ?? 0));
  }

  /**
   * Removes blobs that nothing refers to: those that removed rows named, or all, since what was too young at an earlier removal is old
   * enough by now. @returns their number
   */
  async collect(isAll: boolean): Promise<number> {
    const { store, blobs, tenant } = this.#place;
    if (this.#isDry) return 0;
    if (isAll) return collectBlobs(store, blobs, tenant);
    return this.#named.size === 0 ? 0 : collectBlobs(store, blobs, tenant, this.#named);
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
      await addNamed(store, run, this.#named);
      const report = await withClaim(this.#place, run, (claim, row) =>
        pruneRun(store, blobs, claim, row, { keepLast }),
      );
      checkpoints = report.removed;
    };
    const isDone = this.#isDry || (await this.#attempt(runId, prune));
    if (isDone && checkpoints > 0) this.report.pruned.push({ runId, graphId, checkpoints });
  }

  /** Calls `act`; a run that a worker has, or that has forks, is left alone. @returns whether it was done */
  async #attempt(runId: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      // Another process may have removed the run meanwhile.
      if (CairnError.is(error, 'RUN_NOT_FOUND')) return false;
      const isForked = CairnError.is(error, 'HISTORY_HAS_FORKS');
      if (!isForked && !CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) throw error;
      this.report.left.push({ runId, because: isForked ? 'forked' : 'busy' });
      return false;
    }
  }
}

/** Cleans up a store. @throws STORE_* as the store; CHECKPOINT_CORRUPT a history is damaged, and is left as it is */
export async function cleanUpPlace(
  place: WritePlace,
  settingsFor: SettingsFor,
  { graphId, dryRun = false }: CleanUpOptions = {},
): Promise<CleanUpReport> {
  const groups = Map.groupBy(await collectRuns(place, graphId), (run) => run.graphId);
  const work = new CleanUp(place, settingsFor, dryRun);
  for (const runs of groups.values()) await work.clean(runs);
  return { ...work.report, blobs: await work.collect(graphId === undefined) };
}
