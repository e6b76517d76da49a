/** Listings of stores that keep their data in memory: they filter, sort, and cut out a page. */
import { isRunOver, isUnderWay } from '../state/tree.ts';
import type { EndedQuery, EndedRun } from '../ports/removals.ts';
import { anyCode, codeOfRun } from '../ports/graph-code.ts';
import { isDueBy, type RunSchedule } from '../ports/schedule.ts';
import type { CodeCount, OpenCounts } from '../ports/run-counts.ts';
import type {
  Admission,
  CheckpointRow,
  Labels,
  WorkerMismatch,
  RunRow,
  SnapshotRow,
  StoredStatus,
  WaitRow,
  ClaimableQuery,
  CountQuery,
  MessageRow,
  OpenWait,
  Page,
  RunQuery,
  WaitQuery,
  WorkerBeat,
} from '../ports/store.ts';
import { CairnError } from '../errors.ts';
import { isAhead, type HostClock } from './host-clock.ts';

// One run in the memory store: plain fields, which are never handed out.

export interface StoredMessage extends MessageRow {
  isTaken: boolean;
}

export interface StoredWait {
  /** Number that grows with each wait opened; it sorts waits that are due at the same time. */
  readonly order: number;
  readonly wait: WaitRow;
}

export interface MemoryRun {
  /** Number in the order of admission. */
  readonly no: number;
  admission: Omit<
    Admission,
    'checkpoint' | 'waits' | 'schedule' | 'claim' | 'durability' | 'status' | 'graphHash' | 'code' | 'blobs' | 'defines'
  >;
  labels: Labels;
  readonly schedule: RunSchedule;
  status: StoredStatus;
  graphHash: string;
  code: string | undefined;
  readonly createdAt: number;
  updatedAt: number;
  head: number;
  /** Seq of `rows[0]`. A pruned row leaves a hole. */
  readonly firstSeq: number;
  readonly rows: (CheckpointRow | undefined)[];
  /** Ascending by seq. */
  readonly snapshots: SnapshotRow[];
  readonly waits: Map<string, StoredWait>;
  readonly messages: StoredMessage[];
  /** Names of the messages that have seats, by seat. */
  readonly seats: Map<string, string>;
  readonly tags: Map<string, number>;
  /** How many writes have named a blob, by its hash. */
  readonly named: Map<string, number>;
  /** Whether all that it names is in `named`. */
  isRead: boolean;
  /** How many runs were forked from this one. */
  forks: number;
  /**
   * Token of the newest claim; 0 if the run was never claimed. It also grows on release, so that a released claim is fenced by the same
   * check.
   */
  token: number;
  owner: string | undefined;
  leaseUntil: number;
  /** Length of the lease; 0 if there is none. */
  leaseMs: number;
  claims: number;
  /** Deaths of owners when its head was at `deathsHead`. */
  deaths: number;
  deathsHead: number;
  deathsSinceRest: number;
  prunedBelow: number;
  /** Newest last; those at an older head count no more. */
  refusals: readonly (WorkerMismatch & { readonly head: number })[];
  /** What is wrong with it in the store. Absent: nothing. */
  damage?: string;
}

