/** A worker takes up every run that can be advanced: abandoned ones, answered ones, ones whose time has come (W5, O2). */
import { CairnError } from '../errors.ts';
import type { WorkerAbout } from '../history/read/list-workers.ts';
import type { Clock } from '../ports/clock.ts';
import type { Engine, Isolation, RunHandle, RunResult } from './api.ts';
import { callOutsideScopes } from './live-run/attempt-scope.ts';
import type { FatalFailure } from './monitor.ts';
import { Suspects } from './suspects.ts';

const defaultPollMs = 1_000;
const defaultConcurrency = 16;
const sweepMs = 30_000;
/** Runs that only wait for places of limits take no slots, as long as there are no more of them in memory. */
const awaitingMax = 1_000;
/** The longest pause before a run that could not be advanced is tried again. */
const longestDelayMs = 5 * 60_000;

/** Whether a worker goes on with runs of other code when nobody else does. */
export type Versioning = 'prefer' | 'pinned';

/** Which runs a worker takes up, how many, and who hears of it. */
export interface WorkOptions {
  /** Only runs of these queues. Default: all. */
  readonly queues?: readonly string[];
  /**
   * Which runs it takes up whose code is another one, by the hash of their graph and its `version`: `prefer` those that no live worker has
   * the code of; `pinned` none, so that a run goes on under the code that it began with (O3.2.3). Default `prefer`.
   */
  readonly versioning?: Versioning;
  /** How often it looks; a store that tells of new work is looked at then, too. Default 1,000 ms. */
  readonly pollMs?: number;
  /** Runs it advances at once. Default 16. */
  readonly concurrency?: number;
  /**
   * Called for runs that could not be advanced (an unknown graph, a damaged checkpoint); `runId` is empty if the store could not be read.
   */
  readonly onError?: (runId: string, error: unknown) => void;
  /** Called with each run that is taken up. */
  readonly onTaken?: (runId: string) => void;
  /** Told where each run stands that has ended or paused here. */
  readonly onRested?: (result: RunResult) => void;
}

/** What a worker works with. */
export interface EngineWorkerOptions extends WorkOptions {
  readonly engine: Engine;
  /** Only runs of these graphs, by id. Default: all. */
  readonly graphs?: readonly string[];
  /** Default: the engine's. */
  readonly clock?: Clock;
  /** Default: the engine's. Without any, suspects are advanced here: when nothing else is, after a delay that doubles with each death. */
  readonly isolation?: Isolation;
}

/** A worker that looks for runs until it is stopped. */
export interface Worker {
  /** Looks once, and resolves when it has taken up what it found; says how many. */
  look(): Promise<number>;
  /** Ids of the runs that it advances now. */
  runs(): readonly string[];
  /**
   * Takes up nothing more; resolves when what it advances has ended or paused. What waits for a time pauses at once, however near that is.
   * Closing the engine meanwhile hands the rest back.
   */
  stop(): Promise<void>;
}

/** Starts to look at once, and then regularly. */
export function createEngineWorker(options: EngineWorkerOptions): Worker {
  return new PollingWorker(options);
}

/** What a run failed by that was advanced elsewhere: the newest of its failures. */
function fatalOf({ failures = [] }: RunResult): FatalFailure | undefined {
  const last = failures.at(-1);
  if (last === undefined) return undefined;
  const { node, code = 'NODE_FAILED', message, name = 'Error', stack = [] } = last;
  const frames = stack.map((frame) => `\n    at ${frame}`).join('');
  return { node, exception: { name, code, message, stack: `${name}: ${message}${frames}` } };
}

class PollingWorker implements Worker {
  readonly #options: EngineWorkerOptions;
  readonly #clock: Clock;
  readonly #running = new Map<string, Promise<void>>();
  #cancel: (() => void) | undefined;
  /** Between two looks nothing else may hold the process. */
  readonly #leave: (() => void) | undefined;
  /** Runs that could not be advanced, how often, and until when (monotonic ms) they are not tried again. */
  readonly #faults = new Map<string, { readonly count: number; readonly until: number }>();
  readonly #stopWatching: (() => void) | undefined;
  readonly #startedAt: number;
  readonly #suspects: Suspects;
  #isWoken = false;
  /** When it last looked for deliveries that nobody made (monotonic ms). */
  #sweptAt = -Infinity;
  #cancelBeat: (() => void) | undefined;
  #isStopped = false;

