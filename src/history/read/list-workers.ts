/** Who advances the runs of a store, and which runs wait for code that none of them has. */
import { CairnError } from '../../errors.ts';
import { anyCode, codeOfRun, readCode } from '../../ports/graph-code.ts';
import { isUnderWay } from '../../state/tree.ts';
import { isDueBy } from '../../ports/schedule.ts';
import type { Backlog, CodeCount, OpenCounts } from '../../ports/run-counts.ts';
import type { ClaimableQuery, GraphCodes, RunKey, RunRow, Store, WorkerRow } from '../../ports/store.ts';
import type { ReadPlace } from '../access/place.ts';
import { deliveryGraphId } from '../stored/run-ids.ts';

/** What a worker reports about itself. */
export interface WorkerAbout {
  /** When it was started, in epoch ms. */
  readonly startedAt: number;
  /** Only runs of these graphs; absent: of all. */
  readonly only?: readonly string[];
  /** Only runs of these queues; absent: of all. */
  readonly queues?: readonly string[];
  /** Set if it takes up runs of its own code alone. */
  readonly versioning?: 'pinned';
  /** How many runs it advances at once. */
  readonly concurrency: number;
  /** Ids of the runs that it advances now. */
  readonly runs: readonly string[];
  /** Version of this package. */
  readonly version?: string;
  /** Whether it takes up nothing more. */
  readonly isStopping?: boolean;
  /** How many leases it has lost since it was started: others took its runs over. */
  readonly lostLeases?: number;
  /** The node that held its event loop last for over a second: nothing else of it went on meanwhile. */
  readonly blocked?: BlockedNode;
}

/** A node that held the event loop of a worker. */
export interface BlockedNode {
  readonly runId: string;
  readonly graphId: string;
  readonly node: string;
  readonly heldMs: number;
  /** When it was noticed, in epoch ms. */
  readonly at: number;
}

/** A worker that is alive, or was within the last day. */
export interface ListedWorker extends WorkerAbout {
  readonly workerId: string;
  /** Whether it was heard of within its lease, and its process is not known to be dead. */
  readonly isAlive: boolean;
  /** When it was last heard of, in epoch ms. */
  readonly seenAt: number;
  /** The code that it has for each graph, by the graph's id. It also advances runs whose text is recorded with them. */
  readonly graphs: GraphCodes;
}

/** Set for a run that could go on, if a live worker had the code for it. */
export interface CodeWait {
  /** Hash of the graph that the run was last advanced under. */
  readonly graphHash: string;
  /** The version that the author gave that graph; absent without one. */
  readonly version?: string;
  /** Since when no live worker has been able to go on with it, in epoch ms. */
  readonly since: number;
}

const encodeAbout = (about: WorkerAbout): Uint8Array => new TextEncoder().encode(JSON.stringify(about));

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

function isBlocked(value: unknown): value is BlockedNode {
  const { runId, graphId, node, heldMs, at } = (value ?? {}) as Partial<Record<keyof BlockedNode, unknown>>;
  return isTexts([runId, graphId, node]) && isNumber(heldMs) && isNumber(at);
}

/** Reads what a worker reported, of whatever version it is: what is not understood is omitted. */
function decodeAbout({ body, seenAt }: WorkerRow): WorkerAbout {
  let read: Partial<Record<keyof WorkerAbout, unknown>> = {};
  try {
    read = (JSON.parse(new TextDecoder().decode(body)) as typeof read | null) ?? {};
  } catch {
    // A row that cannot be read still says that there is a worker.
  }
  const { startedAt, only, queues, concurrency, runs, version, versioning, isStopping, lostLeases, blocked } = read;
  return {
    startedAt: isNumber(startedAt) ? startedAt : seenAt,
    ...(isTexts(only) && { only }),
    ...(isTexts(queues) && { queues }),
    concurrency: isNumber(concurrency) ? concurrency : 0,
    runs: isTexts(runs) ? runs : [],
    ...(typeof version === 'string' && { version }),
    ...(versioning === 'pinned' && { versioning }),
    ...(isStopping === true && { isStopping }),
    ...(isNumber(lostLeases) && { lostLeases }),
    ...(isBlocked(blocked) && { blocked }),
  };
}

/** The workers of a place that were heard of within the last day: live ones first, then those heard of last. */
export async function listWorkers({
  store,
  tenant,
  isWorkerDead,
}: Pick<ReadPlace, 'store' | 'tenant' | 'isWorkerDead'>): Promise<readonly ListedWorker[]> {
  const workers = (await store.listWorkers(tenant)).map((row) => ({
    workerId: row.workerId,
    isAlive: row.remainingMs > 0 && isWorkerDead(row.workerId) !== true,
    seenAt: row.seenAt,
    graphs: row.graphs,
    ...decodeAbout(row),
  }));
  return workers.sort((a, b) => Number(b.isAlive) - Number(a.isAlive) || b.seenAt - a.seenAt);
}

