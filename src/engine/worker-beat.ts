/** What a worker reports of itself now and then: that it is alive, and what went wrong in its process of late. */
import { CairnError } from '../errors.ts';
import { noteWorker, readBacklog, type WorkerAbout } from '../history/read/list-workers.ts';
import type { Clock } from '../ports/clock.ts';
import type { BlockedLoop } from '../ports/lease-guard.ts';
import type { GraphCodes, RunRow, Store } from '../ports/store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Monitor } from './monitor.ts';

export interface WorkerBeatOptions {
  readonly store: Store;
  readonly tenant: string;
  readonly workerId: string;
  readonly clock: Clock;
  /** Version of this package. */
  readonly version: string | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly monitor: Monitor | undefined;
}

export class WorkerBeats {
  readonly #options: WorkerBeatOptions;
  #lostLeases = 0;
  #blocked: WorkerAbout['blocked'];

  constructor(options: WorkerBeatOptions) {
    this.#options = options;
  }

  /** A run cannot be advanced here any more. */
  broken(run: RunRow, error: unknown): void {
    if (CairnError.is(error, 'CLAIM_LOST', 'CLAIM_FENCED')) this.#lostLeases += 1;
    this.#options.monitor?.broken(run, error);
  }

  /** A node held the event loop. @returns whether it was logged */
  blocked(blocked: BlockedLoop): boolean {
    const { runId, graphId, node, heldMs } = blocked;
    this.#blocked = { runId, graphId, node, heldMs: Math.round(heldMs), at: this.#options.clock.now() };
    return this.#options.monitor?.blocked(blocked) ?? false;
  }

  /** @param aliveMs - how long it counts as alive from now on */
  async tellAlive(about: WorkerAbout, graphs: GraphCodes, aliveMs: number): Promise<void> {
    const { store, tenant, workerId, version, telemetry, clock, monitor } = this.#options;
    await noteWorker(
      store,
      { tenant, workerId, graphs, aliveMs },
      {
        ...about,
        ...(version !== undefined && { version }),
        ...(this.#lostLeases > 0 && { lostLeases: this.#lostLeases }),
        ...(this.#blocked && { blocked: this.#blocked }),
      },
    );
    if (telemetry?.measure === undefined || aliveMs === 0) return;
    const { only, queues } = about;
    const query = { tenant, ...(only && { graphs: only }), ...(queues && { queues }) };
    const { ready, oldestMs = 0 } = await readBacklog(store, clock.now(), query);
    monitor?.backlog(telemetry, ready, oldestMs);
  }
}
