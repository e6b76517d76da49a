/** Who advances the runs of a store, and which runs wait for code that none of them has. */
import { isUnderWay } from '../../state/tree.ts';
import { isDueBy } from '../../ports/schedule.ts';
import type { Backlog, ClaimableQuery, GraphHashes, RunRow, Store, WorkerRow } from '../../ports/store.ts';
import type { ReadPlace } from '../access/place.ts';

/** What a worker reports about itself. */
export interface WorkerAbout {
  /** When it was started, in epoch ms. */
  readonly startedAt: number;
  /** Only runs of these graphs; absent: of all. */
  readonly only?: readonly string[];
  /** Only runs of these queues; absent: of all. */
  readonly queues?: readonly string[];
  /** How many runs it advances at once. */
  readonly concurrency: number;
  /** Ids of the runs that it advances now. */
  readonly runs: readonly string[];
  /** Version of this package. */
  readonly version?: string;
  /** Whether it takes up nothing more. */
  readonly isStopping?: boolean;
}

/** A worker that is alive, or was within the last day. */
export interface ListedWorker extends WorkerAbout {
  readonly workerId: string;
  /** Whether it was heard of within its lease, and its process is not known to be dead. */
  readonly isAlive: boolean;
  /** When it was last heard of, in epoch ms. */
  readonly seenAt: number;
  /** Hash of each graph that it has code for, by the graph's id. It also advances runs whose text is recorded with them. */
  readonly graphs: GraphHashes;
}

/** Set for a run that could go on, if a live worker had the code for it. */
export interface CodeWait {
  /** Hash of the graph that the run was last advanced under. */
  readonly graphHash: string;
  /** Since when no live worker has been able to go on with it, in epoch ms. */
  readonly since: number;
}

const encodeAbout = (about: WorkerAbout): Uint8Array => new TextEncoder().encode(JSON.stringify(about));

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string');
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Reads what a worker reported, of whatever version it is: what is not understood is omitted. */
function decodeAbout({ body, seenAt }: WorkerRow): WorkerAbout {
  let read: Partial<Record<keyof WorkerAbout, unknown>> = {};
  try {
    read = (JSON.parse(new TextDecoder().decode(body)) as typeof read | null) ?? {};
  } catch {
    // A row that cannot be read still says that there is a worker.
  }
  const { startedAt, only, queues, concurrency, runs, version, isStopping } = read;
  return {
    startedAt: isNumber(startedAt) ? startedAt : seenAt,
    ...(isTexts(only) && { only }),
    ...(isTexts(queues) && { queues }),
    concurrency: isNumber(concurrency) ? concurrency : 0,
    runs: isTexts(runs) ? runs : [],
    ...(typeof version === 'string' && { version }),
    ...(isStopping === true && { isStopping }),
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

/** Where a store does not count by itself, so many of its newest open runs are looked at. */
const countedRuns = 1_000;

/**
 * How many runs could go on now, and for how long the one that waits longest could have. Nothing is written. Where the store does not count
 * by itself, paused runs whose time has come are omitted.
 */
export async function readBacklog(
  store: Store,
  now: number,
  query: Pick<ClaimableQuery, 'tenant' | 'graphs' | 'queues'>,
): Promise<Backlog> {
  if (store.readBacklog !== undefined) return store.readBacklog(query);
  const { tenant, graphs, queues } = query;
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

/** Whether a worker takes up runs of this graph and queue. */
function serves({ only, queues, isStopping }: ListedWorker, { graphId, schedule }: RunRow): boolean {
  return isStopping !== true && (only?.includes(graphId) ?? true) && (queues?.includes(schedule.queue) ?? true);
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
    for (const worker of workers.filter((each) => serves(each, run))) {
      const refusal = run.refusals?.find(({ by }) => by === worker.workerId || by === worker.graphs[run.graphId]);
      if (worker.isAlive && refusal === undefined) return undefined;
      since.push(refusal?.at ?? worker.seenAt);
    }
    return { graphHash: run.graphHash, since: Math.max(...since) };
  }
}

/** Tells the store that a worker is alive. */
export function noteWorker(
  store: Store,
  worker: {
    readonly tenant: string;
    readonly workerId: string;
    readonly graphs: GraphHashes;
    readonly aliveMs: number;
  },
  about: WorkerAbout,
): Promise<void> {
  return store.noteWorker({ ...worker, body: encodeAbout(about) });
}
