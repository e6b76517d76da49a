/** What limits ask of runs as a whole: those whose place another takes are cancelled, and what ended unseen gives its places back. */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { isRunOver } from '../../state/tree.ts';
import type { CancelOptions } from '../api.ts';
import { currentAttempt } from '../live-run/attempt-scope.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { requireRun } from '../live-run/require-run.ts';

/** Stands for the claim of a run that nobody has. */
const unclaimed = { workerId: '', token: 0, leaseMs: 0 };

/** Cancels the runs whose place a new one takes, where its limits say so. */
export async function cancelSuperseded(
  { places }: EngineEnvironment,
  run: RunRow,
  cancel: (runId: string, options: CancelOptions) => Promise<void>,
): Promise<void> {
  for (const runId of await places.supersededBy(run))
    await cancel(runId, { reason: `run ${run.runId} was started` }).catch((error: unknown) => {
      if (!CairnError.is(error, 'RUN_FINISHED', 'RUN_NOT_FOUND')) throw error;
    });
}

/**
 * Whether a run whose result is awaited stands in line. A node may not wait for one that waits for a place which the node's own run has: it
 * would wait for itself. @throws NODE_CALL_REFUSED
 */
export async function isAwaitedInLine({ places, store, tenant }: EngineEnvironment, run: RunRow): Promise<boolean> {
  const queued = await places.find(run);
  if (queued !== undefined) await places.healIfDue(queued.key);
  const caller = currentAttempt();
  if (queued === undefined || caller === undefined || caller.runId === run.runId) return queued !== undefined;
  const parent = await store.readRun({ tenant, runId: caller.runId });
  if (parent === undefined || !places.isUnder(parent, queued.key)) return true;
  throw new CairnError('NODE_CALL_REFUSED', {
    call: 'start',
    node: caller.node.join('/'),
    reason: `run ${run.runId} stands in line for limit ${queued.key}, of which the run that waits for it has a place`,
    hint: 'Start it without waiting for its result, or put the two under different limits.',
  });
}

/** Gives back what a run held from its first step to its end, if it has ended while nobody advanced it. */
export async function leaveIfEnded(env: EngineEnvironment, runId: string): Promise<void> {
  const run = await requireRun(env, runId);
  if (isRunOver(run.status)) await env.places.leave({ ...unclaimed, ...run }, run, true);
}
