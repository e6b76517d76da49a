/**
 * Bounds what one request may read, and lets others in between: a door that serves many calls {@link boundReading}, and whatever walks
 * through a history below it calls {@link pause} between two checkpoints. Without a bound, as on a command line, nothing is counted.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CairnError } from '../../errors.ts';

/** The bounds of one request. */
export interface ReadBounds {
  /** Aborted when nobody waits for the answer any more: the reading ends. */
  readonly signal?: AbortSignal;
  /** Who reads. Callers take turns, so that many requests of one do not keep another waiting. */
  readonly caller?: string;
  /** The most checkpoints. */
  readonly rows?: number;
  /** How long it may keep this process busy, in milliseconds. Waiting for the store is not counted. */
  readonly busyMs?: number;
}

const defaultRows = 500_000;
const defaultBusyMs = 10_000;
/** How long others wait for one reader at most, but for what it does to one checkpoint. */
const sliceMs = 15;

const current = new AsyncLocalStorage<Reading>();

class Reading {
  readonly #bounds: ReadBounds;
  #rows: number;
  #busyMs: number;
  #sinceMs = performance.now();

  constructor(bounds: ReadBounds) {
    this.#bounds = bounds;
    this.#rows = bounds.rows ?? defaultRows;
    this.#busyMs = bounds.busyMs ?? defaultBusyMs;
  }

  pause(count: number): Promise<void> | undefined {
    const { rows = defaultRows } = this.#bounds;
    this.#rows -= count;
    if (this.#rows < 0) throw tooCostly(`${rows} checkpoints`);
    this.#requireCaller();
    return performance.now() - this.#sinceMs < sliceMs ? undefined : this.#letOthersIn();
  }

  /** Time that goes by until `start` is spent elsewhere. */
  stop(): void {
    const { busyMs = defaultBusyMs } = this.#bounds;
    this.#busyMs -= performance.now() - this.#sinceMs;
    if (this.#busyMs < 0) throw tooCostly(`${busyMs / 1000} s of work`);
  }

  start(): void {
    this.#sinceMs = performance.now();
  }

  async #letOthersIn(): Promise<void> {
    this.stop();
    await turnOf(this.#bounds.caller ?? '');
    this.start();
    this.#requireCaller();
  }

  #requireCaller(): void {
    if (this.#bounds.signal?.aborted === true) throw tooCostly('its caller waits for: it is gone');
  }
}

const tooCostly = (limit: string): CairnError => new CairnError('READ_TOO_COSTLY', { limit });

/** Does what reads, within bounds. @throws READ_TOO_COSTLY they are reached, or the caller is gone */
export function boundReading<T>(bounds: ReadBounds, read: () => Promise<T>): Promise<T> {
  return current.run(new Reading(bounds), read);
}

/** Whether what is done now is bounded. */
export function isBounded(): boolean {
  return current.getStore() !== undefined;
}

/** Between two checkpoints: lets others in where it is time. @param count - how many were read since. @throws READ_TOO_COSTLY */
export function pause(count = 0): Promise<void> | undefined {
  return current.getStore()?.pause(count);
}

/** Waits for something outside, such as a store, which is not time that the request takes. What it does before it returns is. */
export async function elsewhere<T>(ask: () => Promise<T>): Promise<T> {
  const reading = current.getStore();
  if (reading === undefined) return ask();
  const pending = ask();
  reading.stop();
  try {
    return await pending;
  } finally {
    reading.start();
  }
}

/** Lets timers, signals and other calls in once, whoever reads. */
export function letOthersIn(): Promise<void> {
  return elsewhere(() => new Promise((resolve) => void setImmediate(resolve)));
}

// Turns: in each round of the event loop one reader goes on, and callers alternate, however many requests each has.

const waiting = new Map<string, (() => void)[]>();

function turnOf(caller: string): Promise<void> {
  return new Promise((resolve) => {
    const isArmed = waiting.size > 0;
    const queue = waiting.get(caller);
    if (queue === undefined) waiting.set(caller, [resolve]);
    else queue.push(resolve);
    if (!isArmed) setImmediate(giveTurn);
  });
}

function giveTurn(): void {
  const [first] = waiting;
  if (first === undefined) return;
  const [caller, queue] = first;
  const goOn = queue.shift();
  // It stands behind the others now.
  waiting.delete(caller);
  if (queue.length > 0) waiting.set(caller, queue);
  if (waiting.size > 0) setImmediate(giveTurn);
  goOn?.();
}
