/** The clock port: all time that the engine sees. Virtual in tests. */

/** Two clocks and two ways to be called back. Nothing here throws. */
export interface Clock {
  /** Epoch ms. Information, due times and deadlines; never an ordering. */
  now(): number;
  /** Monotonic ms from an arbitrary start; leases are measured with it. */
  monotonic(): number;
  /** Calls back once after `delayMs`; the returned function cancels it. Pending timers do not keep a process alive. */
  setTimer(delayMs: number, callback: () => void): () => void;
  /** Keeps the process alive until the returned function is called, for timers alone do not; a clock without a process leaves it out. */
  stay?(): () => void;
  /** Calls back after pending I/O and promise callbacks have run. */
  defer(callback: () => void): void;
}