/** No more are counted. */
const countedRuns = 10_000;

/**
 * How many runs could go on now (those that are due, have a message, or were abandoned), and for how long the one that waits longest could
 * have. Nothing is written. Where the store does not count by itself, that age is the one of the run that is taken up next.
 */
export async function readBacklog(
  store: Store,
  now: number,
  query: Pick<ClaimableQuery, 'tenant' | 'graphs' | 'queues'>,
): Promise<Backlog> {
  if (store.readBacklog !== undefined) return store.readBacklog(query);
  const at = store.readTime === undefined ? { at: now } : {};
  const ids = await store.listClaimable({ ...query, ...at, limit: countedRuns }).catch((error: unknown) => {
    if (!CairnError.is(error, 'STORE_READ_ONLY')) throw error;
  });
  if (ids === undefined) return listBacklog(store, now, query);
  const [first, ...others] = ids;
  if (first === undefined) return { ready: 0 };
  const since = await readySince(store, { tenant: query.tenant, runId: first }, now);
  return { ready: 1 + others.length, ...(since !== undefined && { oldestMs: Math.max(0, now - since) }) };
}

/** The same of a store that is only read: without paused runs whose time has come. */
async function listBacklog(
  store: Store,
  now: number,
  { tenant, graphs, queues }: Pick<ClaimableQuery, 'tenant' | 'graphs' | 'queues'>,
): Promise<Backlog> {
  const { rows } = await store.listRuns({ tenant, status: ['running', 'cancelling', 'paused'], limit: countedRuns });
  const ready = rows.filter(
    (run) =>
      run.claim === undefined &&
      isDueBy(run, now) &&
      (run.status !== 'paused' || run.hasMessages) &&
      (graphs?.includes(run.graphId) ?? true) &&
      (queues?.includes(run.schedule.queue) ?? true),
  );
  const oldest = Math.min(...ready.map(({ schedule, updatedAt }) => Math.max(schedule.dueAt, updatedAt)));
  return { ready: ready.length, ...(ready.length > 0 && { oldestMs: Math.max(0, now - oldest) }) };
}

