/** Keeps a run's claim alive from the moment it was claimed, because opening a run may take longer than a lease (O2). */
import { CairnError } from '../../errors.ts';
import type { Claim } from '../../ports/store.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import { claimLost, momentOf, type Moment } from '../run/draft.ts';

/** Callbacks of whoever advances the run, once it is open. */
export interface ClaimHolder {
  readonly onRenewed: (askedAt: Moment) => void;
  /** Called when messages are waiting for the run. */
  readonly onMessages: () => Promise<void>;
  /** Called when another worker has taken the run. */
  readonly onLost: (error: CairnError) => void;
}

/** Renews the lease when a third of it has passed. A refused renewal ends the work here. */
export class ClaimKeeper {
  readonly #env: EngineEnvironment;
  readonly #claim: Claim;
  /** When the claim or its last renewal was requested. The store's lease began no earlier than that. */
  leasedAt: Moment;
  #holder: ClaimHolder | undefined;
  #lost: CairnError | undefined;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(env: EngineEnvironment, claim: Claim, claimedAt: Moment) {
    this.#env = env;
    this.#claim = claim;
    this.leasedAt = claimedAt;
    this.#start();
  }

  /** Sets the callbacks. If the claim was lost while the run was opened, `onLost` is called at once. */
  attach(holder: ClaimHolder): void {
    this.#holder = holder;
    holder.onRenewed(this.leasedAt);
    if (this.#lost !== undefined) holder.onLost(this.#lost);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #start(): void {
    this.#cancel = this.#env.clock.setTimer(this.#claim.leaseMs / 3, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.#env;
    const askedAt = momentOf(clock);
    try {
      const { hasMessages } = await store.renewClaim(this.#claim);
      if (this.#isStopped) return;
      this.leasedAt = askedAt;
      this.#holder?.onRenewed(askedAt);
      if (hasMessages) await this.#holder?.onMessages();
    } catch (error) {
      if (this.#isStopped) return;
      if (CairnError.is(error, 'CLAIM_FENCED')) return this.#lose(error);
      // The store may come back before the lease runs out. Effects check the lease themselves.
    }
    if (!this.#isStopped) this.#start();
  }

  #lose(cause: unknown): void {
    this.#lost = claimLost(this.#claim.runId, 'claimed', cause);
    this.#holder?.onLost(this.#lost);
  }
}
