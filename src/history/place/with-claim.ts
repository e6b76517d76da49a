/** Does something to a run under a claim. */
import type { Claim, GrantedClaim, RunRow } from '../../ports/store.ts';
import { refusalOf } from './hold.ts';
import type { WritePlace } from './place.ts';

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
