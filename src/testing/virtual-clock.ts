/** The clock of tests: time stands still while anything is being done, and goes from one timer to the next when told to, or by itself. */
import { CairnError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import { createSeededRandom } from './seeded-random.ts';

export interface VirtualClockOptions {
  /** Epoch ms at the start. Default is 1_700_000_000_000. */
  readonly startMs?: number;
  /** Decides the order of timers that are due at one instant. Default: they are called in the order in which they were set. */
  readonly seed?: number;
  /** Time goes on by itself to the next timer, once nothing else is left to do. Default is `false`: it waits to be told. */
  readonly isAutomatic?: boolean;
  /** Whether something is under way outside virtual time, such as a command that runs: time stands still meanwhile. Default: nothing is. */
  readonly isBusy?: () => boolean;
}

/** A simulated process, as its clock sees it. */
export interface VirtualProcess {
  /** Nothing is called back in a dead process. */
  readonly isDead: boolean;
  /** Epoch ms until which nothing is called back; undefined: the process is not frozen. */
  readonly frozenUntilMs?: number | undefined;
}

/** The clock of one simulated process. */
export interface ProcessClock extends Clock {
  readonly now: () => number;
  /** Resolves after a delay; never, if the process is dead by then. */
  readonly sleep: (delayMs: number) => Promise<void>;
}

export interface VirtualClock extends ProcessClock {
  /** Epoch ms. Set it to let time pass without a timer being called, as for a machine that sleeps: what is due by then is called when time next goes on. */
  timeMs: number;
  /** Lets time go on by so many ms: calls each timer at its time, and lets what it woke run before the next. */
  advance(byMs: number): Promise<void>;
  /** Lets time go on until no timer is left. A call while another is under way joins it. */
  runUntilIdle(): Promise<void>;
  /**
   * Lets time go on until a promise has settled, and returns or throws what it settled with.
   * @throws INTERNAL no timer is left, or a day has passed: the promise would never settle
   */
  run<Value>(promise: Promise<Value>): Promise<Value>;
  /** A clock that shares this one's time and stops with its process. */
  openProcess(process: VirtualProcess): ProcessClock;
  /** How many timers have not been called or cancelled. */
  readonly timerCount: number;
}

interface Timer {
  dueMs: number;
  /** Timers of one instant are called in this order. */
  readonly order: number;
  readonly process: VirtualProcess;
  readonly callback: () => void;
}

/** How far `run` goes before it gives up: a day. */
const horizonMs = 24 * 3_600_000;

/** Turns of the event loop in which nothing was deferred, after which nothing is left to do: what is called back may itself take a few. */
const quietTurns = 8;

/** Neither dies nor freezes. */
const immortal: VirtualProcess = { isDead: false };

/** Creates a clock for tests. Two clocks with one seed call the same timers in the same order. */
export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const time = new VirtualTime(options);
  const clock = {
    ...time.openProcess(immortal),
    advance: async (byMs: number) => {
      const untilMs = time.nowMs + byMs;
      await time.runTimers(untilMs);
      time.nowMs = Math.max(time.nowMs, untilMs);
    },
    runUntilIdle: () => time.runUntilIdle(),
    run: <Value>(promise: Promise<Value>) => time.run(promise),
    openProcess: (process: VirtualProcess) => time.openProcess(process),
  };
  return Object.defineProperties(clock, {
    timeMs: {
      get: () => time.nowMs,
      set: (timeMs: number) => {
        time.nowMs = timeMs;
      },
      enumerable: true,
    },
    timerCount: { get: () => time.timerCount, enumerable: true },
  }) as VirtualClock;
}

class VirtualTime {
  nowMs: number;
  readonly #startMs: number;
  readonly #isAutomatic: boolean;
  readonly #isBusy: () => boolean;
  readonly #drawOrder: () => number;
  /** By due time, then by order. */
  readonly #timers: Timer[] = [];
  /** Callbacks deferred and not yet called. */
  #deferredCount = 0;
  #running: Promise<void> | undefined;

