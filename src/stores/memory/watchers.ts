/** Who wants to be told that a run may have become claimable. */

export class Watchers {
  readonly #wakes = new Map<string, Set<() => void>>();

  add(tenant: string, wake: () => void): () => void {
    const wakes = this.#wakes.get(tenant) ?? new Set();
    this.#wakes.set(tenant, wakes);
    // Of its own, so that one who watches twice is told twice and ends each alone.
    const call = (): void => wake();
    wakes.add(call);
    return () => void wakes.delete(call);
  }

  /** Calls back when the call that is under way has been replied to, or later: never inside it. */
  wake(tenant: string): void {
    const wakes = this.#wakes.get(tenant);
    if (wakes !== undefined && wakes.size > 0) queueMicrotask(() => wakes.forEach((wake) => wake()));
  }
}
