/** Removes runs and checkpoints that the settings of their graph do not retain (D17 to D22). */
import { isUnderWay } from '../../state/tree.ts';
import { CairnError } from '../../errors.ts';
import { readRetention, type RetentionRules, type RetentionSettings } from '../../graph/retention.ts';
import { requireIntact } from '../../ports/intact-run.ts';
import type { RunRow, StoreSpace } from '../../ports/store.ts';
import { endedRunsOf } from '../access/ended-runs.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { readAllRuns } from '../access/read-all.ts';
import type { WritePlace } from '../access/place.ts';
import { withClaim } from '../access/claim-run.ts';
import { newestFirst } from '../read/newest-first.ts';
import { isHousekeeping } from '../stored/run-ids.ts';
import {
  expireRuns,
  expireSome,
  housekeepingRules,
  type ExpiredBatch,
  type ExpiredRun,
  type RetainedRun,
} from './apply-retention.ts';
import {
  addDropped,
  addNamed,
  collectBlobs,
  readBeforePrune,
  type CollectedBlobs,
  type NamedBlobs,
} from './collect-blobs.ts';
import { pruneRun } from './prune.ts';

/** What to keep of a graph's runs, and how long: the section `checkpoint` of a workflow or of the configuration. */
export interface CleanUpSettings {
  /** How many checkpoints to keep, the newest over all runs of the graph. Default 10. */
  readonly max_per_workflow?: number;
  /** A run that ended longer ago than this is removed. Default 86,400. */
  readonly ttl_seconds?: number;
  /** Whether to keep all checkpoints of paused runs. If false, their older ones are pruned too. Default true. */
  readonly keep_paused?: boolean;
  /** Which ended runs are kept, by age and by number. It comes before `ttl_seconds`, which has no default beside it. */
  readonly retention?: RetentionSettings;
}

export const cleanUpDefaults: Required<Omit<CleanUpSettings, 'retention'>> = {
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
  /**
   * Whether to look through all large values for those that nothing refers to, and through all paused runs for graphs of which none has
   * ended. Default: if no graph is named.
   */
  readonly sweeps?: boolean;
  /** Called after each transaction with how many runs were removed so far: for whoever holds a lease meanwhile, or says how far it is. */
  readonly beat?: (removed: number) => Promise<void> | void;
}

/** How much a clean-up did in all; in a dry run, would do. */
export interface CleanUpCounts {
  /** Graphs whose settings say what to keep. */
  readonly graphs: number;
  /** Runs that were removed. */
  readonly removed: number;
  /** Runs whose older checkpoints were pruned, and how many checkpoints these were. In a dry run, `checkpoints` is an upper bound. */
  readonly pruned: number;
  readonly checkpoints: number;
  /** Runs that stay though they would have gone. */
  readonly skipped: number;
}

/** Report of a clean-up; in a dry run, of what it would do. Each list names the first 1,000. */
export interface CleanUpReport extends CollectedBlobs {
  readonly counts: CleanUpCounts;
  /** Runs that ended, and that their settings keep no longer. */
  readonly removed: readonly ExpiredRun[];
  /** Runs whose older checkpoints were pruned. In a dry run, `checkpoints` is an upper bound. */
  readonly pruned: readonly { readonly runId: string; readonly graphId: string; readonly checkpoints: number }[];
  /** Runs that stay because a worker has them, or because they have forks or tags. */
  readonly skipped: readonly RetainedRun[];
  /** The space that the store takes now. Absent if it is unknown. */
  readonly space?: StoreSpace;
  /** With `vacuum`: how much room the file system got back; in a dry run, how much it could get at once. */
  readonly freedBytes?: number;
}

type Lists = Pick<CleanUpReport, 'removed' | 'pruned' | 'skipped'>;

/** So many runs are named in each list of a report. */
const reportedRuns = 1_000;

/** A report while it grows: of everything that is done it keeps the beginning and the number. */
class GrowingReport {
  readonly counts = { graphs: 0, removed: 0, pruned: 0, checkpoints: 0, skipped: 0 };
  readonly lists: { readonly [Part in keyof Lists]: Lists[Part][number][] } = { removed: [], pruned: [], skipped: [] };

  add<Part extends keyof Lists>(part: Part, entries: Lists[Part]): void {
    const list = this.lists[part] as Lists[Part][number][];
    list.push(...entries.slice(0, reportedRuns - list.length));
    this.counts[part] += entries.length;
  }
}

/** In a store without references: of so many runs, removed or pruned, the large values are looked up; after more, all are looked through. */
const namedRunsMax = 1_000;
/** Runs whose checkpoints are pruned when one has just ended: as all are pruned so, no others have any to spare. */
const prunedAfterRun = 50;

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

