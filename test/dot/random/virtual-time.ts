/** Virtual time for the interpreter: whatever takes time yields how long it waits, and whoever began it lets that time pass. */

/** Work that takes time. It yields for how many milliseconds it waits. */
export type Work<Result> = Generator<number, Result>;

/** Work that has begun. */
export class Running<Result> {
  /** Until it goes on by itself, in milliseconds. */
  leftMs = 0;
  end: { readonly value: Result } | undefined;
  readonly #work: Work<Result>;

  constructor(work: Work<Result>) {
    this.#work = work;
    this.pass(0);
  }

  /** @param ms - no more than `leftMs` */
  pass(ms: number): void {
    this.leftMs -= ms;
    while (this.end === undefined && this.leftMs <= 0) {
      const { done, value } = this.#work.next();
      if (done === true) this.end = { value };
      else this.leftMs = value;
    }
  }
}

/** Lets time pass until this work ends, but no longer than this. @returns what is left of the time */
export function* passBeside(running: Running<unknown>, ms: number): Work<number> {
  let leftMs = ms;
  while (leftMs > 0 && running.end === undefined) {
    const stepMs = Math.min(leftMs, running.leftMs);
    yield stepMs;
    running.pass(stepMs);
    leftMs -= stepMs;
  }
  return leftMs;
}

/** Work side by side, all begun at once. @returns the results, in the order of the works */
export function* sideBySide<Result>(works: readonly Work<Result>[]): Work<readonly Result[]> {
  const all = works.map((work) => new Running(work));
  for (;;) {
    const open = all.filter(({ end }) => end === undefined);
    if (open.length === 0) return all.map(({ end }) => (end as { readonly value: Result }).value);
    const stepMs = Math.min(...open.map(({ leftMs }) => leftMs));
    yield stepMs;
    for (const one of open) one.pass(stepMs);
  }
}

/** Does work to its end. @returns its result, and how long it took */
export function finish<Result>(work: Work<Result>): { readonly result: Result; readonly tookMs: number } {
  for (let tookMs = 0; ;) {
    const { done, value } = work.next();
    if (done === true) return { result: value, tookMs };
    tookMs += value;
  }
}
