/** Whether a run goes on here, and if not, why it stops. */
import type { Clock } from '../../ports/clock.ts';

/** A moment by both clocks, ms. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

/** In order of weight: a later one outweighs those before it, and none is taken back. */
const phases = ['going', 'failing', 'closing', 'cancelling', 'broken'] as const;

/**
 * `going`: new activations start. `failing`: a failure that nothing handled; what runs may end (G8). `closing`: this process gives the
 * run back as it is. `cancelling`: somebody asked for it (E7). `broken`: the run cannot be advanced here: its claim or its store is lost.
 */
export type Phase = (typeof phases)[number];

/** One per advancing run. */
export class Standing {
  #phase: Phase = 'going';
  readonly #leaseMs: number;
  #leasedAt: Moment;

  /** @param leasedAt - when the claim was asked for: the store's lease began no earlier */
  constructor(leaseMs: number, leasedAt: Moment) {
    this.#leaseMs = leaseMs;
    this.#leasedAt = leasedAt;
  }

  /** @param askedAt - when the renewal was asked for */
  renewLease(askedAt: Moment): void {
    this.#leasedAt = askedAt;
  }

  /**
   * Whether the lease may have run out (O2). The clock that has gone further counts: the monotonic one stands still while a machine
   * sleeps, and the other may be put back.
   */
  isLeaseOver(clock: Clock): boolean {
    const { monotonicMs, wallMs } = this.#leasedAt;
    return Math.max(clock.monotonic() - monotonicMs, clock.now() - wallMs) >= this.#leaseMs;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Stops the run for a reason, unless it stops for a weightier one. */
  stop(phase: Exclude<Phase, 'going'>): void {
    if (phases.indexOf(phase) > phases.indexOf(this.#phase)) this.#phase = phase;
  }

  /** No new activation starts any more. */
  get isStopping(): boolean {
    return this.#phase !== 'going';
  }

  /** Whether what runs may end and be recorded, and what is announced may begin: a failure elsewhere does not keep it (G8). */
  get mayFinish(): boolean {
    return this.#phase === 'going' || this.#phase === 'failing';
  }

  get isCancelling(): boolean {
    return this.#phase === 'cancelling';
  }
}
