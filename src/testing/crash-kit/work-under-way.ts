/**
 * Keeps track of running functions. While one waits for something real, such as a command or a network response, virtual time stands still.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The longest time, in real ms, that virtual time stands still for work that does not end. */
const realWorkMsMost = 60_000;
/** The longest time, in real ms, to wait for a function whose work is not visible in the event loop, such as loading a module. */
const unseenWorkMsMost = 1_000;

/** One running call of a node's or step's function, or of the store. */
class Attempt {
  /** Number of its calls that wait for the engine or for virtual time. */
  waits = 0;
  isOver = false;
  /** Real time in ms when it began or last continued. */
  since: number = performance.now();
}

/** Knows which functions are running, and whether they wait for something outside of virtual time. */
export class WorkUnderWay {
  readonly #attempts = new Set<Attempt>();
  readonly #current = new AsyncLocalStorage<Attempt>();
  /** Resources of the event loop, by kind, that existed at the start. */
  readonly #before: ReadonlyMap<string, number> = countResources();
  #busySince: number | undefined;

  /** Calls a function and counts it as running until it has ended. Returns a promise only if the function does. */
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

  /** Marks the calling function as waiting for the engine or for virtual time until the promise has settled. */
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
   * Whether virtual time must stand still. It must if a function is running, and either the event loop has something new to wait for or the
   * function has only just begun. A function that only waits for its own timeout does not count.
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

  /** Resolves when no real work is in progress, so that commands of a killed process have ended. */
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

/** Whether there are new resources. Immediates do not count, because virtual time uses them itself. */
function hasNewResources(before: ReadonlyMap<string, number>): boolean {
  return [...countResources()].some(([kind, count]) => kind !== 'Immediate' && count > (before.get(kind) ?? 0));
}
