/**
 * Runs that nobody goes on with until a person says so: those of a restored copy, of which it is unknown what they did after it was made.
 * To the store a held run is one that somebody has claimed for good, so every store can hold runs, and no worker takes them.
 */
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';

/** Who owns held runs. No worker is called so. */
const holder = 'held';
/** A hundred years. */
const heldMs = 100 * 365 * 24 * 3_600_000;

/** Statuses of runs that may go on, or be taken up again by a person. */
export const openStatuses = ['running', 'paused', 'failed'] as const;

export function isHeld({ claim }: Pick<RunRow, 'claim'>): boolean {
  return claim?.workerId === holder;
}

/** What a claim of this run is refused with, given who owns it. */
export function refusalOf(runId: string, owner: string, remainingMs: number): CairnError {
  return owner === holder
    ? new CairnError('RUN_HELD', { runId })
    : new CairnError('CLAIM_TAKEN', { runId, owner, remainingMs });
}

/** Takes a run from whoever has it, for good. */
export async function holdRun(store: Store, { tenant, runId, claim }: RunRow): Promise<void> {
  await store.claimRun({
    tenant,
    runId,
    workerId: holder,
    leaseMs: heldMs,
    ...(claim !== undefined && { takeFrom: claim.workerId }),
  });
}

/** Lets a held run go on, for whoever takes it. @returns whether it was held */
export async function letGo(store: Store, run: RunRow): Promise<boolean> {
  if (!isHeld(run)) return false;
  const { tenant, runId } = run;
  const reply = await store.claimRun({ tenant, runId, workerId: holder, leaseMs: heldMs, takeFrom: holder });
  if (reply.claim !== undefined) await store.releaseClaim(reply.claim);
  return reply.claim !== undefined;
}
