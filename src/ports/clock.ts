/** The clock port: the only source of time for the engine. Tests use a virtual clock. */

/** Wall-clock time, monotonic time, timers and deferred calls. Nothing here throws. */
export interface Clock {
  /** Wall-clock time in epoch ms. Used for information, due times and deadlines, never to order events. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. Leases are measured with it. */
  monotonic(): number;
  /** Calls back once after `delayMs`; the returned function cancels it. Pending timers do not keep the process alive. */
  setTimer(delayMs: number, callback: () => void): () => void;
  /** Keeps the process alive until the returned function is called, since timers do not. Absent if the clock is not tied to a process. */
  stay?(): () => void;
  /** Calls back after pending I/O and promise callbacks have run. */
  defer(callback: () => void): void;
}
