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
  readonly dueMs: number;
  readonly order: number;
  readonly owner: ProcessState;
  readonly callback: () => void;
}

/** Where virtual time begins, epoch ms. */
const startMs = 1_700_000_000_000;

/** How far a run may go before it counts as stuck: a day. */
const horizonMs = 24 * 3_600_000;

export class SimulatedTime {
  nowMs: number = startMs;
  /** Sorted by due time, then order. */
  readonly #timers: Timer[] = [];
  #deferred: Timer[] = [];
  #order = 0;

  /** The clock of one process: it calls back neither the dead nor, before they thaw, the frozen. */
  openClock(owner: ProcessState): Clock {
    return {
      now: () => this.nowMs,
      monotonic: () => this.nowMs - startMs,
      setTimer: (delayMs, callback) => this.#schedule(owner, this.nowMs + Math.max(0, delayMs), callback),
      defer: (callback) => {
        this.#order += 1;
        this.#deferred.push({ dueMs: this.nowMs, order: this.#order, owner, callback });
      },
    };
  }

  /** Resolves after a delay on a process's clock; never, if it is dead by then. */
  sleep(owner: ProcessState, delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#schedule(owner, this.nowMs + delayMs, resolve);
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

  #schedule(owner: ProcessState, dueMs: number, callback: () => void): () => void {
    this.#order += 1;
    const timer: Timer = { dueMs, order: this.#order, owner, callback };
    let at = this.#timers.length;
    while (at > 0 && (this.#timers[at - 1] as Timer).dueMs > dueMs) at -= 1;
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
    for (const { owner, callback } of timers) {
      if (owner.isDead) continue;
      const { frozenUntilMs } = owner;
      if (frozenUntilMs !== undefined && frozenUntilMs > this.nowMs) this.#schedule(owner, frozenUntilMs, callback);
      else callback();
    }
  }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
