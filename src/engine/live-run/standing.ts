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

/** How long ago a moment was, by the clock that says more: the monotonic one stands still while a machine sleeps, the wall clock may be put back. */
export function elapsedMs(clock: Clock, { monotonicMs, wallMs }: Moment): number {
  return Math.max(clock.monotonic() - monotonicMs, clock.now() - wallMs);
}

const reasons = {
  claimed: 'another worker has claimed it',
  expired: 'its lease ran out before it could be renewed',
  closed: 'its engine was closed',
  yielded: 'its slice of time is over; advance it again',
} as const;

/** The error of a run that this process may not advance any more. It says what is known here, and no more: nobody may have the run. */
export function claimLost(runId: string, reason: keyof typeof reasons, cause?: unknown): CairnError {
  return new CairnError('CLAIM_LOST', { runId, reason: reasons[reason] }, cause === undefined ? {} : { cause });
}

/** Sorted by priority: a later one replaces earlier ones, and none is undone. */
const phases = ['going', 'failing', 'yielding', 'closing', 'cancelling', 'ended', 'broken'] as const;

/**
 * `going`: new activations start. `failing`: there was an unhandled failure; running work may finish (G8). `yielding`: the time of this
 * slice is over; running work may finish, and then its claim is released (HO1). `closing`: this process releases the run as it is.
 * `cancelling`: the run was cancelled (E7). `ended`: its end or its pause is recorded. `broken`: the run cannot be advanced here, because
 * its claim or its store is lost.
 */
export type Phase = (typeof phases)[number];

/** One for each run being advanced. */
export class Standing {
  #phase: Phase = 'going';
  readonly #leaseMs: number;
  #leasedAt: Moment;
  #whenRenewed: (() => void)[] = [];
  /** Who knows whether the lease was renewed while the event loop was blocked. */
  elsewhere: { renewedByGuard(): Moment | undefined } | undefined;

  /** @param leasedAt - when the claim was requested; the store's lease began no earlier */
  constructor(leaseMs: number, leasedAt: Moment) {
    this.#leaseMs = leaseMs;
    this.#leasedAt = leasedAt;
  }

  /** @param requestedAt - when the renewal was requested */
  renewLease(requestedAt: Moment): void {
    this.#leasedAt = requestedAt;
    for (const look of this.#whenRenewed.splice(0)) look();
  }

  /** Whether the lease may have run out (O2). */
  isLeaseOver(clock: Clock): boolean {
    if (!this.#isOver(clock)) return false;
    const elsewhere = this.elsewhere?.renewedByGuard();
    if (elsewhere === undefined || elsewhere.monotonicMs <= this.#leasedAt.monotonicMs) return true;
    this.#leasedAt = elsewhere;
    return this.#isOver(clock);
  }

  #isOver(clock: Clock): boolean {
    return elapsedMs(clock, this.#leasedAt) >= this.#leaseMs;
  }

  /** Calls back when the lease holds: at once, or as soon as it was renewed. Never if the claim is lost. */
  whenLeased(clock: Clock, callback: () => void): void {
    if (this.isLeaseOver(clock)) this.#whenRenewed.push(() => this.whenLeased(clock, callback));
    else callback();
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
    return phases.indexOf(this.#phase) <= phases.indexOf('yielding');
  }

  /** Whether the time of this slice is over: functions stop at their next call, and the claim is released (HO1). */
  get isYielding(): boolean {
    return this.#phase === 'yielding';
  }

  get isCancelling(): boolean {
    return this.#phase === 'cancelling';
  }
}
