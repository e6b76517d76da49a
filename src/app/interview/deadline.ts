/** Ends what a person is asked when the deadline of their question passes. */
import { systemClock } from '../process/system-clock.ts';

export interface Deadline {
  /** Aborted when it passes; at once if it has. */
  readonly signal: AbortSignal;
  /** Ends the watch. */
  readonly release: () => void;
}

/** Whether a question has a deadline that is yet to come, by this machine's clock. That of a run in a test may be another. */
export function isAhead({ dueAt }: { readonly dueAt?: number }): boolean {
  return dueAt !== undefined && dueAt > systemClock.now();
}

/** @param dueAt - epoch ms; undefined if there is no deadline */
export function watchDeadline(dueAt: number | undefined): Deadline {
  const ending = new AbortController();
  let release = (): void => undefined;
  const look = (): void => {
    const remainingMs = (dueAt ?? Infinity) - systemClock.now();
    // Timers may fire a little early, and a run that goes on early would ask again.
    if (remainingMs <= 0) ending.abort();
    else if (dueAt !== undefined) release = systemClock.setTimer(remainingMs, look);
  };
  look();
  return { signal: ending.signal, release: () => release() };
}
