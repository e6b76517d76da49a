/** The clock of one host, for stores whose processes all run on it. That clock may be set, and leases are judged in spite of it (O2.7). */

/** Times that differ by less count as equal. */
export const clockSlackMs = 1_000;

/** Whether what was recorded at this time was recorded by a clock that has been set back since. */
export function isAhead(at: number, now: number): boolean {
  return at > now + clockSlackMs;
}

/** A moment, and the newest jump forward of the clock. */
export interface HostTime {
  /** Epoch ms. */
  readonly now: number;
  /** By how much the clock was last set forward, or the machine slept; 0 if it never did. */
  readonly forwardMs: number;
  /** How long ago that was. */
  readonly forwardAgoMs: number;
}

const monotonicNow = (): number => Number(process.hrtime.bigint()) / 1e6;
const never = Number.MAX_SAFE_INTEGER;

/** Tells the time, and notices when it goes on in another way than the monotonic clock. */
export class HostClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  /** What the wall clock was ahead of the monotonic one when both were last read. */
  #differenceMs: number;
  #forwardMs = 0;
  #forwardAt = 0;

  /** @param wall - epoch ms. Default: the system clock. Jumps of a clock that is given here are not noticed unless `monotonic` is too */
  constructor(wall?: () => number, monotonic: () => number = wall ?? monotonicNow) {
    this.#wall = wall ?? Date.now;
    this.#monotonic = monotonic;
    this.#differenceMs = this.#wall() - monotonic();
  }

  readonly now = (): number => this.#wall();

  read(): HostTime {
    const now = this.#wall();
    const elapsed = this.#monotonic();
    const jumpMs = now - elapsed - this.#differenceMs;
    this.#differenceMs = now - elapsed;
    if (jumpMs > clockSlackMs) [this.#forwardMs, this.#forwardAt] = [jumpMs, elapsed];
    const forwardAgoMs = this.#forwardMs === 0 ? never : elapsed - this.#forwardAt;
    return { now, forwardMs: this.#forwardMs, forwardAgoMs };
  }

  /**
   * How long a lease still holds; 0 if it is over. One that began later than now was granted before the clock was set back, and nobody
   * has renewed it since. After a jump forward all leases seem over at once, so their owners have the length of one to renew them.
   *
   * @param lengthMs - 0: not known
   */
  leaseLeftMs(until: number, lengthMs: number): number {
    const { now, forwardMs, forwardAgoMs } = this.read();
    if (lengthMs === 0) return Math.max(0, until - now);
    if (isAhead(until - lengthMs, now)) return 0;
    const leftMs = until - now + (forwardAgoMs < lengthMs ? forwardMs : 0);
    return Math.max(0, Math.min(leftMs, lengthMs));
  }
}
