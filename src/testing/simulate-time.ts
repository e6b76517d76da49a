/** Time shared by simulated processes: it stands still while anything is being done, then jumps to whatever is due next. */
import { CairnError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';

/** What a process's clock asks before it calls back. */
export interface ProcessState {
  readonly isDead: boolean;
  /** Virtual ms until which the process is frozen; undefined: it is not. */
  readonly frozenUntilMs?: number | undefined;
}

interface Timer {
  dueMs: number;
  readonly owner: ProcessState;
  readonly callback: () => void;
}

/** Where virtual time begins, epoch ms. */
const startMs = 1_700_000_000_000;

/** How far a run may go before it counts as stuck: a day. */
const horizonMs = 24 * 3_600_000;

export class SimulatedTime {
  nowMs: number = startMs;
  /** Sorted by due time, and by when they were set. */
  readonly #timers: Timer[] = [];
  #deferred: Timer[] = [];

  /** The clock of one process: it calls back neither the dead nor, before they thaw, the frozen. */
  openClock(owner: ProcessState): Clock {
    return {
      now: () => this.nowMs,
      monotonic: () => this.nowMs - startMs,
      setTimer: (delayMs, callback) => this.#schedule({ dueMs: this.nowMs + Math.max(0, delayMs), owner, callback }),
      defer: (callback) => {
        this.#deferred.push({ dueMs: this.nowMs, owner, callback });
      },
    };
  }

  /** Resolves after a delay on a process's clock; never, if it is dead by then. */
  sleep(owner: ProcessState, delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#schedule({ dueMs: this.nowMs + delayMs, owner, callback: resolve });
    });
  }

  /**
   * Lets time pass until the promise has settled, and returns or throws what it settled with.
   * @throws INTERNAL nothing is due any more, or a day has passed
   */
  async run<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false;
    const settled = (): void => {
      isSettled = true;
    };
    promise.then(settled, settled);
    const endMs = this.nowMs + horizonMs;
    for (;;) {
      await turn();
      if (isSettled) return promise;
      if (this.#deferred.length > 0) this.#callBack(this.#deferred.splice(0));
      else {
        // A store of this process may itself need a turn of the event loop for what it was asked.
        await turn();
        if (!isSettled && this.#deferred.length === 0) this.#advance(endMs);
      }
    }
  }

  #schedule(timer: Timer): () => void {
    let at = this.#timers.length;
    while (at > 0 && (this.#timers[at - 1] as Timer).dueMs > timer.dueMs) at -= 1;
    this.#timers.splice(at, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  #advance(endMs: number): void {
    const first = this.#timers[0];
    if (first === undefined || first.dueMs > endMs) {
      throw new CairnError('INTERNAL', {
        reason: first === undefined ? 'nothing is due any more' : 'a day has passed',
      });
    }
    this.nowMs = Math.max(this.nowMs, first.dueMs);
    this.#timers.shift();
    this.#callBack([first]);
  }

  #callBack(timers: readonly Timer[]): void {
    for (const timer of timers) {
      const { isDead, frozenUntilMs } = timer.owner;
      if (isDead) continue;
      if (frozenUntilMs === undefined || frozenUntilMs <= this.nowMs) {
        timer.callback();
        continue;
      }
      // It is the same timer that waits for the thaw: whoever set it may still cancel it.
      timer.dueMs = frozenUntilMs;
      this.#schedule(timer);
    }
  }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
