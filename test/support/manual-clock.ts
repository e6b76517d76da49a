/** A clock that stands still until it is told to go on. */
import type { Clock } from '../../src/ports/clock.ts';

export interface ManualClock extends Clock {
  /** Moves the time on and calls what is due, in order. */
  advance(byMs: number): void;
  /** How many timers are set. */
  readonly pending: number;
}

export function createManualClock(startMs = 1_700_000_000_000): ManualClock {
  let nowMs = startMs;
  const timers = new Set<{ readonly dueAt: number; readonly callback: () => void }>();
  return {
    now: () => nowMs,
    monotonic: () => nowMs - startMs,
    setTimer(delayMs, callback) {
      const timer = { dueAt: nowMs + delayMs, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    defer: (callback) => void setImmediate(callback),
    advance(byMs) {
      nowMs += byMs;
      const due = [...timers].filter(({ dueAt }) => dueAt <= nowMs).sort((a, b) => a.dueAt - b.dueAt);
      for (const timer of due) {
        timers.delete(timer);
        timer.callback();
      }
    },
    get pending() {
      return timers.size;
    },
  };
}
