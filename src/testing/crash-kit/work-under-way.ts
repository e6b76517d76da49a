/** Functions at work: while one of them waits for something real, such as a command or an answer over the network, virtual time stands still. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** How long, in real ms, time stands still for work that shows no end. */
const realWorkMsMost = 60_000;
/** How long, in real ms, a function is waited for that waits for nothing one can see, such as a module that is being loaded. */
const unseenWorkMsMost = 1_000;

/** One call of a node's or a step's function, or of the store. */
class Attempt {
  /** Calls of it that wait for the engine, or for virtual time. */
  waits = 0;
  isOver = false;
  /** Real ms when it began, or went on. */
  since: number = performance.now();
}

/** Knows which functions are at work, and whether they wait for something outside virtual time. */
export class WorkUnderWay {
  readonly #attempts = new Set<Attempt>();
  readonly #current = new AsyncLocalStorage<Attempt>();
  /** Resources of the event loop, by kind, that were there before anything ran. */
  readonly #before: ReadonlyMap<string, number> = countResources();
  #busySince: number | undefined;

  /** Calls a function; until it has ended it is at work. Returns a promise only if the function does. */
  attempt<Value>(work: () => Value): Value {
    const attempt = new Attempt();
    this.#attempts.add(attempt);
    const end = (): void => {
      attempt.isOver = true;
      this.#attempts.delete(attempt);
    };
    let value: Value;
    try {
      value = this.#current.run(attempt, work);
    } catch (error) {
      end();
      throw error;
    }
    if (value instanceof Promise) value.then(end, end);
    else end();
    return value;
  }

  /** Marks the function that calls as waiting for the engine, or for virtual time, until the promise has settled. */
  async wait<Value>(begin: () => Promise<Value>): Promise<Value> {
    const attempt = this.#current.getStore();
    if (attempt !== undefined) this.#change(attempt, 1);
    try {
      return await begin();
    } finally {
      if (attempt !== undefined) this.#change(attempt, -1);
    }
  }

  /**
   * Whether time has to stand still: a function is at work, and the event loop has something to wait for that was not there before, or the
   * function has only just begun. One that waits for its own timeout is not waited for longer.
   */
  isBusy(): boolean {
    if (this.#attempts.size === 0) return false;
    const now = performance.now();
    if (!hasNewResources(this.#before)) {
      this.#busySince = undefined;
      return [...this.#attempts].some(({ since }) => now - since < unseenWorkMsMost);
    }
    this.#busySince ??= now;
    return now - this.#busySince < realWorkMsMost;
  }

  /** Resolves when nothing real is under way: a killed process's commands have ended. */
  async atRest(): Promise<void> {
    while (this.isBusy()) await new Promise((resolve) => void setTimeout(resolve, 1));
  }

  #change(attempt: Attempt, by: number): void {
    attempt.waits += by;
    if (attempt.isOver) return;
    if (attempt.waits > 0) this.#attempts.delete(attempt);
    else {
      attempt.since = performance.now();
      this.#attempts.add(attempt);
    }
  }
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Turns of the event loop are what virtual time itself goes on by. */
function hasNewResources(before: ReadonlyMap<string, number>): boolean {
  return [...countResources()].some(([kind, count]) => kind !== 'Immediate' && count > (before.get(kind) ?? 0));
}
