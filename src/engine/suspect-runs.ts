/**
 * Runs that are suspected of ending their process, as far as an engine has claimed them: for its worker, or for whoever resumed one here.
 * They are advanced apart, one node at a time, under a claim that is renewed here meanwhile (O7).
 */
import { CairnError } from '../errors.ts';
import type { GrantedClaim, RunRow } from '../ports/store.ts';
import type { Isolation, ResumeApart, RunHandle, Suspect } from './api.ts';
import { ClaimKeeper } from './live-run/claim-keeper.ts';
import type { Moment } from './live-run/standing.ts';
import type { EngineEnvironment } from './live-run/run-core.ts';

/** Deaths at the same head that make a run a suspect. */
const suspectDeaths = 2;
/** The same for a run whose head moves between its deaths, as side branches and signals move it: since it last came to rest. */
const suspectDeathsInAll = 10;
/** The delays before a suspect that could not be advanced is tried again: they double. */
export const firstDelayMs = 1_000;
export const longestDelayMs: number = 5 * 60_000;

export function isSuspect({ deaths, deathsSinceRest }: Pick<RunRow, 'deaths' | 'deathsSinceRest'>): boolean {
  return deaths >= suspectDeaths || deathsSinceRest >= suspectDeathsInAll;
}

/** How a suspect is held. */
interface Holding {
  /** Advances it in this process after all. */
  readonly advance: () => Promise<RunHandle>;
  readonly resume?: ResumeApart;
}

export class SuspectRuns {
  readonly #env: EngineEnvironment;
  readonly #held = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(env: EngineEnvironment) {
    this.#env = env;
  }

  /** Resolves when this engine holds the suspect no longer; undefined: it does not hold it. */
  held(runId: string): Promise<void> | undefined {
    return this.#held.get(runId);
  }

  hold({ claim, run }: GrantedClaim, claimedAt: Moment, { advance, resume }: Holding): Suspect {
    const { renewals, store } = this.#env;
    const keeper = new ClaimKeeper(renewals, claim, claimedAt);
    const lost = new AbortController();
    const onLost = (error: CairnError): void => lost.abort(error);
    keeper.attach({ onRenewed: () => undefined, onMessages: async () => undefined, onLost });
    const over = Promise.withResolvers<void>();
    this.#held.set(run.runId, over.promise);
    let isOver = false;
    const end = (): void => {
      keeper.stop();
      this.#held.delete(run.runId);
      over.resolve();
    };
    return {
      run,
      claim,
      ...(resume && { resume }),
      lost: AbortSignal.any([lost.signal, this.#closing.signal]),
      advance() {
        isOver = true;
        end();
        return advance();
      },
      async release() {
        if (isOver) return;
        isOver = true;
        keeper.stop();
        await store.releaseClaim(claim).catch(() => undefined);
        end();
      },
    };
  }

  /**
   * Advances a suspect until it comes to rest, and gives its claim back. @throws what is wrong with the run; CLAIM_LOST another has it;
   * STORE_CLOSED the engine was closed
   */
  async bringToRest(suspect: Suspect, isolation: Isolation): Promise<void> {
    try {
      for (let delayMs = firstDelayMs; !(await isolation.advance(suspect, suspect.lost)); delayMs *= 2) {
        await this.#pause(Math.min(delayMs, longestDelayMs), suspect.lost);
        suspect.lost.throwIfAborted();
      }
    } finally {
      await suspect.release();
    }
  }

  #pause(delayMs: number, over: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#env.clock.setTimer(delayMs, resolve);
    over.addEventListener('abort', () => resolve());
    if (over.aborted) resolve();
    return promise.finally(cancel);
  }

  async close(): Promise<void> {
    this.#closing.abort(new CairnError('STORE_CLOSED', { store: 'engine' }));
    await Promise.all(this.#held.values());
  }
}
