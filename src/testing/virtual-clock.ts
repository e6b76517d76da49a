/** A clock whose time goes on only when told to, in an order that a seed decides. */

import type { Clock } from '../ports/clock.ts';
import { createSeededRandom, type SeededRandom } from './seeded-random.ts';

export interface VirtualClockOptions {
  /** Epoch ms at the start. Default is 1_700_000_000_000. */
  readonly startMs?: number;
  /** Decides the order of timers that are due at one instant. Default is the seed 0. */
  readonly random?: SeededRandom;
}

export interface VirtualClock extends Clock {
  /** Lets time go on by so many ms: calls each timer at its time, and lets what it woke run before the next. */
  advance(byMs: number): Promise<void>;
  /** Lets time go on until no timer is left. A call while another is under way joins it. */
  runUntilIdle(): Promise<void>;
  /** How many timers have not been called or cancelled. */
  readonly timerCount: number;
}

interface Timer {
  readonly dueMs: number;
  /** Drawn when the timer is set; timers of one instant are called in order of it. */
  readonly order: number;
  readonly callback: () => void;
}

/**
 * Creates a clock for tests. Two clocks with one seed call the same timers in the same order.
 *
 * What is deferred is called back in the next turn of the event loop, without being told to.
 */
export function createVirtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const { startMs = 1_700_000_000_000, random = createSeededRandom(0) } = options;
  const timers = new Set<Timer>();
  let nowMs = startMs;
  let running: Promise<void> | undefined;

  const isBefore = (a: Timer, b: Timer): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

  const takeNext = (untilMs: number): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) if (next === undefined || isBefore(timer, next)) next = timer;
    if (next === undefined || next.dueMs > untilMs) return undefined;
    timers.delete(next);
    return next;
  };

  const run = async (untilMs: number): Promise<void> => {
    await settle();
    for (let timer = takeNext(untilMs); timer !== undefined; timer = takeNext(untilMs)) {
      nowMs = Math.max(nowMs, timer.dueMs);
      timer.callback();
      await settle();
    }
  };

  return {
    now: () => nowMs,
    monotonic: () => nowMs - startMs,
    setTimer: (delayMs, callback) => {
      const timer = { dueMs: nowMs + Math.max(0, delayMs), order: random.next(), callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    defer: (callback) => void setImmediate(callback),
    advance: async (byMs) => {
      const untilMs = nowMs + byMs;
      await run(untilMs);
      nowMs = untilMs;
    },
    runUntilIdle: () => {
      running ??= run(Infinity).finally(() => {
        running = undefined;
      });
      return running;
    },
    get timerCount() {
      return timers.size;
    },
  };
}

/** Lets promise callbacks run, and two turns of the event loop: what was deferred, and what that deferred. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}
