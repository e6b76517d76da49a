/** Turns of the event loop: steps that end at once give way now and then, so that a long row of them does not hold up the process. */
import type { Clock } from '../../ports/clock.ts';

/** So long such steps may follow each other. */
const longestTurnMs = 20;
/** Fewer than these hold nobody up. */
const stepsMin = 64;

/** The pace of one run. */
export class Pace {
  readonly #clock: Clock;
  /** When it last gave way, by the monotonic clock, and how many steps have begun since. */
  #since: number;
  #steps = 0;
  #pause: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Called before each step. @returns what to wait for before it begins; undefined: there is time left */
  pause(): Promise<void> | undefined {
    this.#steps += 1;
    if (this.#pause !== undefined || this.#steps <= stepsMin) return this.#pause;
    if (this.#clock.monotonic() - this.#since >= longestTurnMs) this.#pause = this.#giveWay();
    return this.#pause;
  }

  async #giveWay(): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.defer(resolve));
    this.#since = this.#clock.monotonic();
    this.#steps = 0;
    this.#pause = undefined;
  }
}
