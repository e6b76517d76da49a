/** Keeps of each graph's runs what settings say, and no more (D17 to D22). */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { collectRuns } from '../place/all-rows.ts';
import type { WritePlace } from '../place/place.ts';
import { withClaim } from '../place/with-claim.ts';
import { newestFirst } from '../read/checkpoint-walk.ts';
import { addNamed, collectBlobs } from './collect-blobs.ts';
import { pruneRun } from './prune.ts';

/** What is kept of the runs of a graph, and how long: as in the section `checkpoint` of a workflow or the configuration. */
export interface CleanUpSettings {
  /** Over all runs of the graph the newest so many checkpoints are kept. Default 10. */
  readonly max_per_workflow?: number;
  /** A run that ended longer ago is removed whole. Default 86,400. */
  readonly ttl_seconds?: number;
  /** false: older checkpoints of paused runs are pruned too. Default true. */
  readonly keep_paused?: boolean;
}

export const cleanUpDefaults: Required<CleanUpSettings> = {
  max_per_workflow: 10,
  ttl_seconds: 86_400,
  keep_paused: true,
};

/** The settings of all graphs, or those of the graph of a run; undefined: nobody has said that any of its runs should go. */
export type SettingsFor = CleanUpSettings | ((run: RunRow) => Promise<CleanUpSettings | undefined>);

export interface CleanUpOptions {
  /** Only runs of this graph. */
  readonly graphId?: string;
  /** Only tells what would go. */
  readonly dryRun?: boolean;
}

/** What a clean-up did; in a dry run, what it would do. */
export interface CleanUpReport {
  /** Runs that ended longer ago than their settings keep them. */
  readonly removed: readonly { readonly runId: string; readonly graphId: string; readonly endedAt: number }[];
  /** Runs whose older checkpoints were pruned; in a dry run, how many would be at most. */
  readonly pruned: readonly { readonly runId: string; readonly graphId: string; readonly checkpoints: number }[];
  /** How many large values went that nothing refers to any more, and that are older than a day. */
  readonly blobs: number;
  /** Runs that somebody works on, or that others were forked from: they were left as they are. */
  readonly left: readonly { readonly runId: string; readonly because: 'busy' | 'forked' }[];
}

type Report = { readonly [Part in Exclude<keyof CleanUpReport, 'blobs'>]: CleanUpReport[Part][number][] };

function hasEnded({ status }: RunRow): boolean {
  return status !== 'running' && status !== 'paused';
}

/** How many of each run's newest checkpoints are among the newest of all. */
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
  /** What removed rows named: blobs that may be needed no more. */
  readonly #named = new Set<string>();

  constructor(place: WritePlace, settingsFor: SettingsFor, isDry: boolean) {
    this.#place = place;
    this.#settingsFor = settingsFor;
    this.#isDry = isDry;
  }

  /** @param runs - all runs of one graph, newest first: so a fork comes before what it was forked from */
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
      const isExpired = hasEnded(run) && run.updatedAt < oldest;
      if (!isExpired || !(await this.#remove(run))) kept.push(run);
    }
    const counted = kept.filter(({ status }) => status !== 'paused' || !settings.keep_paused);
    const counts = await countNewest(this.#place, counted, settings.max_per_workflow);
    for (const run of counted)
      if (run.status !== 'running') await this.#prune(run, Math.max(1, counts.get(run.runId) ?? 0));
  }

  /** Removes what only removed rows named. @returns how many blobs */
  async collect(): Promise<number> {
    const { store, blobs, tenant } = this.#place;
    return this.#named.size === 0 ? 0 : collectBlobs(store, blobs, tenant, this.#named);
  }

  /** @returns whether the run is gone */
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

  /** @returns whether it was done: a run that is busy or forked from is left alone */
  async #attempt(runId: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      // Somebody else may have removed it meanwhile.
      if (CairnError.is(error, 'RUN_NOT_FOUND')) return false;
      const isForked = CairnError.is(error, 'HISTORY_HAS_FORKS');
      if (!isForked && !CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) throw error;
      this.report.left.push({ runId, because: isForked ? 'forked' : 'busy' });
      return false;
    }
  }
}

/** @throws STORE_* as the store; CHECKPOINT_CORRUPT a history is damaged: it is left as it is */
export async function cleanUpPlace(
  place: WritePlace,
  settingsFor: SettingsFor,
  { graphId, dryRun = false }: CleanUpOptions = {},
): Promise<CleanUpReport> {
  const groups = Map.groupBy(await collectRuns(place, graphId), (run) => run.graphId);
  const work = new CleanUp(place, settingsFor, dryRun);
  for (const runs of groups.values()) await work.clean(runs);
  return { ...work.report, blobs: await work.collect() };
}
