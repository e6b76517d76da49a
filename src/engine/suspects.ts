/**
 * The suspects that a worker takes up: two owners in a row never gave them back. They are advanced apart, one at a time, while other runs go
 * on beside them (O7).
 */
import type { Clock } from '../ports/clock.ts';
import type { RunRow } from '../ports/store.ts';
import type { Isolation, RunHandle, Suspect } from './api.ts';
import { callOutsideScopes } from './live-run/attempt-scope.ts';
import { firstDelayMs, longestDelayMs } from './suspect-runs.ts';

/** How long a suspect may have a worker for itself; what has not ended its process by then may have company. */
const aloneMs = 60_000;

export interface SuspectsOptions {
  readonly clock: Clock;
  readonly isolation: Isolation | undefined;
  /** Whether the worker advances nothing. */
  readonly isIdle: () => boolean;
  /** Follows a run that is advanced here to its end. */
  readonly advance: (runId: string, handle: Promise<RunHandle>) => Promise<void>;
  readonly taken: (run: RunRow) => void;
  readonly failed: (runId: string, error: unknown) => void;
  readonly rested: (runId: string) => Promise<void>;
  /** Called when there may be more to take up. */
  readonly changed: () => void;
}

/**
 * The suspects of one worker: one at a time is advanced, apart or here; the others are given back and not asked for until it is done. They
 * never keep fresh runs from being taken up.
 */
export class Suspects {
  readonly #options: SuspectsOptions;
  readonly #stopping = new AbortController();
  #current: { readonly runId: string; readonly done: Promise<void> } | undefined;
  /** Those that have to wait, and until when (epoch ms); how often they were put off. */
  readonly #putOff = new Map<string, { readonly until: number; readonly count: number }>();
  #isAlone = false;

  constructor(options: SuspectsOptions) {
    this.#options = options;
  }

  /** Whether nothing else is to be taken up now. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  runs(): readonly string[] {
    return this.#current === undefined ? [] : [this.#current.runId];
  }

  /** Ids of the suspects that are not to be claimed now. */
  putOff(): readonly string[] {
    const now = this.#options.clock.now();
    const waiting = [...this.#putOff].filter(([, { until }]) => until > now);
    return [...waiting.map(([runId]) => runId), ...this.runs()];
  }

  take(suspect: Suspect): void {
    const { runId } = suspect.run;
    const { isolation, isIdle, taken, clock } = this.#options;
    if (this.#current !== undefined || this.#stopping.signal.aborted) return this.#giveBack(suspect, Infinity);
    // Somebody else of this process has one advanced.
    if (isolation?.busy !== undefined) return this.#giveBack(suspect, firstDelayMs);
    if (isolation === undefined) {
      // Whoever is new here has seen no death of it; the run's row has.
      const known = this.#putOff.get(runId);
      if (known === undefined) return this.#giveBack(suspect, this.#delayMs(suspect.run.deaths - 1));
      if (!isIdle()) return this.#giveBack(suspect, firstDelayMs);
    }
    taken(suspect.run);
    const done = callOutsideScopes(() =>
      isolation === undefined ? this.#advanceAlone(suspect) : this.#advanceApart(suspect, isolation),
    );
    this.#current = {
      runId,
      done: done
        .catch((error: unknown) => {
          this.#delay(runId);
          this.#options.failed(runId, error);
        })
        .finally(() => {
          this.#current = undefined;
          // Those that only waited for their turn.
          for (const [other, { until }] of this.#putOff) if (until === Infinity) this.#putOff.delete(other);
          clock.defer(this.#options.changed);
        }),
    };
  }

  async #advanceApart(suspect: Suspect, isolation: Isolation): Promise<void> {
    const { runId } = suspect.run;
    try {
      if (await isolation.advance(suspect, this.#stopping.signal)) {
        this.#putOff.delete(runId);
        await this.#options.rested(runId);
      } else this.#delay(runId);
    } finally {
      await suspect.release();
    }
  }

  async #advanceAlone(suspect: Suspect): Promise<void> {
    const { clock, advance } = this.#options;
    this.#isAlone = true;
    const endAlone = (): void => {
      this.#isAlone = false;
    };
    const cancel = clock.setTimer(aloneMs, endAlone);
    try {
      await advance(suspect.run.runId, suspect.advance());
    } finally {
      cancel();
      endAlone();
    }
  }

  #delay(runId: string): void {
    const count = (this.#putOff.get(runId)?.count ?? 0) + 1;
    this.#putOff.set(runId, { count, until: this.#options.clock.now() + this.#delayMs(count) });
  }

  #delayMs(count: number): number {
    return Math.min(firstDelayMs * 2 ** count, longestDelayMs);
  }

  #giveBack(suspect: Suspect, delayMs: number): void {
    const { runId } = suspect.run;
    const count = this.#putOff.get(runId)?.count ?? 0;
    this.#putOff.set(runId, { count, until: this.#options.clock.now() + delayMs });
    void suspect.release();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#current?.done;
  }
}
