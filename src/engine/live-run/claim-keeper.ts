/** Keeps runs' claims alive from the moment they were claimed, because opening a run may take longer than a lease (O2). */
import type { CairnError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GuardedClaim, GuardRenewal, LeaseGuard } from '../../ports/lease-guard.ts';
import type { Claim, Renewal, Store } from '../../ports/store.ts';
import { fencedError } from '../../history/access/claim-run.ts';
import { claimLost, momentOf, type Moment } from './standing.ts';

/** Callbacks of whoever advances the run, once it is open. */
export interface ClaimHolder {
  readonly onRenewed: (requestedAt: Moment) => void;
  /** Called when messages are waiting for the run. */
  readonly onMessages: () => Promise<void>;
  /** Called when another worker has taken the run. */
  readonly onLost: (error: CairnError) => void;
}

export interface ClaimRenewalsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Called with each renewal. */
  readonly onRenew: () => void;
  /** Renews them while the event loop is blocked. */
  readonly guard?: LeaseGuard | undefined;
}

/** Renews what an engine holds whenever a third of a lease has passed: all of it in one call. */
export class ClaimRenewals {
  readonly #options: ClaimRenewalsOptions;
  readonly #keepers = new Set<ClaimKeeper>();
  /** Those whose renewal has not been answered. */
  readonly #unanswered = new Set<ClaimKeeper>();
  #cancel: (() => void) | undefined;

  constructor(options: ClaimRenewalsOptions) {
    this.#options = options;
  }

  add(keeper: ClaimKeeper): GuardedClaim | undefined {
    this.#keepers.add(keeper);
    this.#startTimer();
    return this.#options.guard?.hold(keeper.claim, keeper.leasedAt.monotonicMs);
  }

  /** When the guard renewed a claim, as the engine's clock has it. */
  momentOf({ monotonicMs, wallAgoMs }: GuardRenewal): Moment {
    return { monotonicMs, wallMs: this.#options.clock.now() - wallAgoMs };
  }

  delete(keeper: ClaimKeeper): void {
    this.#keepers.delete(keeper);
    if (this.#keepers.size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #startTimer(): void {
    const { clock, leaseMs } = this.#options;
    this.#cancel ??= clock.setTimer(leaseMs / 3, () => {
      this.#cancel = undefined;
      void this.#renew([...this.#keepers].filter((keeper) => !this.#unanswered.has(keeper)));
    });
  }

  async #renew(keepers: readonly ClaimKeeper[]): Promise<void> {
    if (keepers.length === 0) return;
    const { store, clock, onRenew } = this.#options;
    const requestedAt = momentOf(clock);
    for (const keeper of keepers) this.#unanswered.add(keeper);
    try {
      onRenew();
      const renewals = await store.renewClaims(keepers.map(({ claim }) => claim));
      for (const [at, keeper] of keepers.entries()) {
        const renewal = renewals[at];
        if (renewal !== undefined && this.#keepers.has(keeper)) keeper.take(renewal, requestedAt);
      }
    } catch {
      // The store may come back before the leases run out. Effects check their lease themselves.
    } finally {
      for (const keeper of keepers) this.#unanswered.delete(keeper);
      if (this.#keepers.size > 0) this.#startTimer();
    }
  }
}

/** Keeps one claim until it is stopped or lost. A refused renewal ends the work here. */
export class ClaimKeeper {
  readonly claim: Claim;
  readonly #renewals: ClaimRenewals;
  /** When the claim or its last renewal was requested. The store's lease began no earlier than that. */
  leasedAt: Moment;
  readonly #guarded: GuardedClaim | undefined;
  #holder: ClaimHolder | undefined;
  #lost: CairnError | undefined;

  constructor(renewals: ClaimRenewals, claim: Claim, claimedAt: Moment) {
    this.#renewals = renewals;
    this.claim = claim;
    this.leasedAt = claimedAt;
    this.#guarded = renewals.add(this);
  }

  /** Sets the callbacks. If the claim was lost while the run was opened, `onLost` is called at once. */
  attach(holder: ClaimHolder): void {
    this.#holder = holder;
    holder.onRenewed(this.leasedAt);
    if (this.#lost !== undefined) holder.onLost(this.#lost);
  }

  /**
   * Makes sure that nobody else has the run, if the claim was granted while this process's event loop was blocked, so that its lease may have
   * run out before anything here knew of it. If the store is away, its effects wait for the lease by themselves. @throws CLAIM_LOST
   */
  async requireHeld({ store, clock }: { readonly store: Store; readonly clock: Clock }): Promise<void> {
    if (clock.monotonic() - this.leasedAt.monotonicMs < this.claim.leaseMs) return;
    const requestedAt = momentOf(clock);
    const [renewal] = await store.renewClaims([this.claim]).catch(() => []);
    if (renewal !== undefined) this.take(renewal, requestedAt);
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** When the lease was renewed while the event loop was blocked; undefined if it was not. */
  renewedByGuard(): Moment | undefined {
    const renewed = this.#guarded?.renewedByGuard();
    return renewed && this.#renewals.momentOf(renewed);
  }

  stop(): void {
    this.#renewals.delete(this);
    this.#guarded?.release();
  }

  /** Takes the reply to a renewal that was requested at this moment. */
  take(renewal: Renewal, requestedAt: Moment): void {
    if (!renewal.isHeld) {
      this.stop();
      this.#lost = claimLost(this.claim.runId, 'claimed', fencedError(this.claim, renewal.current));
      return this.#holder?.onLost(this.#lost);
    }
    this.leasedAt = requestedAt;
    this.#guarded?.renewed(requestedAt.monotonicMs);
    this.#holder?.onRenewed(requestedAt);
    // What cannot be read now is read with a later renewal, or by whoever has the run then.
    if (renewal.hasMessages) this.#holder?.onMessages().catch(() => undefined);
  }
}
