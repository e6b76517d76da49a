/** Claims of runs: who owns one, what is said when another does, and work that is done to a run under a claim. */
import { CairnError } from '../../errors.ts';
import type { Claim, RunRow, Store, GrantedClaim } from '../../ports/store.ts';
import { heldBy } from '../../ports/held-runs.ts';
import type { WritePlace } from './place.ts';

export function isHeld({ claim }: Pick<RunRow, 'claim'>): boolean {
  return claim?.workerId === heldBy;
}

/** The error for a claim that was refused because `owner` has the run. */
export function refusalOf(runId: string, owner: string, remainingMs: number): CairnError {
  return owner === heldBy
    ? new CairnError('RUN_HELD', { runId })
    : new CairnError('CLAIM_TAKEN', { runId, owner, remainingMs });
}

export function fencedError({ runId, token }: Claim, current: number): CairnError {
  return new CairnError('CLAIM_FENCED', { runId, token, current });
}

/** Extends the lease of one claim. @throws CLAIM_FENCED */
export async function renewClaim(store: Store, claim: Claim): Promise<void> {
  const [renewal] = await store.renewClaims([claim]);
  if (renewal?.isHeld !== true) throw fencedError(claim, renewal?.current ?? 0);
}

const leaseMs = 60_000;

/** Claims a run; takes it over from a worker that is known to be dead. The caller must release the claim. @throws CLAIM_TAKEN, RUN_HELD */
export async function takeClaim({ store, ids, isWorkerDead }: WritePlace, run: RunRow): Promise<GrantedClaim> {
  const { tenant, runId } = run;
  const owner = run.claim?.workerId;
  const takeFrom = owner !== undefined && isWorkerDead(owner) === true ? owner : undefined;
  const reply = await store.claimRun({
    tenant,
    runId,
    workerId: ids.workerId,
    leaseMs,
    ...(takeFrom !== undefined && { takeFrom }),
  });
  if (reply.claim === undefined) throw refusalOf(runId, reply.owner, reply.remainingMs);
  return reply;
}

/** Calls a function under a claim, and always releases the claim. @throws CLAIM_TAKEN, RUN_HELD */
export async function withClaim<Result>(
  place: WritePlace,
  row: RunRow,
  act: (claim: Claim, run: RunRow) => Promise<Result>,
): Promise<Result> {
  const { claim, run } = await takeClaim(place, row);
  try {
    return await act(claim, run);
  } finally {
    await place.store.releaseClaim(claim);
  }
}
