/** Lets the rest of the process have its turn: timers, signals, leases and other runs, whatever the nodes of a run are (E1.4). */
import type { Clock } from '../../ports/clock.ts';

/** How long, in ms, all runs of an engine may work in one turn of the event loop. */
const longestTurnMs = 20;
/** As many launches and calls end a turn, too: a clock of tests stands still while work is done. */
const mostPerTurn = 512;

/**
 * One for each engine, since its runs share the event loop. Work that goes from one promise to the next never leaves a turn of the event
 * loop by itself, so whoever works asks before each piece whether the turn is over, and rests if it is.
 */
export class Pace {
  readonly #clock: Clock;
  /** When work began in this turn of the event loop, in monotonic ms; undefined if none has. */
  #begunAt: number | undefined;
  #count = 0;
  readonly #resting: (() => void)[] = [];
  /** Whether a call was let go on whose function has not done so yet: it goes on in a microtask. */
  #isCallDue = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether enough was done in this turn of the event loop. The first who asks in a turn hears no. */
  isOver(): boolean {
    if (this.#begunAt === undefined) {
      this.#begunAt = this.#clock.monotonic();
      this.#clock.defer(this.#onTurn);
      return false;
    }
    this.#count += 1;
    return this.#count >= mostPerTurn || this.#clock.monotonic() - this.#begunAt >= longestTurnMs;
  }

  /** Calls back in a later turn. Who came first is called first, so no run is passed over. */
  rest(goOn: () => void): void {
    if (this.#begunAt === undefined) this.isOver();
    this.#resting.push(goOn);
  }

  /** Resolves when a call may do its work; undefined if that is now. Calls go on in the order in which they came. */
  turn(): Promise<void> | undefined {
    if (this.#resting.length === 0 && !this.#isCallDue && !this.isOver()) return undefined;
    return new Promise((resolve) => {
      this.rest(() => {
        this.#isCallDue = true;
        resolve();
      });
    });
  }

  readonly #onTurn = (): void => {
    this.#begunAt = undefined;
    this.#count = 0;
    this.#letNext();
  };

  /** Lets the first who rests go on, and then the next, each behind the work of the one before it, until the turn is over. */
  readonly #letNext = (): void => {
    this.#isCallDue = false;
    if (this.#resting.length === 0 || this.isOver()) return;
    this.#resting.shift()?.();
    queueMicrotask(this.#letNext);
  };
}
