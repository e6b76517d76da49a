/** Waiting for what other code, or another process, does: never without end, and what fails says what was awaited. */

/** The runner's own timers, whatever timers a test puts in their place. */
const { setTimeout, clearTimeout } = globalThis;

/** Longer than anything healthy takes on a busy machine, and shorter than the runner's own patience, which says nothing. */
const patienceMs = 40_000;

/** The value of a promise. @throws an error that says what was awaited, if it does not come */
export async function within<T>(what: string, promise: Promise<T>, tell?: () => Promise<string>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const refuse = (more: string): void => reject(new Error(`awaited in vain: ${what}${more}`));
      (tell?.() ?? Promise.resolve('')).then(refuse, (error: unknown) => refuse(`; ${String(error)}`));
    }, patienceMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The first value that is neither false nor undefined. It looks once a turn of the event loop, 10,000 times at most; or every so many ms,
 * for what other processes and real timers do.
 * @param forMs - how long it looks, if more than usual: for many processes that start one after another, in a test whose timeout is longer
 * @throws an error that says what was awaited, if it does not come
 */
export async function until<T>(
  what: string,
  look: () => T | false | undefined | Promise<T | false | undefined>,
  everyMs?: number,
  forMs: number = patienceMs,
): Promise<T> {
  const looks = everyMs === undefined ? 10_000 : forMs / everyMs;
  for (let count = 0; count < looks; count += 1) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise<void>((resolve) =>
      everyMs === undefined ? void setImmediate(resolve) : void setTimeout(resolve, everyMs),
    );
  }
  throw new Error(`awaited in vain: ${what}`);
}
