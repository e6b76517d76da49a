/** Lists the runs of a store for people, newest first. */
import { CairnError } from '../../errors.ts';
import { titleLine } from '../../graph/run-title.ts';
import type { Labels, RunQuery, RunRow, StoredStatus } from '../../ports/store.ts';
import { readAllRuns } from '../access/read-all.ts';
import { isHeld } from '../access/claim-run.ts';
import type { ReadPlace } from '../access/place.ts';
import { openStatuses } from '../../ports/held-runs.ts';
import { datasetGraphId, deliveryGraphId, experimentGraphId, isOfExperiment } from '../stored/run-ids.ts';
import { metaOf } from '../stored/stored-meta.ts';
import type { AwaitedEffect } from './awaited-effects.ts';
import { CodeWaits, type CodeWait } from './list-workers.ts';

/** One run in a list. It is made from the run's row alone, without reading its state. */
export interface ListedRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: StoredStatus;
  /** Seq of the run's newest checkpoint. */
  readonly head: number;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  /** For a fork: the checkpoint that it was forked from. */
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Id of the worker that has claimed the run; absent if none has. */
  readonly claimedBy?: string;
  /** Whether the run was begun and is recorded as running although no live process works on it. */
  readonly isStopped: boolean;
  /** True if the run was admitted, and nobody has taken it up yet. */
  readonly isQueued?: true;
  /** Whether the run was restored from a backup and is held until it is released. */
  readonly isHeld: boolean;
  /** How many workers in a row ended at its newest checkpoint without giving it back. Absent if none did. */
  readonly deaths?: number;
  /** Whether an answer, a signal or a cancel request has not been taken yet. */
  readonly hasMessages: boolean;
  /** Set if the run could go on, and no live worker has the code for it. Only listings of many runs have it. */
  readonly waitsForCode?: CodeWait;
  /** What it waits for that a worker has begun that does not have it any more. Only listings of many runs have it. */
  readonly awaits?: readonly AwaitedEffect[];
  /** The labels by which it is found. Absent if it has none. */
  readonly labels?: Labels;
  /** Its title, if its graph has one. */
  readonly title?: string;
  /** True if the run's row is not as it was written. Nothing else reads the run. */
  readonly isDamaged?: true;
}

/**
 * The status shown to people, which adds to the recorded one. `queued`: nobody has taken the run up yet. `stopped`: the run's process has
 * died. `answered`: an answer has not been taken yet. `held`: restored from a backup and not released. `damaged`: its row is not as it was
 * written.
 */
export type ShownStatus = StoredStatus | 'queued' | 'stopped' | 'answered' | 'held' | 'damaged';

const shownStatuses: readonly ShownStatus[] = Object.keys({
  running: true,
  stopped: true,
  queued: true,
  paused: true,
  cancelling: true,
  answered: true,
  held: true,
  damaged: true,
  completed: true,
  failed: true,
  cancelled: true,
} satisfies Record<ShownStatus, true>) as ShownStatus[];

/** Which runs to list; all conditions must hold. */
export interface ListQuery {
  /** Only runs with one of these statuses, recorded or shown. */
  readonly status?: readonly ShownStatus[];
  /** Only runs of this graph. */
  readonly graphId?: string;
  /** Only forks of this run. */
  readonly forksOf?: string;
  /** Only runs that have all of these labels. */
  readonly labels?: Labels;
  /** Only runs created at or after this time, in epoch ms. */
  readonly since?: number;
  /** Only runs created before this time, in epoch ms. */
  readonly until?: number;
  /** The most to list. Default: all. */
  readonly limit?: number;
}

/** The recorded statuses that a run with this shown status can have. */
function recordedAs(status: ShownStatus): readonly StoredStatus[] {
  if (status === 'damaged') return [...openStatuses, 'completed', 'cancelled'];
  if (status === 'held') return openStatuses;
  return [status === 'stopped' || status === 'queued' ? 'running' : status === 'answered' ? 'paused' : status];
}

/** @throws CONFIG_INVALID `status` is not a list of statuses */
export function checkListQuery({ status }: ListQuery): void {
  const known: readonly unknown[] = shownStatuses;
  if (status === undefined || (Array.isArray(status) && status.every((each: unknown) => known.includes(each)))) return;
  const reason = `it is a list of ${shownStatuses.join(', ')}`;
  throw new CairnError('CONFIG_INVALID', { path: 'history.list: status', reason });
}

/** Whether no live worker has the run: there is no valid claim, or its holder is dead. */
export function isUnowned({ claim }: RunRow, isWorkerDead: ReadPlace['isWorkerDead']): boolean {
  return claim === undefined || isWorkerDead(claim.workerId) === true;
}

/** Whether a run was admitted and nobody has taken it up yet: a worker will. */
function isQueued({ status, claim, head, parent }: RunRow): boolean {
  return status === 'running' && claim === undefined && head === 0 && parent === undefined;
}

