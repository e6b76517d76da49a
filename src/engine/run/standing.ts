/** Whether a run goes on here and, if not, why it stops. */
import { CairnError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';

/** A moment by both clocks, in ms. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

const reasons = {
  claimed: 'another worker has claimed it',
  expired: 'its lease ran out before it could be renewed',
  closed: 'its engine was closed',
} as const;

/** The error of a run that this process may not advance any more. It says what is known here, and no more: nobody may have the run. */
export function claimLost(runId: string, reason: keyof typeof reasons, cause?: unknown): CairnError {
  return new CairnError('CLAIM_LOST', { runId, reason: reasons[reason] }, cause === undefined ? {} : { cause });
}

/** Sorted by priority: a later one replaces earlier ones, and none is undone. */
const phases = ['going', 'failing', 'closing', 'cancelling', 'ended', 'broken'] as const;

/**
 * `going`: new activations start. `failing`: there was an unhandled failure; running work may finish (G8). `closing`: this process releases
 * the run as it is. `cancelling`: the run was cancelled (E7). `ended`: its end or its pause is recorded. `broken`: the run cannot be advanced here, because its claim or its store is
 * lost.
 */
export type Phase = (typeof phases)[number];

/** One for each run being advanced. */
export class Standing {
  #phase: Phase = 'going';
  readonly #leaseMs: number;
  #leasedAt: Moment;

  /** @param leasedAt - when the claim was requested; the store's lease began no earlier */
  constructor(leaseMs: number, leasedAt: Moment) {
    this.#leaseMs = leaseMs;
    this.#leasedAt = leasedAt;
  }

  /** @param askedAt - when the renewal was requested */
  renewLease(askedAt: Moment): void {
    this.#leasedAt = askedAt;
  }

  /**
   * Whether the lease may have run out (O2). The clock that has advanced further counts, because the monotonic clock stands still while a
   * machine sleeps, and the wall clock may be set back.
   */
  isLeaseOver(clock: Clock): boolean {
    const { monotonicMs, wallMs } = this.#leasedAt;
    return Math.max(clock.monotonic() - monotonicMs, clock.now() - wallMs) >= this.#leaseMs;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Stops the run for a reason, unless it stops for one of higher priority. */
  stop(phase: Exclude<Phase, 'going'>): void {
    if (phases.indexOf(phase) > phases.indexOf(this.#phase)) this.#phase = phase;
  }

  /** Whether no new activation may start. */
  get isStopping(): boolean {
    return this.#phase !== 'going';
  }

  /** Whether running work may end and be recorded, and announced effects may start: a failure elsewhere does not prevent it (G8). */
  get mayFinish(): boolean {
    return this.#phase === 'going' || this.#phase === 'failing';
  }

  get isCancelling(): boolean {
    return this.#phase === 'cancelling';
  }
}
