/** The clock port over the machine's clocks. */
import type { Clock } from '../../ports/clock.ts';

/** The longest delay a Node timer takes; a longer one would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  // `performance` loads a module of Node that takes a millisecond; this one is there.
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
  setTimer,
  stay,
  // After I/O callbacks, so that work which arrived in one turn is written together.
  defer: (callback) => void setImmediate(callback),
};

function setTimer(delayMs: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (remainingMs: number): void => {
    const isLast = remainingMs <= longestDelayMs;
    const next = isLast ? callback : () => wait(remainingMs - longestDelayMs);
    timer = setTimeout(next, isLast ? Math.max(0, remainingMs) : longestDelayMs);
    // A pending timer is no reason for a process to stay: what is due is found again by whoever comes next.
    timer.unref();
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}

function stay(): () => void {
  const timer = setInterval(() => undefined, longestDelayMs);
  return () => clearInterval(timer);
}
