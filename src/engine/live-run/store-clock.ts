/** Time as the store's clock has it: due times are set and judged by it, so a worker whose own clock is wrong fires nothing early. */
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';

/** A clock that is moved by what the store's clock is ahead of it. */
export interface StoreClock extends Clock {
  /** Reads the store's clock again. If that cannot be done, the last difference holds. */
  readonly sync: () => Promise<void>;
  /** Resolves when the store's clock was read once, or could not be; undefined if there is nothing to wait for. */
  readonly ready: () => Promise<void> | undefined;
}

export function createStoreClock(clock: Clock, store: Store): StoreClock {
  let [aheadMs, isRead] = [0, store.readTime === undefined];
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    const before = clock.now();
    const time = await store.readTime?.().catch(() => undefined);
    if (time === undefined) return;
    isRead = true;
    const [differenceMs, inaccuracyMs] = [time - (before + clock.now()) / 2, (clock.now() - before) / 2 + 1];
    // What is smaller than the time that the reading took may be no difference at all.
    aheadMs = Math.abs(differenceMs) <= inaccuracyMs ? 0 : Math.round(differenceMs);
  };
  const sync = (): Promise<void> => {
    reading ??= read().finally(() => (reading = undefined));
    return reading;
  };
  return {
    now: store.readTime === undefined ? clock.now.bind(clock) : () => clock.now() + aheadMs,
    monotonic: clock.monotonic.bind(clock),
    setTimer: clock.setTimer.bind(clock),
    ...(clock.stay && { stay: clock.stay.bind(clock) }),
    defer: clock.defer.bind(clock),
    sync: store.readTime === undefined ? () => Promise.resolve() : sync,
    ready: () => (isRead ? undefined : sync()),
  };
}