/** Whether a run was begun and is recorded as running although no live worker has it. */
export function isStopped(run: RunRow, isWorkerDead: ReadPlace['isWorkerDead']): boolean {
  return run.status === 'running' && isUnowned(run, isWorkerDead) && !isQueued(run);
}

/** The status shown to people. */
export function shownStatusOf({ status, isStopped, isQueued, isHeld, hasMessages, isDamaged }: ListedRun): ShownStatus {
  if (isDamaged === true) return 'damaged';
  if (isHeld) return 'held';
  if (isStopped) return 'stopped';
  if (isQueued === true) return 'queued';
  return status === 'paused' && hasMessages ? 'answered' : status;
}

/** The status of a run at one of its checkpoints: at the newest the one that lists show, before it the one that is recorded there. */
export function statusAt(
  run: RunRow,
  { seq, status }: { readonly seq: number; readonly status: StoredStatus },
  isWorkerDead: ReadPlace['isWorkerDead'],
): ShownStatus {
  return seq === run.head ? shownStatusOf(toListedRun(run, isWorkerDead)) : status;
}

/** Whether a run has an answer, or another message, that nobody takes until it is resumed. */
export function waitsForResume(run: RunRow, isWorkerDead: ReadPlace['isWorkerDead']): boolean {
  const status = shownStatusOf(toListedRun(run, isWorkerDead));
  return (
    run.hasMessages &&
    isUnowned(run, isWorkerDead) &&
    (status === 'answered' || status === 'stopped' || status === 'queued')
  );
}

/** Makes a list entry from a run's row. */
export function toListedRun(run: RunRow, isWorkerDead: ReadPlace['isWorkerDead']): ListedRun {
  const { runId, graphId, status, head, createdAt, updatedAt, parent, claim, hasMessages } = run;
  return {
    runId,
    graphId,
    status,
    head,
    createdAt,
    updatedAt,
    ...(parent !== undefined && { parent }),
    ...(claim !== undefined && !isHeld(run) && { claimedBy: claim.workerId }),
    isStopped: isStopped(run, isWorkerDead),
    ...(isQueued(run) && { isQueued: true as const }),
    isHeld: isHeld(run),
    ...(run.deaths > 0 && { deaths: run.deaths }),
    hasMessages,
    ...namesOf(run),
    ...(run.isDamaged === true && { isDamaged: true as const }),
  };
}

/** The labels of a run and its title. Those of a damaged row are not believed. */
export function namesOf(run: RunRow): Pick<ListedRun, 'labels' | 'title'> {
  const { labels = {}, title: stored } = run.isDamaged === true ? {} : metaOf(run);
  const title = titleLine(stored);
  return { ...(Object.keys(labels).length > 0 && { labels }), ...(title !== undefined && { title }) };
}

/** The store's query; statuses that only people are shown are distinguished afterwards. */
function storedQuery({ status, forksOf, ...others }: ListQuery): Omit<RunQuery, 'tenant' | 'cursor'> {
  const stored = status && [...new Set(status.flatMap(recordedAs))];
  return {
    ...(stored !== undefined && { status: stored }),
    ...others,
    ...(forksOf !== undefined && { parentRunId: forksOf }),
  };
}

/** Deliveries of webhooks and datasets are listed if their graph is asked for, and what experiments made if that is, or forks of a run are. */
const isLeftOut = ({ graphId: asked, forksOf }: ListQuery, { graphId, runId }: ListedRun): boolean =>
  isOfExperiment(runId)
    ? asked !== experimentGraphId && forksOf === undefined
    : asked === undefined && (graphId === deliveryGraphId || graphId === datasetGraphId);

const fits = (query: ListQuery, run: ListedRun): boolean => !isLeftOut(query, run) && fitsStatus(query, run);

const fitsStatus = ({ status }: ListQuery, run: ListedRun): boolean =>
  status === undefined || status.includes(run.status) || status.includes(shownStatusOf(run));

/** Whether a run is one that a query lists, by all that its row tells. */
export function fitsQuery(query: ListQuery, run: ListedRun): boolean {
  const { graphId, labels = {}, since = 0, until = Infinity, forksOf } = query;
  return (
    fits(query, run) &&
    (graphId === undefined || run.graphId === graphId) &&
    (forksOf === undefined || run.parent?.runId === forksOf) &&
    run.createdAt >= since &&
    run.createdAt < until &&
    Object.entries(labels).every(([name, value]) => run.labels?.[name] === value)
  );
}

/** Whether every run that the store lists fits, but for what is left out. */
const isDecidedByStore = ({ status }: ListQuery): boolean =>
  status === undefined || status.every((one) => (recordedAs(one) as readonly string[]).includes(one));

