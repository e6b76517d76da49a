/**
 * Runs that are suspected of ending their process: two owners in a row never gave them back. They are advanced apart, one node at a time,
 * under the claim of a process that lives on as a witness (O7).
 */
import type { Clock } from '../ports/clock.ts';
import type { Claim, GrantedClaim, RunRow } from '../ports/store.ts';
import type { Isolation, RunHandle, Suspect } from './api.ts';
import { callOutsideScopes } from './live-run/attempt-scope.ts';
import { ClaimKeeper, type ClaimRenewals } from './live-run/claim-keeper.ts';
import type { Moment } from './live-run/draft.ts';

/** Deaths at the same head that make a run a suspect. */
const suspectDeaths = 2;
/** The same for a run whose head moves between its deaths, as side branches and signals move it: since it last came to rest. */
const suspectDeathsInAll = 10;

export function isSuspect({ deaths, deathsSinceRest }: Pick<RunRow, 'deaths' | 'deathsSinceRest'>): boolean {
  return deaths >= suspectDeaths || deathsSinceRest >= suspectDeathsInAll;
}

export function holdSuspect(
  { claim, run }: GrantedClaim,
  claimedAt: Moment,
  {
    renewals,
    advance,
    release,
  }: {
    readonly renewals: ClaimRenewals;
    readonly advance: () => Promise<RunHandle>;
    readonly release: (claim: Claim) => Promise<void>;
  },
): Suspect {
  const keeper = new ClaimKeeper(renewals, claim, claimedAt);
  const lost = new AbortController();
  const onLost = (): void => lost.abort();
  keeper.attach({ onRenewed: () => undefined, onMessages: async () => undefined, onLost });
  let isOver = false;
  return {
    run,
    claim,
    lost: lost.signal,
    advance() {
      isOver = true;
      keeper.stop();
      return advance();
    },
    async release() {
      if (isOver) return;
      isOver = true;
      keeper.stop();
      await release(claim).catch(() => undefined);
    },
  };
}

/** The longest delay before a suspect that could not be advanced is tried again. */
const longestDelayMs = 5 * 60_000;
const firstDelayMs = 1_000;
/** How long a suspect may have a worker for itself; what has not ended its process by then may have company. */
const aloneMs = 60_000;

export interface SuspectsOptions {
  readonly clock: Clock;
  readonly isolation: Isolation | undefined;
  /** Whether the worker advances nothing. */
  readonly isIdle: () => boolean;
  /** Follows a run that is advanced here to its end. */
  readonly advance: (runId: string, handle: Promise<RunHandle>) => Promise<void>;
  readonly taken: (runId: string) => void;
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
    if (isolation === undefined) {
      // Whoever is new here has seen no death of it; the run's row has.
      const known = this.#putOff.get(runId);
      if (known === undefined) return this.#giveBack(suspect, this.#delayMs(suspect.run.deaths - 1));
      if (!isIdle()) return this.#giveBack(suspect, firstDelayMs);
    }
    taken(runId);
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