/** Since when a run could go on; undefined if somebody took it up meanwhile. */
async function readySince(store: Store, key: RunKey, now: number): Promise<number | undefined> {
  const [run, messages, waits] = await Promise.all([
    store.readRun(key),
    store.readMessages(key),
    store.listWaits({ ...key, dueBy: now, limit: 1 }),
  ]);
  if (run === undefined || run.claim !== undefined) return undefined;
  const times = [
    ...(isUnderWay(run.status) ? [Math.max(run.schedule.dueAt, run.updatedAt)] : []),
    ...messages.map(({ at }) => at),
    ...waits.rows.map(({ dueAt = now }) => dueAt),
  ];
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Counts what is open; where the store does not count by itself, at most so many of each. */
export async function countOpen(store: Store, tenant: string, now: number): Promise<OpenCounts> {
  if (store.countOpen !== undefined) return store.countOpen(tenant);
  const statuses = ['running', 'cancelling', 'paused'] as const;
  const counted = statuses.map(async (status) => {
    const { rows } = await store.listRuns({ tenant, status: [status], limit: countedRuns });
    return [status, rows.length] as const;
  });
  const waits = async (query: { readonly dueBy?: number }): Promise<number> =>
    (await store.listWaits({ tenant, ...query, limit: countedRuns })).rows.length;
  return {
    runs: Object.fromEntries(await Promise.all(counted)) as OpenCounts['runs'],
    waits: await waits({}),
    overdue: await waits({ dueBy: now }),
  };
}

/** Whether a worker takes up runs of this graph and queue. */
function serves({ only, queues, isStopping }: ListedWorker, { graphId, schedule }: RunRow): boolean {
  // Whoever works for some graphs delivers what is owed to webhooks, too.
  const isServed = graphId === deliveryGraphId || (only?.includes(graphId) ?? true);
  return isStopping !== true && isServed && (queues?.includes(schedule.queue) ?? true);
}

/** Whether a worker takes up runs of its own code alone, and a run is of other code. */
function isPinnedElsewhere({ versioning, graphs }: ListedWorker, run: RunRow): boolean {
  const [own, code] = [graphs[run.graphId], codeOfRun(run)];
  return versioning === 'pinned' && own !== undefined && own !== code && code !== anyCode;
}

/** Tells of runs whether they wait for code. The workers are read once, when the first run is met that nobody has. */
export class CodeWaits {
  readonly #place: ReadPlace;
  #workers: Promise<readonly ListedWorker[]> | undefined;

  constructor(place: ReadPlace) {
    this.#place = place;
  }

  /**
   * Tells it of one run; undefined if it does not wait for code. A place where no worker has been for a day is none of workers: there, runs
   * wait for whoever resumes them.
   */
  async of(run: RunRow): Promise<CodeWait | undefined> {
    const { isWorkerDead, now } = this.#place;
    const isOwned = run.claim !== undefined && isWorkerDead(run.claim.workerId) !== true;
    const canGoOn = isUnderWay(run.status) || (run.status === 'paused' && run.hasMessages);
    if (isOwned || !canGoOn || !isDueBy(run, now())) return undefined;
    this.#workers ??= listWorkers(this.#place);
    const workers = await this.#workers;
    if (workers.length === 0) return undefined;
    const since = [run.updatedAt, run.schedule.dueAt];
    for (const worker of workers.filter((each) => serves(each, run) && !isPinnedElsewhere(each, run))) {
      const refusal = run.refusals?.find(({ by }) => by === worker.workerId || by === worker.graphs[run.graphId]);
      if (worker.isAlive && refusal === undefined) return undefined;
      since.push(refusal?.at ?? worker.seenAt);
    }
    const { version } = readCode(codeOfRun(run));
    return { graphHash: run.graphHash, ...(version !== undefined && { version }), since: Math.max(...since) };
  }
}

/** Open runs of a graph under one code, and who has it. */
export interface ListedVersion {
  readonly graphId: string;
  /** Hash of the graph; absent of runs that any code may go on with. */
  readonly graphHash?: string;
  /** The version that its author gave it; absent without one. */
  readonly version?: string;
  /** How many runs are open: running, cancelling or paused. */
  readonly runs: number;
  /** How many live workers have it. */
  readonly workers: number;
  /** True if no run is open and a live worker has other code of the graph: whoever has this one is not needed any more. */
  readonly isDrained?: true;
}

/** The versions of the graphs that these workers know: those that they have, and those that runs are open under. */
export async function listVersions(
  { store, tenant }: Pick<ReadPlace, 'store' | 'tenant'>,
  workers: readonly ListedWorker[],
): Promise<readonly ListedVersion[]> {
  const graphs = [...new Set(workers.flatMap((worker) => Object.keys(worker.graphs)))].sort();
  if (graphs.length === 0) return [];
  const counts = await countCodes(store, tenant, graphs);
  const live = workers.filter(({ isAlive }) => isAlive);
  const found: ListedVersion[] = [];
  for (const graphId of graphs) {
    const open = new Map(counts.filter((count) => count.graphId === graphId).map(({ code, runs }) => [code, runs]));
    const had = live.flatMap((worker) => worker.graphs[graphId] ?? []);
    for (const code of new Set([...open.keys(), ...had])) {
      const { hash, version } = readCode(code);
      const runs = open.get(code) ?? 0;
      found.push({
        graphId,
        ...(code !== anyCode && { graphHash: hash }),
        ...(version !== undefined && { version }),
        runs,
        workers: had.filter((each) => each === code).length,
        ...(runs === 0 && had.some((each) => each !== code) && { isDrained: true as const }),
      });
    }
  }
  return found;
}

/** Counts open runs by their code; where the store does not count by itself, at most so many of each graph. */
async function countCodes(store: Store, tenant: string, graphs: readonly string[]): Promise<readonly CodeCount[]> {
  if (store.countCodes !== undefined) return store.countCodes(tenant, graphs);
  const counts = new Map<string, CodeCount>();
  for (const graphId of graphs) {
    const query = { tenant, graphId, status: ['running', 'cancelling', 'paused'] as const, limit: countedRuns };
    for (const run of (await store.listRuns(query)).rows) {
      const code = codeOfRun(run);
      const key = JSON.stringify([graphId, code]);
      counts.set(key, { graphId, code, runs: (counts.get(key)?.runs ?? 0) + 1 });
    }
  }
  return [...counts.values()];
}

/** Tells the store that a worker is alive. */
export function noteWorker(
  store: Store,
  worker: {
    readonly tenant: string;
    readonly workerId: string;
    readonly graphs: GraphCodes;
    readonly aliveMs: number;
  },
  about: WorkerAbout,
): Promise<void> {
  return store.noteWorker({ ...worker, body: encodeAbout(about) });
}