/** Which checkpoints of a graph stay; undefined if all do, since its settings speak of runs alone. */
function pruningOf(
  settings: CleanUpSettings,
): Required<Pick<CleanUpSettings, 'max_per_workflow' | 'keep_paused'>> | undefined {
  const isOfRuns = settings.retention !== undefined && Object.keys(settings).length === 1;
  return isOfRuns ? undefined : { ...cleanUpDefaults, ...settings };
}

function rulesOf(settings: CleanUpSettings): RetentionRules {
  const isAlone = settings.retention !== undefined;
  return readRetention(settings.retention, settings.ttl_seconds ?? (isAlone ? undefined : cleanUpDefaults.ttl_seconds));
}

class CleanUp {
  readonly #report = new GrowingReport();
  readonly #place: WritePlace;
  readonly #settingsFor: SettingsFor;
  readonly #options: CleanUpOptions;
  readonly #isDry: boolean;
  /** Hashes in removed rows: blobs that may not be needed any more. */
  readonly #named: NamedBlobs = new Map();
  /** In a dry run, the runs of the graph at hand that would go: the only list that grows with what is there. */
  readonly #expiring = new Set<string>();

  constructor(place: WritePlace, settingsFor: SettingsFor, options: CleanUpOptions) {
    this.#place = place;
    this.#settingsFor = settingsFor;
    this.#options = options;
    this.#isDry = options.dryRun === true;
  }