/** A private copy. Small ones come from Buffer's pool, which costs a third of a new array. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes);
}

/** A copy to hand out. It is a plain Uint8Array, so that it compares equal to what was passed in. */
export function handOut(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

type Copy = (bytes: Uint8Array) => Uint8Array;

export function copyCheckpoint({ seq, at, body, checksum }: CheckpointRow, copy: Copy): CheckpointRow {
  return { seq, at, body: copy(body), checksum: copy(checksum) };
}

export function copySnapshot({ seq, body, checksum }: SnapshotRow, copy: Copy): SnapshotRow {
  return { seq, body: copy(body), checksum: copy(checksum) };
}

export function copyWait(wait: WaitRow, copy: Copy): WaitRow {
  const { waitId, kind, dueAt, openedAt } = wait;
  const times = { ...(dueAt === undefined ? {} : { dueAt }), ...(openedAt === undefined ? {} : { openedAt }) };
  return { waitId, kind, ...times, ...copyBody(wait, copy) };
}

/** The body of a wait or a message, and its checksum if it has one. */
export function copyBody(
  { body, checksum }: Pick<WaitRow, 'body' | 'checksum'>,
  copy: Copy,
): Pick<WaitRow, 'body' | 'checksum'> {
  return { body: copy(body), ...(checksum === undefined ? {} : { checksum: copy(checksum) }) };
}

export function findRow(run: MemoryRun, seq: number): CheckpointRow | undefined {
  return run.rows[seq - run.firstSeq];
}

export function hasMessages(run: MemoryRun): boolean {
  return run.messages.some((message) => !message.isTaken);
}

/** How long the run's claim holds; 0 if nobody has it. */
export function claimLeftMs({ owner, leaseUntil, leaseMs }: MemoryRun, clock: HostClock): number {
  return owner === undefined ? 0 : clock.leaseLeftMs(leaseUntil, leaseMs);
}

/** The deaths at the run's present head. */
export function deathsAt({ deaths, deathsHead, head }: MemoryRun): number {
  return deathsHead === head ? deaths : 0;
}

export function toRunRow(run: MemoryRun, clock: HostClock): RunRow {
  const { tenant, runId, key, graphId, parent, meta } = run.admission;
  const remainingMs = claimLeftMs(run, clock);
  const claim = run.owner !== undefined && remainingMs > 0 ? { claim: { workerId: run.owner, remainingMs } } : {};
  return {
    tenant,
    runId,
    key,
    graphId,
    graphHash: run.graphHash,
    ...(run.code !== undefined && { code: run.code }),
    status: run.status,
    head: run.head,
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
    ...(parent === undefined ? {} : { parent: { ...parent } }),
    meta: handOut(meta),
    ...claim,
    claims: run.claims,
    deaths: deathsAt(run),
    deathsSinceRest: run.deathsSinceRest,
    hasMessages: hasMessages(run),
    hasForks: run.forks > 0,
    hasTags: run.tags.size > 0,
    prunedBelow: run.prunedBelow,
    schedule: { ...run.schedule },
    ...refusalsAt(run),
    ...(run.damage === undefined ? {} : { isDamaged: true }),
  };
}

/** The refusals at the run's head, for its row. */
function refusalsAt({ refusals, head }: MemoryRun): Pick<RunRow, 'refusals'> {
  const here = refusals.filter((refusal) => refusal.head === head);
  return here.length === 0 ? {} : { refusals: here.map(({ by, at }) => ({ by, at })) };
}

/** Whether the code of whoever asks may go on with a run: it has not refused it here, and no live worker has the run's own code. */
function fitsCode(
  run: MemoryRun,
  { codes, isPinned = false }: Pick<ClaimableQuery, 'codes' | 'isPinned'>,
  live: readonly WorkerBeat[],
): boolean {
  const { graphId } = run.admission;
  const own = codes !== undefined && Object.hasOwn(codes, graphId) ? codes[graphId] : undefined;
  if (own === undefined) return true;
  if (run.refusals.some(({ by, head }) => by === own && head === run.head)) return false;
  const code = codeOfRun(run);
  if (own === code || code === anyCode) return true;
  return !isPinned && !live.some(({ graphs }) => graphs[graphId] === code);
}

const pageSize = 100;

function readCursor(cursor: string, parts: number): readonly number[] {
  const numbers = cursor.split('.').map(Number);
  if (numbers.length !== parts || numbers.some(Number.isNaN)) {
    throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
  }
  return numbers;
}

/** Sorts texts by code point, like a database that stores UTF-8. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Since when a run has had something to do, in epoch ms; undefined if it has nothing to do or is not due. */
function dueSince(run: MemoryRun, at: number, now: number): number | undefined {
  const { dueAt } = run.schedule;
  const isGoing = isUnderWay(run.status);
  if ((!isGoing && run.status !== 'paused') || !isDueBy(run, at)) return undefined;
  const times = [
    ...(isGoing ? [dueAt] : []),
    ...run.messages.filter(({ isTaken }) => !isTaken).map((message) => message.at),
    ...[...run.waits.values()]
      .filter(({ wait }) => (wait.dueAt ?? Infinity) <= at || isAhead(wait.openedAt ?? 0, now))
      .map(({ wait }) => wait.dueAt ?? at),
  ];
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The runs that `claimNext` claims, in order. */
export function findNext(
  runs: Iterable<MemoryRun>,
  query: ClaimableQuery,
  clock: HostClock,
  live: readonly WorkerBeat[],
): readonly MemoryRun[] {
  const { at: requestedAt, graphs, queues, except, limit } = query;
  const now = clock.now();
  const at = requestedAt ?? now;
  const passed = new Set(except);
  const found: { readonly run: MemoryRun; readonly due: number }[] = [];
  for (const run of runs) {
    const { runId, graphId } = run.admission;
    if (claimLeftMs(run, clock) > 0 || passed.has(runId) || run.damage !== undefined) continue;
    if (graphs?.includes(graphId) === false || queues?.includes(run.schedule.queue) === false) continue;
    if (!fitsCode(run, query, live)) continue;
    const due = dueSince(run, at, now);
    if (due !== undefined) found.push({ run, due });
  }
  const byUrgency = found.sort(
    (a, b) => b.run.schedule.priority - a.run.schedule.priority || a.due - b.due || a.run.no - b.run.no,
  );
  return byUrgency.slice(0, limit).map(({ run }) => run);
}

/** Whether a run is one that a query is about, on whatever page. */
function fitsQuery(
  run: MemoryRun,
  { status, graphId, parentRunId, labels = {}, since = -Infinity, until = Infinity }: RunQuery,
): boolean {
  return (
    (status === undefined || status.includes(run.status)) &&
    (graphId === undefined || run.admission.graphId === graphId) &&
    (parentRunId === undefined || run.admission.parent?.runId === parentRunId) &&
    run.createdAt >= since &&
    run.createdAt < until &&
    Object.entries(labels).every(([name, value]) => Object.hasOwn(run.labels, name) && run.labels[name] === value)
  );
}

export function countRuns(runs: Iterable<MemoryRun>, { exceptIds = [], ...query }: CountQuery): number {
  const isCounted = (run: MemoryRun): boolean =>
    fitsQuery(run, query) && !exceptIds.some((prefix) => run.admission.runId.startsWith(prefix));
  return [...runs].filter(isCounted).length;
}

export function listRuns(runs: Iterable<MemoryRun>, query: RunQuery, clock: HostClock): Page<RunRow> {
  const { limit = pageSize } = query;
  const before = query.cursor === undefined ? Infinity : (readCursor(query.cursor, 1)[0] ?? 0);
  const found = [...runs].filter((run) => run.no < before && fitsQuery(run, query)).sort((a, b) => b.no - a.no);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.map((run) => toRunRow(run, clock)),
    ...(last !== undefined && found.length > limit ? { cursor: String(last.no) } : {}),
  };
}

/** Whether an answer to a wait is posted that no commit has taken. */
function hasAnswer(run: MemoryRun, waitId: string): boolean {
  return run.messages.some(({ kind, name, isTaken }) => !isTaken && kind === 'answer' && name === waitId);
}

const dueOf = ({ wait }: StoredWait): number => wait.dueAt ?? Number.MAX_SAFE_INTEGER;

function withoutOpening(wait: WaitRow): WaitRow {
  const { openedAt: _, ...rest } = wait;
  return rest;
}

export function listWaits(runs: Iterable<MemoryRun>, query: WaitQuery): Page<OpenWait> {
  const { kinds, dueBy, isAnswered, limit = pageSize } = query;
  const [due = -Infinity, order = -1] = query.cursor === undefined ? [] : readCursor(query.cursor, 2);
  const fits = (run: MemoryRun, stored: StoredWait): boolean =>
    (isAnswered === undefined || isAnswered === hasAnswer(run, stored.wait.waitId)) &&
    (kinds === undefined ? stored.wait.kind !== 'delivery' : kinds.includes(stored.wait.kind)) &&
    (dueBy === undefined || dueOf(stored) <= dueBy) &&
    (dueOf(stored) > due || (dueOf(stored) === due && stored.order > order));
  const found = [...runs]
    .flatMap((run) => [...run.waits.values()].filter((stored) => fits(run, stored)).map((stored) => ({ run, stored })))
    .sort((a, b) => dueOf(a.stored) - dueOf(b.stored) || a.stored.order - b.stored.order);
  const page = found.slice(0, limit);
  const last = page.at(-1)?.stored;
  return {
    rows: page.map(({ run, stored }) => ({
      tenant: run.admission.tenant,
      runId: run.admission.runId,
      graphId: run.admission.graphId,
      ...withoutOpening(copyWait(stored.wait, handOut)),
    })),
    ...(last !== undefined && found.length > limit ? { cursor: `${dueOf(last)}.${last.order}` } : {}),
  };
}

export function countCodes(runs: Iterable<MemoryRun>, graphs: readonly string[]): readonly CodeCount[] {
  const counts = new Map<string, CodeCount>();
  for (const run of runs) {
    const { status } = run;
    const { graphId } = run.admission;
    if (!graphs.includes(graphId) || (!isUnderWay(status) && status !== 'paused')) continue;
    const of = { graphId, code: codeOfRun(run) };
    const key = JSON.stringify(of);
    counts.set(key, { ...of, runs: (counts.get(key)?.runs ?? 0) + 1 });
  }
  return [...counts.values()].sort((a, b) => compareText(a.graphId, b.graphId) || compareText(a.code, b.code));
}

export function countOpen(runs: Iterable<MemoryRun>, now: number): OpenCounts {
  const counts = { runs: { running: 0, cancelling: 0, paused: 0 }, waits: 0, overdue: 0 };
  for (const run of runs) {
    if (isUnderWay(run.status) || run.status === 'paused') counts.runs[run.status as keyof typeof counts.runs] += 1;
    for (const stored of run.waits.values()) {
      if (stored.wait.kind !== 'delivery') counts.waits += 1;
      if (dueOf(stored) <= now) counts.overdue += 1;
    }
  }
  return counts;
}

/** Ids of the graphs that have runs which ended. */
export function endedGraphs(runs: Iterable<MemoryRun>): readonly string[] {
  const over = [...runs].filter(({ status, damage }) => isRunOver(status) && damage === undefined);
  return [...new Set(over.map(({ admission }) => admission.graphId))].sort(compareText);
}

/** Ended runs of a graph and a status, those that ended first first. */
export function listEnded(
  runs: Iterable<MemoryRun>,
  { graphId, status, endedBefore, beyond, limit, cursor }: EndedQuery,
): Page<EndedRun> {
  const over = [...runs]
    .filter((run) => isRunOver(run.status) && run.admission.graphId === graphId && run.damage === undefined)
    .sort((a, b) => a.updatedAt - b.updatedAt || a.no - b.no);
  const spare = beyond === undefined ? 0 : Math.max(0, over.length - beyond);
  const isChosen = ({ updatedAt }: MemoryRun, index: number): boolean =>
    endedBefore === undefined && beyond === undefined ? true : index < spare || updatedAt < (endedBefore ?? -Infinity);
  const [at = -Infinity, no = -1] = cursor === undefined ? [] : readCursor(cursor, 2);
  const found = over
    .filter(isChosen)
    .filter((run) => run.status === status && (run.updatedAt > at || (run.updatedAt === at && run.no > no)));
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.map(({ admission, updatedAt, forks, tags }) => ({
      runId: admission.runId,
      endedAt: updatedAt,
      hasForks: forks > 0,
      hasTags: tags.size > 0,
    })),
    ...(last !== undefined && found.length > limit && { cursor: `${last.updatedAt}.${last.no}` }),
  };
}