  constructor(options: EngineWorkerOptions) {
    this.#options = options;
    const { store, tenant, clock } = options.engine.ports;
    this.#clock = options.clock ?? clock;
    options.engine.ports.leaseGuard?.start();
    this.#leave = this.#clock.stay?.();
    this.#stopWatching = store.watch?.(tenant, () => this.#wake());
    this.#startedAt = this.#clock.now();
    this.#suspects = new Suspects({
      clock: this.#clock,
      isolation: options.isolation ?? options.engine.ports.isolation,
      isIdle: () => this.#running.size === 0,
      advance: (runId, handle) => this.#follow(runId, handle),
      taken: (run) => {
        options.engine.ports.monitor?.suspected(run);
        this.#options.onTaken?.(run.runId);
      },
      failed: (runId, error) => this.#options.onError?.(runId, error),
      rested: (runId) => this.#restedApart(runId),
      changed: () => this.#wake(),
    });
    void this.#beat();
    this.#poll();
  }

  /** Many words that come at once make one look. */
  #wake(): void {
    if (this.#isWoken || this.#isStopped) return;
    this.#isWoken = true;
    const look = (): void => {
      this.#isWoken = false;
      this.look().catch((error: unknown) => this.#lookFailed(error));
    };
    // What wakes it may be what a node just did.
    callOutsideScopes(() => this.#clock.defer(look));
  }

  /** Tells of itself at every third of a lease. Nothing depends on it: while the store is away, others just do not hear of it. */
  async #beat(): Promise<void> {
    const { engine } = this.#options;
    this.#cancelBeat?.();
    this.#cancelBeat = this.#clock.setTimer(engine.ports.leaseMs / 3, () => void this.#beat());
    await engine.tellAlive(this.#about()).catch(() => undefined);
  }

  #about(): WorkerAbout {
    const { graphs, queues, versioning, concurrency = defaultConcurrency } = this.#options;
    return {
      startedAt: this.#startedAt,
      ...(graphs && { only: graphs }),
      ...(queues && { queues }),
      ...(versioning === 'pinned' && { versioning }),
      concurrency,
      runs: this.runs(),
      ...(this.#isStopped && { isStopping: true }),
    };
  }

  #poll(): void {
    const again = (): void => {
      if (this.#isStopped) return;
      this.#cancel = this.#clock.setTimer(this.#options.pollMs ?? defaultPollMs, () => this.#poll());
    };
    this.look().then(again, (error: unknown) => {
      this.#lookFailed(error);
      again();
    });
  }

  /** Claims as many runs as there is room for. */
  async look(): Promise<number> {
    const { engine, concurrency = defaultConcurrency, graphs, queues, versioning } = this.#options;
    const awaiting = Math.min(engine.countAwaitingPlaces(), awaitingMax);
    const limit = Math.min(concurrency, concurrency - this.#running.size + awaiting);
    if (limit <= 0 || this.#isStopped || this.#suspects.isAlone) return 0;
    this.#sweep();
    const taken = await engine.takeUp({
      limit,
      except: [...this.#putOffNow(), ...this.#suspects.putOff()],
      onSuspect: (suspect) => this.#suspects.take(suspect),
      ...(graphs && { graphs }),
      ...(queues && { queues }),
      ...(versioning === 'pinned' && { isPinned: true }),
    });
    for (const { runId, handle } of taken) {
      void this.#follow(runId, handle);
      this.#options.onTaken?.(runId);
    }
    return taken.length;
  }

  /** Now and then it delivers what owners owe to webhooks that did not come to it. */
  #sweep(): void {
    const now = this.#clock.monotonic();
    if (now - this.#sweptAt < sweepMs) return;
    this.#sweptAt = now;
    this.#options.engine.sweepWebhooks().catch((error: unknown) => this.#lookFailed(error));
  }

  async #restedApart(runId: string): Promise<void> {
    const { engine, onRested } = this.#options;
    const result = await engine.inspect(runId);
    const { graphId } = (await engine.ports.store.readRun({ tenant: engine.ports.tenant, runId })) ?? { graphId: '' };
    engine.ports.monitor?.rested({ runId, graphId }, result.status, fatalOf(result));
    onRested?.(result);
  }

  #lookFailed(error: unknown): void {
    this.#options.engine.ports.monitor?.lookFailed(error);
    this.#options.onError?.('', error);
  }

  #follow(runId: string, handle: Promise<RunHandle>): Promise<void> {
    const advanced = this.#advance(runId, handle);
    this.#running.set(runId, advanced);
    if (this.#isStopped) this.#options.engine.letPause(runId);
    return advanced;
  }

  #putOffNow(): readonly string[] {
    const now = this.#clock.monotonic();
    return [...this.#faults].filter(([, { until }]) => until > now).map(([runId]) => runId);
  }

  /** A run whose graph is not known here, or that cannot be read, is tried again, less and less often. */
  #putOff(runId: string): void {
    const { pollMs = defaultPollMs } = this.#options;
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#faults) if (until + longestDelayMs < now) this.#faults.delete(other);
    const count = (this.#faults.get(runId)?.count ?? 0) + 1;
    this.#faults.set(runId, { count, until: now + Math.min(pollMs * 2 ** count, longestDelayMs) });
  }

  async #advance(runId: string, handle: Promise<RunHandle>): Promise<void> {
    try {
      const result = await (await handle).result();
      this.#faults.delete(runId);
      this.#running.delete(runId);
      this.#options.onRested?.(result);
    } catch (error) {
      const isOthers = CairnError.is(error) && (error.code === 'CLAIM_LOST' || error.code === 'CLAIM_FENCED');
      if (isOthers || this.#isStopped) return;
      this.#putOff(runId);
      this.#options.onError?.(runId, error);
    } finally {
      this.#running.delete(runId);
      // A place is free, and more may be waiting than the last look had room for.
      this.#wake();
    }
  }

  runs(): readonly string[] {
    return [...this.#running.keys(), ...this.#suspects.runs()];
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    this.#stopWatching?.();
    for (const runId of this.#running.keys()) this.#options.engine.letPause(runId);
    await this.#beat();
    await Promise.all([...this.#running.values(), this.#suspects.stop()]);
    this.#cancelBeat?.();
    await this.#options.engine.tellAlive(this.#about(), 0).catch(() => undefined);
    this.#leave?.();
  }
}
