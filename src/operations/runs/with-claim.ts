/** Does something to a run as its owner. */
import { CairnError } from '../../errors.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import type { WorkContext } from '../declare/operation.ts';

const leaseMs = 60_000;

/**
 * Claims a run, taking it over from a worker known to be dead, and gives it back whatever happens.
 *
 * @throws CLAIM_TAKEN
 */
export async function withClaim<Result>(
  { store, ids, isWorkerDead }: WorkContext,
  run: RunRow,
  act: (claim: Claim, run: RunRow) => Promise<Result>,
): Promise<Result> {
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
  if (reply.claim === undefined)
    throw new CairnError('CLAIM_TAKEN', { runId, owner: reply.owner, remainingMs: reply.remainingMs });
  try {
    return await act(reply.claim, reply.run);
  } finally {
    await store.releaseClaim(reply.claim);
  }
}
