/** Gives calls of one function back one after the other, in the order in which they ended: a race ends alike whenever it is repeated (X4.13). */
import type { Clock } from '../../ports/clock.ts';

/** One per attempt whose calls overlap. */
export class CallOrder {
  /** Ends on record that were not given back yet, the earliest last. */
  readonly #due: number[];
  /** Calls that have ended and wait for their turn. */
  readonly #ready = new Map<number, () => void>();
  readonly #clock: Clock;
  #isGoingOn = false;

  /** @param recorded - the ends on record when it is made, ascending */
  constructor(recorded: readonly number[], clock: Clock) {
    this.#due = recorded.toReversed();
    this.#clock = clock;
  }

  /** Resolves when it is the turn of the call that ended as this one. */
  turnOf(order: number): Promise<void> {
    return new Promise((resolve) => {
      this.#ready.set(order, resolve);
      if (!this.#isGoingOn) this.#giveNext(true);
    });
  }

  /** @param isPatient - whether one that ended earlier is waited for: the function may be about to call for it */
  #giveNext(isPatient: boolean): void {
    const next = this.#due.at(-1) ?? Infinity;
    const first = this.#ready.has(next) ? next : Math.min(...this.#ready.keys());
    if (isPatient && next < first) return this.#goOn(false);
    while ((this.#due.at(-1) ?? Infinity) <= first) this.#due.pop();
    const give = this.#ready.get(first);
    this.#ready.delete(first);
    give?.();
    this.#goOn(true);
  }

  /** First the function goes on as far as it comes: it may make further calls. */
  #goOn(isPatient: boolean): void {
    this.#isGoingOn = true;
    this.#clock.defer(() => {
      this.#isGoingOn = false;
      if (this.#ready.size > 0) this.#giveNext(isPatient);
    });
  }
}
