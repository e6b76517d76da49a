/** Makes long chains of steps that end at once give way to the rest of the process from time to time. */
import type { Clock } from '../../ports/clock.ts';

/** How long, in ms, such steps may follow each other. */
const longestTurnMs = 20;
/** Fewer steps than this never pause. */
const stepsMin = 64;

/** The pace of one run. */
export class Pace {
  readonly #clock: Clock;
  /** When it last paused, in monotonic ms; and (`#steps`) the number of steps since. */
  #since: number;
  #steps = 0;
  #pause: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Called before each step. @returns a promise to await before it starts; undefined if no pause is needed */
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
