/**
 * Holds runs: nobody can advance a held run until a person releases it. Runs of a restored backup are held, because it is not known what
 * they did after the backup was made. To a store, a held run is one with a claim that lasts practically forever, so every store can hold
 * runs and no worker takes them.
 */
import { CairnError } from '../../errors.ts';
import type { Claim, RunRow, Store } from '../../ports/store.ts';

/** Worker id in the claim of a held run. No real worker has it. */
const holder = 'held';
/** Lease of a held run: a hundred years, in milliseconds. */
const heldMs = 100 * 365 * 24 * 3_600_000;

/** Statuses of runs that are not finished for good: they may go on, or a person may resume them. */
export const openStatuses = ['running', 'paused', 'failed'] as const;

export function isHeld({ claim }: Pick<RunRow, 'claim'>): boolean {
  return claim?.workerId === holder;
}

/** The error for a claim that was refused because `owner` has the run. */
export function refusalOf(runId: string, owner: string, remainingMs: number): CairnError {
  return owner === holder
    ? new CairnError('RUN_HELD', { runId })
    : new CairnError('CLAIM_TAKEN', { runId, owner, remainingMs });
}

/** Takes a run over from its owner, if any, and holds it. */
export async function holdRun(store: Store, { tenant, runId, claim }: RunRow): Promise<void> {
  await store.claimRun({
    tenant,
    runId,
    workerId: holder,
    leaseMs: heldMs,
    ...(claim !== undefined && { takeFrom: claim.workerId }),
  });
}

/**
 * Releases a held run, so that anyone may advance it.
 * @param record - called under the claim, before the run is released
 */
export async function letGo(store: Store, run: RunRow, record: (claim: Claim) => Promise<unknown>): Promise<void> {
  if (!isHeld(run)) return;
  const { tenant, runId } = run;
  const reply = await store.claimRun({ tenant, runId, workerId: holder, leaseMs: heldMs, takeFrom: holder });
  if (reply.claim === undefined) return;
  await record(reply.claim);
  await store.releaseClaim(reply.claim);
}
