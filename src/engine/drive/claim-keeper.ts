/** Keeps the claim of a run alive while it is advanced (O2). */
import { CairnError } from '../../errors.ts';
import { momentOf } from '../run/standing.ts';
import type { RunCore } from '../run/run-core.ts';

/** Renews the lease at a third of it; a renewal that is refused ends the work here. */
export class ClaimKeeper {
  readonly #core: RunCore;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(core: RunCore) {
    this.#core = core;
  }

  start(): void {
    const { env, claim } = this.#core;
    this.#cancel = env.clock.setTimer(claim.leaseMs / 3, () => void this.#renew());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  async #renew(): Promise<void> {
    const core = this.#core;
    const { env, claim } = core;
    const askedAt = momentOf(env.clock);
    try {
      const { hasMessages } = await env.store.renewClaim(claim);
      if (this.#isStopped) return;
      // Counted from before the call: the store's lease began no earlier.
      core.standing.renewLease(askedAt);
      if (hasMessages) await core.loop.readMessages();
    } catch (error) {
      if (this.#isStopped) return;
      const isFenced = CairnError.is(error) && error.code === 'CLAIM_FENCED';
      if (isFenced) return core.loop.fail(new CairnError('CLAIM_LOST', { runId: core.runId }, { cause: error }));
      // The store may be back before the lease runs out; effects check the lease themselves.
    }
    if (!this.#isStopped) this.start();
  }
}
