/** Whether a run goes on here, and if not, why it stops. */

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
  /** Monotonic ms until which the lease certainly holds (O2). */
  leaseUntilMs: number;

  constructor(leaseUntilMs: number) {
    this.leaseUntilMs = leaseUntilMs;
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
