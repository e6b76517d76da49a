/** The clock port over the system's clocks. */
import type { Clock } from '../../ports/clock.ts';

/** The longest delay of a Node timer. A longer one would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  // `performance` would load a module of Node, which takes a millisecond; this function is loaded already.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
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
    // A pending timer must not keep the process alive: what is due is found again by the next process.
    timer.unref();
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}

function stay(): () => void {
  const timer = setInterval(() => undefined, longestDelayMs);
  return () => clearInterval(timer);
}
