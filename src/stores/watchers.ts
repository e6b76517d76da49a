/** Callbacks to call when a run may have become claimable, or got a message; and how servers tell other processes of it. */
import type { LimitWrite } from '../ports/limits.ts';
import type { RunKey } from '../ports/store.ts';

export class Watchers {
  readonly #wakes = new Map<string, Set<(runId?: string) => void>>();

  add(tenant: string, wake: (runId?: string) => void): () => void {
    const wakes = this.#wakes.get(tenant) ?? new Set();
    this.#wakes.set(tenant, wakes);
    // A new function, so that somebody who watches twice is called twice and can stop each separately.
    const call = (runId?: string): void => wake(runId);
    wakes.add(call);
    return () => void wakes.delete(call);
  }

  /** Calls the callbacks after the current call has been answered, never inside of it. */
  wake(tenant: string, runId?: string): void {
    const wakes = this.#wakes.get(tenant);
    if (wakes !== undefined && wakes.size > 0) queueMicrotask(() => wakes.forEach((wake) => wake(runId)));
  }
}

/** @param wake - called for each run that left its line */
export function wakeUnparked({ tenant, unpark = [] }: LimitWrite, wake: (run: RunKey) => void): void {
  for (const runId of unpark) wake({ tenant, runId });
}

/** Delay before the first try to listen to a server again, in milliseconds; each further one is twice the one before. */
export const firstRetryMs = 200;
/** The longest such delay, in milliseconds. */
export const retryMaxMs = 5_000;

/**
 * Reads a wake-up that a server passed on: tenant and run id as JSON. Anybody who may connect can send one: what is no list of texts wakes
 * nobody.
 */
export function readWakeUp(text: string): readonly string[] {
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) ? read.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}
