/** A worker takes up every run that can be advanced: abandoned ones, answered ones, ones whose time has come (W5, O2). */
import { CairnError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Engine } from './api.ts';

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
  #isStopped = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#poll();
  }

  #poll(): void {
    const again = (): void => {
      if (this.#isStopped) return;
      this.#cancel = this.#options.clock.setTimer(this.#options.pollMs ?? 1_000, () => this.#poll());
    };
    this.look().then(again, (error: unknown) => {
      this.#options.onError?.('', error);
      again();
    });
  }

  async look(): Promise<number> {
    const { store, clock, tenant = 'default', concurrency = 16 } = this.#options;
    const room = concurrency - this.#running.size;
    if (this.#isStopped || room <= 0) return 0;
    // A run that has ended may have messages that nobody will take.
    const status = ['running', 'paused'] as const;
    const { rows } = await store.listRuns({ tenant, status, claimableAt: clock.now(), limit: room });
    let taken = 0;
    for (const { runId } of rows) {
      if (this.#isStopped || this.#running.has(runId)) continue;
      taken += 1;
      this.#running.set(runId, this.#advance(runId));
    }
    return taken;
  }

  async #advance(runId: string): Promise<void> {
    try {
      const handle = await this.#options.engine.resume(runId, { retryFailed: false });
      await handle.result();
    } catch (error) {
      const isOthers =
        CairnError.is(error) &&
        (error.code === 'CLAIM_TAKEN' || error.code === 'CLAIM_LOST' || error.code === 'CLAIM_FENCED');
      if (!isOthers && !this.#isStopped) this.#options.onError?.(runId, error);
    } finally {
      this.#running.delete(runId);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await Promise.all(this.#running.values());
  }
}