  get report(): Lists & Pick<CleanUpReport, 'counts'> {
    return { counts: this.#report.counts, ...this.#report.lists };
  }

  /** Cleans up the runs of one graph. They are read page by page. */
  async clean(graphId: string): Promise<void> {
    this.#expiring.clear();
    const { store, tenant } = this.#place;
    const [newest] = (await store.listRuns({ tenant, graphId, limit: 1 })).rows;
    if (newest === undefined) return;
    if (isHousekeeping(newest.runId)) return this.#expire(graphId, housekeepingRules, true);
    const settings = await this.#settingsOf(newest);
    if (settings === undefined) return;
    this.#report.counts.graphs += 1;
    await this.#expire(graphId, rulesOf(settings), false);
    const pruning = pruningOf(settings);
    if (pruning === undefined) return;
    const { max_per_workflow: most, keep_paused: keepsPaused } = pruning;
    // The newest checkpoints are of runs that were written last, which are no more than there are checkpoints.
    const written: RunRow[] = [];
    for await (const run of this.#counted(graphId, keepsPaused)) {
      written.push(run);
      if (written.length >= 2 * most + prunedAfterRun) written.sort(byWrite).splice(most);
    }
    const counts = await countNewest(this.#place, written.sort(byWrite).slice(0, most), most);
    for await (const run of this.#counted(graphId, keepsPaused))
      await this.#prune(run, Math.max(1, counts.get(run.runId) ?? 0));
  }

  async #expire(graphId: string, rules: RetentionRules, isOwn: boolean): Promise<void> {
    const beforeRemoval = (runIds: readonly string[]): Promise<void> => this.#name(runIds);
    const options = { isDry: this.#isDry, beforeRemoval, isHousekeeping: isOwn };
    for await (const batch of expireRuns(this.#place, graphId, rules, options)) {
      this.#take(batch);
      await this.#options.beat?.(this.#report.counts.removed);
    }
  }

  /** What one transaction removes, and the checkpoints of the runs that were started last and of this one. */
  async cleanSome(run: RunRow): Promise<void> {
    const { store, tenant } = this.#place;
    const settings = await this.#settingsOf(run);
    if (settings === undefined) return;
    this.#report.counts.graphs += 1;
    this.#take(await expireSome(this.#place, run, rulesOf(settings)));
    const pruning = pruningOf(settings);
    if (pruning === undefined) return;
    const { rows } = await store.listRuns({ tenant, graphId: run.graphId, limit: prunedAfterRun });
    const newest = rows.some(({ runId }) => runId === run.runId) ? rows : [...rows, run];
    const counted = newest.filter((one) => one.isDamaged !== true && isCounted(one, pruning.keep_paused));
    const counts = await countNewest(this.#place, counted, pruning.max_per_workflow);
    for (const one of counted) await this.#prune(one, Math.max(1, counts.get(one.runId) ?? 0));
  }

  async #settingsOf(run: RunRow): Promise<CleanUpSettings | undefined> {
    const settingsFor = this.#settingsFor;
    return typeof settingsFor === 'function' ? settingsFor(run) : settingsFor;
  }

  async *#counted(graphId: string, keepsPaused: boolean): AsyncGenerator<RunRow> {
    for await (const run of readAllRuns(this.#place, { graphId }))
      if (isCounted(requireIntact(this.#place.store.name, run), keepsPaused)) yield run;
  }

  #take({ removed, skipped }: ExpiredBatch): void {
    this.#report.add('removed', removed);
    this.#report.add('skipped', skipped);
    if (this.#isDry) for (const { runId } of removed) this.#expiring.add(runId);
  }

  /** How many runs were removed or pruned. */
  get #changed(): number {
    const { removed, pruned } = this.#report.counts;
    return removed + pruned;
  }

  /** Whether large values are looked up that were named. */
  get #isNaming(): boolean {
    return this.#place.store.references !== undefined || this.#changed <= namedRunsMax;
  }

  /** Notes the large values of runs that are about to be removed. */
  async #name(runIds: readonly string[]): Promise<void> {
    const { store, tenant } = this.#place;
    if (this.#isNaming) await addNamed(store, tenant, runIds, this.#named);
  }

  /**
   * Removes blobs that nothing refers to: those that removed rows named, or all, since what was too young at an earlier removal is old
   * enough by now.
   */
  async collect(isAll: boolean): Promise<CollectedBlobs> {
    const { store, blobs, tenant } = this.#place;
    if (this.#isDry) return { blobs: 0 };
    return collectBlobs(store, blobs, tenant, this.#named, isAll || !this.#isNaming);
  }

  async #prune(run: RunRow, keepLast: number): Promise<void> {
    const { runId, graphId, head, prunedBelow } = run;
    const most = head - Math.max(firstSeqOf(run), prunedBelow) + 1 - keepLast;
    if (most <= 0 || isUnderWay(run.status)) return;
    const { store, blobs } = this.#place;
    let checkpoints = most;
    const prune = async (): Promise<void> => {
      const before = this.#isNaming ? await readBeforePrune(store, run) : undefined;
      const report = await withClaim(this.#place, run, (claim, row) =>
        pruneRun(store, blobs, claim, row, { keepLast }),
      );
      checkpoints = report.removed;
      if (before !== undefined && report.removed > 0) await addDropped(store, before, this.#named);
    };
    if (this.#expiring.has(runId)) return;
    const isDone = this.#isDry || (await this.#attempt(runId, prune));
    if (!isDone || checkpoints === 0) return;
    this.#report.add('pruned', [{ runId, graphId, checkpoints }]);
    this.#report.counts.checkpoints += checkpoints;
  }

  /** Calls `act`; a run that a worker has is skipped. @returns whether it was done */
  async #attempt(runId: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      // Another process may have removed the run meanwhile.
      if (CairnError.is(error, 'RUN_NOT_FOUND')) return false;
      if (!CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) throw error;
      this.#report.add('skipped', [{ runId, because: 'busy' }]);
      return false;
    }
  }
}

const byWrite = (a: RunRow, b: RunRow): number => b.updatedAt - a.updatedAt;

const isCounted = ({ status }: RunRow, keepsPaused: boolean): boolean => status !== 'paused' || !keepsPaused;

/** The graphs that may have something to remove: those with runs that ended or, where all are looked through, that are paused. */
async function graphsOf(place: WritePlace, sweeps: boolean): Promise<readonly string[]> {
  const graphs = new Set(await endedRunsOf(place.store).graphs(place.tenant));
  if (!sweeps) return [...graphs];
  for await (const { graphId } of readAllRuns(place, { status: ['paused'] })) graphs.add(graphId);
  return [...graphs];
}

/** Cleans up a store, reading runs page by page. @throws STORE_* as the store; CHECKPOINT_CORRUPT a history is damaged, and stays as it is */
export async function cleanUpPlace(
  place: WritePlace,
  settingsFor: SettingsFor,
  options: CleanUpOptions = {},
): Promise<CleanUpReport> {
  const { graphId, dryRun = false, vacuum = false, sweeps = graphId === undefined } = options;
  const work = new CleanUp(place, settingsFor, options);
  for (const graph of graphId === undefined ? await graphsOf(place, sweeps) : [graphId]) await work.clean(graph);
  const collected = await work.collect(sweeps);
  return { ...work.report, ...collected, ...(await readRoom(place, vacuum, dryRun)) };
}

/** Cleans up after a run: at most one batch of runs that expired, and checkpoints of the newest runs. Large values wait for a whole clean-up. */
export async function cleanUpAfterRun(
  place: WritePlace,
  settingsFor: SettingsFor,
  run: RunRow,
): Promise<CleanUpReport> {
  const work = new CleanUp(place, settingsFor, {});
  await work.cleanSome(run);
  return { ...work.report, blobs: 0 };
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
