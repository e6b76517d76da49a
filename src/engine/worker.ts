/** A worker takes up every run that can be advanced: abandoned ones, answered ones, ones whose time has come (W5, O2). */
import { CairnError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Page, RunRow, Store } from '../ports/store.ts';
import type { Engine } from './api.ts';

const defaultPollMs = 1_000;
/** The longest that a run which cannot be advanced is left alone. */
const longestDelayMs = 5 * 60_000;
const runsPerPage = 100;
const pagesPerLook = 10;

/** What a worker works with. */
export interface WorkerOptions {
  readonly engine: Engine;
  readonly store: Store;
  readonly clock: Clock;
  /** Default `default`. */
  readonly tenant?: string;
  /** How often it looks. Default 1,000 ms. */
  readonly pollMs?: number;
  /** Runs it advances at once. Default 16. */
  readonly concurrency?: number;
  /** Told of runs that could not be advanced: an unknown graph, a damaged checkpoint. */
  readonly onError?: (runId: string, error: unknown) => void;
}

/** A worker that looks for runs until it is stopped. */
export interface Worker {
  /** Looks once, and resolves when it has taken up what it found; says how many. */
  look(): Promise<number>;
  /** Takes up nothing more; resolves when what it advances has come to rest. */
  stop(): Promise<void>;
}

/** Starts to look at once, and then regularly. */
export function createWorker(options: WorkerOptions): Worker {
  return new PollingWorker(options);
}

class PollingWorker implements Worker {
  readonly #options: WorkerOptions;
  readonly #running = new Map<string, Promise<void>>();
  #cancel: (() => void) | undefined;
  /** Between two looks nothing else may hold the process. */
  readonly #leave: (() => void) | undefined;
  /** Runs that could not be advanced, how often, and until when they are left alone. */
  readonly #faults = new Map<string, { readonly count: number; readonly until: number }>();
  /** Where the next look goes on. */
  #cursor: string | undefined;
  #isStopped = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#leave = options.clock.stay?.();
    this.#poll();
  }

  #poll(): void {
    const again = (): void => {
      if (this.#isStopped) return;
      this.#cancel = this.#options.clock.setTimer(this.#options.pollMs ?? defaultPollMs, () => this.#poll());
    };
    this.look().then(again, (error: unknown) => {
      this.#options.onError?.('', error);
      again();
    });
  }

  /** Goes through the runs newest first, and on from there the next time if there are too many to look at. */
  async look(): Promise<number> {
    let room = (this.#options.concurrency ?? 16) - this.#running.size;
    let taken = 0;
    for (let pages = 0; pages < pagesPerLook && room > 0 && !this.#isStopped; pages += 1) {
      const page = await this.#readPage();
      for (const { runId } of page.rows) {
        if (room === 0 || this.#isStopped) return taken;
        if (this.#running.has(runId) || this.#isPutOff(runId)) continue;
        room -= 1;
        taken += 1;
        this.#running.set(runId, this.#advance(runId));
      }
      this.#cursor = page.cursor;
      if (page.cursor === undefined) break;
    }
    return taken;
  }

  #readPage(): Promise<Page<RunRow>> {
    const { store, clock, tenant = 'default' } = this.#options;
    // A run that has ended may have messages that nobody will take.
    const status = ['running', 'paused'] as const;
    const query = { tenant, status, claimableAt: clock.now(), limit: runsPerPage };
    return store.listRuns(this.#cursor === undefined ? query : { ...query, cursor: this.#cursor });
  }

  #isPutOff(runId: string): boolean {
    const fault = this.#faults.get(runId);
    return fault !== undefined && fault.until > this.#options.clock.now();
  }

  /** A run whose graph is not known here, or that cannot be read, is tried again, less and less often. */
  #putOff(runId: string): void {
    const { clock, pollMs = defaultPollMs } = this.#options;
    const now = clock.now();
    for (const [other, { until }] of this.#faults) if (until + longestDelayMs < now) this.#faults.delete(other);
    const count = (this.#faults.get(runId)?.count ?? 0) + 1;
    this.#faults.set(runId, { count, until: now + Math.min(pollMs * 2 ** count, longestDelayMs) });
  }

  async #advance(runId: string): Promise<void> {
    try {
      const handle = await this.#options.engine.resume(runId, { retryFailed: false });
      await handle.result();
      this.#faults.delete(runId);
    } catch (error) {
      const isOthers =
        CairnError.is(error) &&
        (error.code === 'CLAIM_TAKEN' || error.code === 'CLAIM_LOST' || error.code === 'CLAIM_FENCED');
      if (isOthers || this.#isStopped) return;
      this.#putOff(runId);
      this.#options.onError?.(runId, error);
    } finally {
      this.#running.delete(runId);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await Promise.all(this.#running.values());
    this.#leave?.();
  }
}
