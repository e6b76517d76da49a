/** Listings of stores that keep their data in memory: they filter, sort, and cut out a page. */
import { isUnderWay } from '../state/tree.ts';
import { isDueBy, type RunSchedule } from '../ports/schedule.ts';
import type {
  Admission,
  CheckpointRow,
  Labels,
  Refusal,
  RunRow,
  SnapshotRow,
  StoredStatus,
  WaitRow,
  ClaimableQuery,
  GraphHashes,
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
  readonly admission: Omit<
    Admission,
    'checkpoint' | 'waits' | 'schedule' | 'claim' | 'durability' | 'status' | 'graphHash'
  >;
  readonly labels: Labels;
  readonly schedule: RunSchedule;
  status: StoredStatus;
  graphHash: string;
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
  readonly tags: Map<string, number>;
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
  refusals: readonly (Refusal & { readonly head: number })[];
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
function fitsCode(run: MemoryRun, hashes: GraphHashes | undefined, live: readonly WorkerBeat[]): boolean {
  const { graphId } = run.admission;
  const own = hashes !== undefined && Object.hasOwn(hashes, graphId) ? hashes[graphId] : undefined;
  if (own === undefined) return true;
  if (run.refusals.some(({ by, head }) => by === own && head === run.head)) return false;
  return own === run.graphHash || !live.some(({ graphs }) => graphs[graphId] === run.graphHash);
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
  { at: requestedAt, graphs, queues, hashes, except, limit }: ClaimableQuery,
  clock: HostClock,
  live: readonly WorkerBeat[],
): readonly MemoryRun[] {
  const now = clock.now();
  const at = requestedAt ?? now;
  const passed = new Set(except);
  const found: { readonly run: MemoryRun; readonly due: number }[] = [];
  for (const run of runs) {
    const { runId, graphId } = run.admission;
    if (claimLeftMs(run, clock) > 0 || passed.has(runId) || run.damage !== undefined) continue;
    if (graphs?.includes(graphId) === false || queues?.includes(run.schedule.queue) === false) continue;
    if (!fitsCode(run, hashes, live)) continue;
    const due = dueSince(run, at, now);
    if (due !== undefined) found.push({ run, due });
  }
  const byUrgency = found.sort(
    (a, b) => b.run.schedule.priority - a.run.schedule.priority || a.due - b.due || a.run.no - b.run.no,
  );
  return byUrgency.slice(0, limit).map(({ run }) => run);
}

export function listRuns(runs: Iterable<MemoryRun>, query: RunQuery, clock: HostClock): Page<RunRow> {
  const { status, graphId, parentRunId, labels = {}, since = -Infinity, until = Infinity, limit = pageSize } = query;
  const before = query.cursor === undefined ? Infinity : (readCursor(query.cursor, 1)[0] ?? 0);
  const fits = (run: MemoryRun): boolean =>
    run.no < before &&
    (status === undefined || status.includes(run.status)) &&
    (graphId === undefined || run.admission.graphId === graphId) &&
    (parentRunId === undefined || run.admission.parent?.runId === parentRunId) &&
    run.createdAt >= since &&
    run.createdAt < until &&
    Object.entries(labels).every(([name, value]) => Object.hasOwn(run.labels, name) && run.labels[name] === value);
  const found = [...runs].filter(fits).sort((a, b) => b.no - a.no);
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
    (kinds === undefined || kinds.includes(stored.wait.kind)) &&
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