  constructor({ startMs = 1_700_000_000_000, seed, isAutomatic = false, isBusy = () => false }: VirtualClockOptions) {
    this.nowMs = startMs;
    this.#isBusy = isBusy;
    this.#startMs = startMs;
    this.#isAutomatic = isAutomatic;
    let count = 0;
    const random = createSeededRandom(seed ?? 0);
    this.#drawOrder = () => (seed === undefined ? (count += 1) : random.next());
  }

  get timerCount(): number {
    return this.#timers.length;
  }

  openProcess(process: VirtualProcess): ProcessClock {
    const setTimer = (delayMs: number, callback: () => void): (() => void) => {
      const timer = { dueMs: this.nowMs + Math.max(0, delayMs), order: this.#drawOrder(), process, callback };
      this.#insert(timer);
      if (this.#isAutomatic) void this.runUntilIdle();
      return () => {
        const index = this.#timers.indexOf(timer);
        if (index >= 0) this.#timers.splice(index, 1);
      };
    };
    return {
      now: () => this.nowMs,
      monotonic: () => this.nowMs - this.#startMs,
      setTimer,
      defer: (callback) => this.#defer(process, callback),
      sleep: (delayMs) => new Promise((resolve) => void setTimer(delayMs, resolve)),
    };
  }

  runUntilIdle(): Promise<void> {
    this.#running ??= this.runTimers(Infinity).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async runTimers(untilMs: number): Promise<void> {
    await this.#settle();
    while (this.#callNext(untilMs)) await this.#settle();
  }

  async run<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false;
    const settled = (): void => {
      isSettled = true;
    };
    promise.then(settled, settled);
    const endMs = this.nowMs + horizonMs;
    for (;;) {
      await this.#settle(() => isSettled);
      if (isSettled) return promise;
      if (this.#callNext(endMs)) continue;
      throw new CairnError('INTERNAL', {
        reason: this.#timers.length === 0 ? 'nothing is due any more' : 'a day has passed',
      });
    }
  }

  /** Lets everything that is ready run, or until there is no need. */
  async #settle(isEnough: () => boolean = () => false): Promise<void> {
    for (let turns = 0; turns < quietTurns && !isEnough(); turns += 1) {
      await turn();
      if (this.#deferredCount > 0) turns = -1;
      else if (turns === quietTurns - 1 && this.#isBusy()) {
        await pause();
        turns = -1;
      }
    }
  }

  /** Lets time go on to the next timer. @returns whether there was one by then */
  #callNext(untilMs: number): boolean {
    const timer = this.#timers[0];
    if (timer === undefined || timer.dueMs > untilMs) return false;
    this.#timers.shift();
    this.nowMs = Math.max(this.nowMs, timer.dueMs);
    this.#callBack(timer);
    return true;
  }

  #callBack(timer: Timer): void {
    const { isDead, frozenUntilMs = 0 } = timer.process;
    if (isDead) return;
    if (frozenUntilMs <= this.nowMs) return timer.callback();
    // It is the same timer that waits for the thaw: whoever set it may still cancel it.
    timer.dueMs = frozenUntilMs;
    this.#insert(timer);
  }

  #defer(process: VirtualProcess, callback: () => void): void {
    this.#deferredCount += 1;
    setImmediate(() => {
      this.#deferredCount -= 1;
      this.#callBack({ dueMs: this.nowMs, order: this.#drawOrder(), process, callback });
    });
  }

  #insert(timer: Timer): void {
    const isBefore = (other: Timer): boolean =>
      other.dueMs < timer.dueMs || (other.dueMs === timer.dueMs && other.order <= timer.order);
    let at = this.#timers.length;
    while (at > 0 && !isBefore(this.#timers[at - 1] as Timer)) at -= 1;
    this.#timers.splice(at, 0, timer);
  }
}

/** A moment of real time. */
function pause(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 1));
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