/**
 * How many runs there are, by the store alone. @param exceptIds - beginnings of ids of runs that are left out
 * @returns undefined if the store does not count, or what is asked for shows only when the runs are read
 */
export async function countRuns(
  { store, tenant }: Pick<ReadPlace, 'store' | 'tenant'>,
  query: ListQuery,
  exceptIds: readonly string[],
): Promise<number | undefined> {
  if (store.countRuns === undefined || !isDecidedByStore(query)) return undefined;
  return store.countRuns({ tenant, ...storedQuery(query), exceptIds });
}

/** Adds to a list entry what the run waits for: another worker, or code. */
async function withWaits({ store }: ReadPlace, codeWaits: CodeWaits, row: RunRow, run: ListedRun): Promise<ListedRun> {
  // Few runs are in another claim than their first, and the code that reads states is loaded for those alone.
  if (row.claim !== undefined && row.claims > 1 && !run.isHeld) {
    const { readAwaited } = await import('./awaited-effects.ts');
    const awaits = await readAwaited(store, row);
    if (awaits.length > 0) return { ...run, awaits };
  }
  // Of a run whose workers die it is no news that none is alive.
  const isOther = run.isHeld || run.isDamaged === true || run.deaths !== undefined;
  const waitsForCode = isOther ? undefined : await codeWaits.of(row);
  return waitsForCode === undefined ? run : { ...run, waitsForCode };
}

/** Where a walk through runs begins, and how many it reads at once. */
interface WalkOptions {
  readonly pageSize?: number;
  /** Of a page before, with the same query. */
  readonly cursor?: string;
}

/** Runs, newest first, reading as it goes. */
export async function* listRuns(
  place: ReadPlace,
  query: ListQuery = {},
  { pageSize = 200, cursor }: WalkOptions = {},
): AsyncGenerator<ListedRun> {
  const codeWaits = new CodeWaits(place);
  for await (const row of readAllRuns(place, { limit: pageSize, ...storedQuery(query) }, cursor)) {
    const run = toListedRun(row, place.isWorkerDead);
    if (fits(query, run)) yield await withWaits(place, codeWaits, row, run);
  }
}

export interface RunPage {
  readonly runs: readonly ListedRun[];
  /** Where the next page begins; absent on the last one. */
  readonly cursor?: string;
}

/** One page of the list. @param cursor - of the page before, with the same query @throws USAGE_INVALID it is of another store */
export async function pageOfRuns(
  place: ReadPlace,
  query: ListQuery,
  { limit, cursor: after }: { readonly limit: number; readonly cursor?: string },
): Promise<RunPage> {
  const { store, tenant, isWorkerDead } = place;
  const codeWaits = new CodeWaits(place);
  const read = async (size: number, cursor: string | undefined): Promise<RunPage> => {
    const from = { tenant, limit: size, ...(cursor !== undefined && { cursor }) };
    const page = await store.listRuns({ ...storedQuery(query), ...from });
    const listed = page.rows.map((row) => withWaits(place, codeWaits, row, toListedRun(row, isWorkerDead)));
    return { ...page, runs: await Promise.all(listed) };
  };
  const runs: ListedRun[] = [];
  let cursor = after;
  let leavesOut = false;
  for (;;) {
    const remaining = limit - runs.length;
    let page = await read(limit, cursor);
    // A page ends at the last run that is taken, since only the store says where it goes on behind a run.
    for (let end = endOf(query, page.runs, remaining); end < page.runs.length; end = endOf(query, page.runs, remaining))
      page = await read(end, cursor);
    runs.push(...page.runs.filter((run) => fits(query, run)));
    leavesOut ||= page.runs.some((run) => isLeftOut(query, run));
    ({ cursor } = page);
    if (cursor === undefined) return { runs };
    if (runs.length < limit) continue;
    const hasMore =
      (isDecidedByStore(query) && !leavesOut) || (await firstFrom(read, query, cursor, limit)) !== undefined;
    return hasMore ? { runs, cursor } : { runs };
  }
}

/** How many runs of a page hold the first `wanted` that fit. */
function endOf(query: ListQuery, runs: readonly ListedRun[], wanted: number): number {
  let found = 0;
  const last = runs.findIndex((run) => fits(query, run) && (found += 1) === wanted);
  return last === -1 ? runs.length : last + 1;
}

/** The first run that fits behind a cursor. */
async function firstFrom(
  read: (size: number, cursor: string | undefined) => Promise<RunPage>,
  query: ListQuery,
  start: string,
  pageSize: number,
): Promise<ListedRun | undefined> {
  for (let cursor: string | undefined = start; cursor !== undefined;) {
    const page: RunPage = await read(pageSize, cursor);
    const found = page.runs.find((run) => fits(query, run));
    if (found !== undefined) return found;
    ({ cursor } = page);
  }
  return undefined;
}
