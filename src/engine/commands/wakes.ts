/** Resumes paused runs in the process that has their engine, when what they waited for has come (W5). */
import type { Clock } from '../../ports/clock.ts';
import { nextDueOf, type RunTree } from '../../state/tree.ts';

/** The longest timer, in ms. Timers count running time, but due times are wall-clock times; after a machine has slept they differ. */
const longestTimerMs = 60_000;
/** The most runs whose due times are in memory. Workers, and whoever resumes them, take up the others. */
const runsMax = 10_000;

/** When a run is due: by the wall clock, and by the monotonic one. */
interface DueTime {
  readonly at: number;
  readonly elapsedAt: number;
}

/** The due times of runs that paused here, with one timer for the soonest. */
export class Wakes {
  readonly #clock: Clock;
  readonly #goOn: (runId: string) => Promise<unknown>;
  readonly #dueTimes = new Map<string, DueTime>();
  #cancel: (() => void) | undefined;
  #isClosed = false;

  /** @param goOn - resumes a run if it can go on. Its errors are ignored: whoever resumes the run later gets them */
  constructor(clock: Clock, goOn: (runId: string) => Promise<unknown>) {
    this.#clock = clock;
    this.#goOn = goOn;
  }

  /** Call when a run has ended or paused here. It is resumed at the first of its due times. */
  rested(runId: string, { status, waits }: Pick<RunTree, 'status' | 'waits'>): void {
    const dueTimes = Object.values(waits).flatMap((wait) => nextDueOf(wait) ?? []);
    if (status !== 'paused' || dueTimes.length === 0 || this.#dueTimes.size >= runsMax) this.#dueTimes.delete(runId);
    else this.#dueTimes.set(runId, this.#dueTime(Math.min(...dueTimes)));
    this.#arm();
  }

  /**
   * Call when a message came for a run that nobody advances here. It is resumed a little later, because whoever posted the message may
   * resume it first.
   */
  posted(runId: string): void {
    this.#clock.defer(() => this.#wake(runId));
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#dueTimes.clear();
  }

  #dueTime(at: number): DueTime {
    return { at, elapsedAt: this.#clock.monotonic() + at - this.#clock.now() };
  }

  /** By the clock that comes there first: the wall clock may be set back, and the monotonic one stands still while a machine sleeps. */
  #leftMs({ at, elapsedAt }: DueTime): number {
    return Math.min(at - this.#clock.now(), elapsedAt - this.#clock.monotonic());
  }

  #wake(runId: string): void {
    if (this.#isClosed) return;
    this.#dueTimes.delete(runId);
    this.#goOn(runId).catch(() => {});
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#isClosed || this.#dueTimes.size === 0) return;
    const soonestMs = [...this.#dueTimes.values()].reduce((least, due) => Math.min(least, this.#leftMs(due)), Infinity);
    this.#cancel = this.#clock.setTimer(Math.min(Math.max(0, soonestMs), longestTimerMs), () => {
      for (const [runId, due] of this.#dueTimes) if (this.#leftMs(due) <= 0) this.#wake(runId);
      this.#arm();
    });
  }
}
