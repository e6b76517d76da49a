/**
 * A clock for tests. Time stands still while work is being done, and jumps from one timer to the next on request, or automatically.
 */
import { CairnError } from '../errors.ts';
import { createSeededRandom } from './seeded-random.ts';
import type { Clock } from './clock.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

export interface VirtualClockOptions {
  /** Start time in epoch ms. Default 1_700_000_000_000. */
  readonly startMs?: number;
  /** Seed for the order of timers that are due at the same instant. Default: in the order in which they were set. */
  readonly seed?: number;
  /** Whether time advances to the next timer automatically when nothing else can be done. Default false. */
  readonly isAutomatic?: boolean;
  /** Whether work outside of virtual time is in progress, such as a running command. Time stands still meanwhile. Default: never. */
  readonly isBusy?: () => boolean;
}

/** A simulated process, as its clock sees it. */
export interface VirtualProcess {
  /** Whether the process is dead. Its callbacks are not called then. */
  readonly isDead: boolean;
  /** Time in epoch ms until which its callbacks are delayed; undefined if the process is not frozen. */
  readonly frozenUntilMs?: number | undefined;
}

/** The clock of one simulated process. */
export interface ProcessClock extends Clock {
  readonly now: () => number;
  /** Resolves after a delay; never, if the process is dead by then. */
  readonly sleep: (delayMs: number) => Promise<void>;
}

export interface VirtualClock extends ProcessClock {
  /**
   * Current time in epoch ms. Set it to let time pass without calling timers, as on a machine that sleeps. Timers that became due are
   * called when time next advances.
   */
  timeMs: number;
  /** Advances time by this many milliseconds. Calls each timer at its time, and lets the work it causes finish before the next. */
  advance(byMs: number): Promise<void>;
  /** Advances time until no timer remains. If another call is doing this already, joins it. */
  runUntilIdle(): Promise<void>;
  /**
   * Advances time until a promise has settled, and returns its value or throws its reason.
   * @throws INTERNAL no timer remains or 200,000 were called, so the promise would never settle
   */
  run<Value>(promise: Promise<Value>): Promise<Value>;
  /** A clock that shares this one's time and stops with its process. */
  openProcess(process: VirtualProcess): ProcessClock;
  /** Number of timers that were neither called nor cancelled. */
  readonly timerCount: number;
}

interface Timer {
  dueMs: number;
  /** Timers due at the same instant are called in this order. */
  readonly order: number;
  readonly process: VirtualProcess;
  readonly callback: () => void;
}

const optionNames = Object.keys({ startMs: true, seed: true, isAutomatic: true, isBusy: true } satisfies Record<
  keyof VirtualClockOptions,
  true
>);

/** The number of timers that `run` calls before it gives up. Time is no bound: a durable timer may be due in a year. */
const timersMost = 200_000;

/**
 * Number of turns of the event loop without deferred calls after which nothing more can be done. A callback may itself take a few turns.
 */
const quietTurns = 8;

/** A process that neither dies nor freezes. */
const immortal: VirtualProcess = { isDead: false };

/** Makes a clock for tests. Two clocks with the same seed call timers in the same order. */
export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  refuseUnknownKeys('createVirtualClock', options, optionNames);
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
  /** Sorted by due time, then by order. */
  readonly #timers: Timer[] = [];
  /** Number of deferred callbacks that have not been called. */
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
      // Whole milliseconds, as everywhere: the time would be a fraction else.
      const timer = {
        dueMs: this.nowMs + Math.max(0, Math.ceil(delayMs)),
        order: this.#drawOrder(),
        process,
        callback,
      };
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
    for (let called = 0; called <= timersMost; called += 1) {
      await this.#settle(() => isSettled);
      if (isSettled) return promise;
      if (!this.#callNext(Infinity)) throw new CairnError('INTERNAL', { reason: 'nothing is due any more' });
    }
    throw new CairnError('INTERNAL', {
      reason: `${timersMost} timers were called, and what is waited for has not come`,
    });
  }

  /** Runs everything that is ready, or stops early if `isEnough` says so. */
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

  /** Advances time to the next timer and calls it. @returns whether there was one before `untilMs` */
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
    // The same timer object waits until the process is no longer frozen, so its owner can still cancel it.
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
