/** What one provider lets a process ask: who comes when there is no room waits, in the order of coming. */
import type { Clock } from '../../ports/clock.ts';

/** What a provider allows. What is not given is not bounded. */
export interface ModelLimits {
  /** Calls at the same time. */
  readonly concurrency?: number;
  readonly requestsPerMinute?: number;
  /** Of requests and answers. A request counts a quarter of its bytes and the longest answer it allows, until it is known what it took. */
  readonly tokensPerMinute?: number;
}

export type LimitClock = Pick<Clock, 'now' | 'setTimer'>;

/** A call that was let in. */
export interface Permit {
  /** The call is over. @param tokens - what it took; undefined: not known, so it counts what it was let in with */
  leave(tokens?: number): void;
}

interface Waiting {
  readonly tokens: number;
  readonly begin: () => void;
}

interface Begun {
  readonly at: number;
  tokens: number;
}

const minuteMs = 60_000;

export class ProviderLimit {
  readonly #clock: LimitClock;
  #limits: ModelLimits = {};
  #waiting: Waiting[] = [];
  #running = 0;
  /** Calls of the last minute, oldest first. */
  #begun: Begun[] = [];
  #heldUntil = 0;
  #stopTimer: (() => void) | undefined;

  constructor(clock: LimitClock) {
    this.#clock = clock;
  }

  get countsTokens(): boolean {
    return this.#limits.tokensPerMinute !== undefined;
  }

  /** Sets what holds from now on. */
  configure(limits: ModelLimits): void {
    this.#limits = limits;
    this.#letIn();
  }

  /** Lets nobody in for so long: the provider said so. */
  hold(forMs: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#clock.now() + forMs);
  }

  /** Waits for room. @param tokens - what the call takes at most, as far as is known @throws the signal's reason */
  enter(tokens: number, signal: AbortSignal): Promise<Permit> {
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const stop = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      reject(signal.reason as Error);
      this.#letIn();
    };
    const waiting: Waiting = {
      tokens,
      begin: () => {
        signal.removeEventListener('abort', stop);
        resolve(this.#permit(tokens));
      },
    };
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    this.#waiting.push(waiting);
    this.#letIn();
    return promise;
  }

  #permit(tokens: number): Permit {
    const begun: Begun = { at: this.#clock.now(), tokens };
    this.#begun.push(begun);
    this.#running += 1;
    return {
      leave: (taken = begun.tokens) => {
        begun.tokens = taken;
        this.#running -= 1;
        this.#letIn();
      },
    };
  }

  #letIn(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const waitMs = this.#waitMs(next.tokens);
      if (waitMs > 0) {
        // Without a time it waits for a call to end.
        if (waitMs < Infinity) this.#stopTimer = this.#clock.setTimer(waitMs, () => this.#letIn());
        return;
      }
      this.#waiting.shift();
      next.begin();
    }
  }

  /** How long until a call of so many tokens may begin; Infinity: until one that runs has ended. */
  #waitMs(tokens: number): number {
    const { concurrency = Infinity, requestsPerMinute = Infinity, tokensPerMinute = Infinity } = this.#limits;
    if (this.#running >= concurrency) return Infinity;
    const now = this.#clock.now();
    this.#begun = this.#begun.filter(({ at }) => at + minuteMs > now);
    const byRequests = this.#begun.at(-requestsPerMinute);
    const until = Math.max(
      this.#heldUntil,
      this.#begun.length >= requestsPerMinute && byRequests !== undefined ? byRequests.at + minuteMs : 0,
      this.#roomForTokens(tokens, tokensPerMinute),
    );
    return until - now;
  }

  /** When so many calls of the last minute are past that the tokens fit. One that never fits waits until it is alone. */
  #roomForTokens(tokens: number, tokensPerMinute: number): number {
    let used = this.#begun.reduce((sum, begun) => sum + begun.tokens, 0);
    let until = 0;
    for (const begun of this.#begun) {
      if (used + tokens <= tokensPerMinute) break;
      used -= begun.tokens;
      until = begun.at + minuteMs;
    }
    return until;
  }
}
