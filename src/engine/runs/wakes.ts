/** Lets paused runs go on in the process that holds their engine, when what they waited for has come (W5). */
import type { Clock } from '../../ports/clock.ts';
import type { RunTree } from '../../state/tree.ts';

/** A timer counts the time that a process runs, a due time is by the wall clock: after a machine has slept they differ. */
const longestTimerMs = 60_000;
/** Runs whose due times are kept in memory. Those beyond are left to workers and to whoever resumes them. */
const runsMax = 10_000;

/** The due times of runs that paused here, and one timer for the soonest. */
export class Wakes {
  readonly #clock: Clock;
  readonly #goOn: (runId: string) => Promise<unknown>;
  readonly #dueTimes = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #isClosed = false;

  /** @param goOn - takes a run up if it can go on. What it throws is told to whoever resumes the run. */
  constructor(clock: Clock, goOn: (runId: string) => Promise<unknown>) {
    this.#clock = clock;
    this.#goOn = goOn;
  }

  /** Of a run that has come to rest here: it is woken when the first of its due times comes. */
  rested(runId: string, { status, waits }: Pick<RunTree, 'status' | 'waits'>): void {
    const dueTimes = Object.values(waits).flatMap(({ dueAt }) => dueAt ?? []);
    if (status !== 'paused' || dueTimes.length === 0 || this.#dueTimes.size >= runsMax) this.#dueTimes.delete(runId);
    else this.#dueTimes.set(runId, Math.min(...dueTimes));
    this.#arm();
  }

  /** Something came for a run that nobody advances here. Whoever posted it may resume the run himself first. */
  posted(runId: string): void {
    this.#clock.defer(() => this.#wake(runId));
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#dueTimes.clear();
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
    const soonest = [...this.#dueTimes.values()].reduce((least, dueAt) => Math.min(least, dueAt));
    const delayMs = Math.max(0, soonest - this.#clock.now());
    this.#cancel = this.#clock.setTimer(Math.min(delayMs, longestTimerMs), () => {
      const now = this.#clock.now();
      for (const [runId, dueAt] of this.#dueTimes) if (dueAt <= now) this.#wake(runId);
      this.#arm();
    });
  }
}
