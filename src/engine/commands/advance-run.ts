/** Advances a run for a slice of time, for hosts that decide when and where runs go on (docs/spec/hosts.md). */
import { CairnError } from '../../errors.ts';
import { isHeld } from '../../history/access/claim-run.ts';
import { isDueBy } from '../../ports/schedule.ts';
import type { RunRow } from '../../ports/store.ts';
import type { AdvanceOptions, AdvanceResult, RunHandle } from '../api.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import type { ActiveRun, ActiveRuns } from './active-runs.ts';
import { requireRun } from '../live-run/require-run.ts';

/** Codes with which a slice ends although the run is whole: its claim was released, or another process has it. */
const handedOver = new Set(['CLAIM_LOST', 'CLAIM_FENCED', 'STORE_CLOSED', 'RUN_CANCELLED', 'RUN_HELD']);

/**
 * @param open - claims the run and begins to advance it
 * @throws USAGE_INVALID, RUN_NOT_FOUND, and the errors of a resume
 */
export async function advanceRun(
  env: EngineEnvironment,
  runs: ActiveRuns,
  runId: string,
  options: AdvanceOptions,
  open: () => Promise<RunHandle>,
): Promise<AdvanceResult> {
  const { forMs, signal } = options;
  if (!(Number.isFinite(forMs) && forMs > 0))
    throw new CairnError('USAGE_INVALID', { reason: 'forMs is a number of milliseconds above 0' });
  for (;;) {
    await runs.opening(runId)?.catch(() => {});
    const joined = await runs.advancing(runId);
    if (joined !== undefined) return advanceActive(env, runId, joined, options);
    const stand = await standOf(env, await requireRun(env, runId));
    if (!isGoing(stand) || signal?.aborted === true) return stand;
    // Another call may have opened the run here while its row was read. Then this one joins it.
    if (runs.opening(runId) === undefined && runs.find(runId) === undefined) break;
  }
  try {
    await open();
  } catch (error) {
    if (CairnError.is(error, 'CLAIM_TAKEN')) return ownedElsewhere(env, error);
    if (!CairnError.is(error) || !handedOver.has(error.code)) throw error;
    runs.checkOpen();
  }
  const active = runs.find(runId);
  if (active !== undefined) return advanceActive(env, runId, active, options);
  return standOf(env, await requireRun(env, runId));
}

function ownedElsewhere({ clock }: EngineEnvironment, { data }: CairnError): AdvanceResult {
  return { status: 'held', by: String(data['owner']), until: clock.now() + Number(data['remainingMs']) };
}

/** Waits until the run rests here, and gives it back when the time is over. */
async function advanceActive(
  env: EngineEnvironment,
  runId: string,
  active: ActiveRun,
  { forMs, signal }: AdvanceOptions,
): Promise<AdvanceResult> {
  const { clock, ids, leaseMs } = env;
  const over = Promise.withResolvers<'over'>();
  const stop = (): void => {
    if (active.isSlice) void active.runner.close();
    over.resolve('over');
  };
  const cancelTimer = clock.setTimer(forMs, () => {
    if (active.isSlice) active.runner.yieldRun();
    else over.resolve('over');
  });
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted === true) stop();
  try {
    // A run that a program follows here is not released because a host advances it, too.
    const end = await (active.isSlice ? active.rested : Promise.race([active.rested, over.promise]));
    if (end === 'over') return { status: 'held', by: ids.workerId, until: clock.now() + leaseMs };
  } catch (error) {
    if (!CairnError.is(error) || !handedOver.has(error.code)) throw error;
  } finally {
    cancelTimer();
    signal?.removeEventListener('abort', stop);
  }
  const stand = await standOf(env, await requireRun(env, runId));
  const { ownerHold } = active.runner;
  if (!isGoing(stand) || ownerHold === undefined) return stand;
  return { status: 'held', by: ownerHold.owner ?? 'unknown', until: ownerHold.until };
}

const isGoing = ({ status }: AdvanceResult): boolean => status === 'running' || status === 'cancelling';

/** Where a run stands that nobody advances here. */
async function standOf({ store, clock, ids }: EngineEnvironment, run: RunRow): Promise<AdvanceResult> {
  const { tenant, runId, status, claim, hasMessages, schedule } = run;
  if (status === 'completed' || status === 'failed' || status === 'cancelled') return { status };
  const now = clock.now();
  // Only a person releases a held run, so there is no time at which to try again.
  if (isHeld(run)) return { status: 'paused', asks: true };
  // The claim of this process is one it gives back at this moment; that of a dead one is taken over by the claim itself.
  const isOthers = claim !== undefined && claim.workerId !== ids.workerId && ids.isWorkerDead(claim.workerId) !== true;
  if (isOthers) return { status: 'held', by: claim.workerId, until: now + claim.remainingMs };
  if (!isDueBy(run, now)) return { status: 'paused', dueAt: schedule.dueAt, asks: false };
  if (status !== 'paused' || hasMessages) return { status: status === 'cancelling' ? status : 'running' };
  const [due, answerable] = await Promise.all([
    store.listWaits({ tenant, runId, limit: 1 }),
    store.listWaits({ tenant, runId, kinds: ['question', 'signal', 'doubt'], limit: 1 }),
  ]);
  const dueAt = due.rows[0]?.dueAt;
  if (dueAt !== undefined && dueAt <= now) return { status: 'running' };
  return { status: 'paused', ...(dueAt !== undefined && { dueAt }), asks: answerable.rows.length > 0 };
}
