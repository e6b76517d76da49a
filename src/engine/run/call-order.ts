/**
 * Returns the results of a function's overlapping calls in the order in which the calls ended, so that a race ends the same way at every
 * repetition (X4.13).
 */
import type { Clock } from '../../ports/clock.ts';

/** One for each attempt with overlapping calls. */
export class CallOrder {
  /** Numbers of recorded ends that were not returned yet, the earliest last. */
  readonly #due: number[];
  /** Calls that have ended and wait for their turn. */
  readonly #ready = new Map<number, () => void>();
  readonly #clock: Clock;
  #isGoingOn = false;

  /** @param recorded - the recorded ends at the time of creation, ascending */
  constructor(recorded: readonly number[], clock: Clock) {
    this.#due = recorded.toReversed();
    this.#clock = clock;
  }

  /** Resolves when it is the turn of the call with this number. */
  turnOf(order: number): Promise<void> {
    return new Promise((resolve) => {
      this.#ready.set(order, resolve);
      if (!this.#isGoingOn) this.#giveNext(true);
    });
  }

  /** @param isPatient - whether to wait for a call that ended earlier, which the function may be about to make */
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

  /** Lets the function run on first, because it may make further calls. */
  #goOn(isPatient: boolean): void {
    this.#isGoingOn = true;
    this.#clock.defer(() => {
      this.#isGoingOn = false;
      if (this.#ready.size > 0) this.#giveNext(isPatient);
    });
  }
}
