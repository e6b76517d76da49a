/** Cancels a run that no worker has (E7). */
import { CairnError } from '../../errors.ts';
import { loadState } from '../../history/load/load.ts';
import { postSealed, readSound } from '../../history/stored/messages.ts';
import type { RunRow } from '../../ports/store.ts';
import { Committer } from '../run/committer.ts';
import { Draft } from '../run/draft.ts';
import { requireRun } from './answer.ts';
import { claimForResume } from './active-runs.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

const encoder = new TextEncoder();

/** Posts a cancel request, for whoever advances the run. @throws RUN_NOT_FOUND, RUN_FINISHED */
export async function postCancel(env: EngineEnvironment, runId: string): Promise<RunRow> {
  const run = await requireRun(env, runId);
  const { tenant, status } = run;
  if (status === 'completed' || status === 'cancelled') throw new CairnError('RUN_FINISHED', { runId, status });
  const body = encoder.encode('{}');
  await postSealed(env.store, { tenant, runId, kind: 'cancel', name: '', body, at: env.clock.now() });
  return run;
}

/**
 * Claims the run, ends it and releases it. If a live worker has it, that worker takes the request. @throws RUN_FINISHED the run has
 * completed
 */
export async function cancelUnowned(env: EngineEnvironment, run: RunRow): Promise<void> {
  let claimed: Awaited<ReturnType<typeof claimForResume>>;
  try {
    claimed = await claimForResume(env, run);
  } catch (error) {
    if (CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) return;
    throw error;
  }
  const { store } = env;
  try {
    const { status } = claimed.run;
    // The run may have ended between reading its row and claiming it.
    if (status === 'cancelled') return;
    if (status === 'completed') throw new CairnError('RUN_FINISHED', { runId: run.runId, status });
    await endCancelled(env, claimed);
  } finally {
    await store.releaseClaim(claimed.claim).catch(() => {});
  }
}

/** Ends a claimed run in one checkpoint. */
async function endCancelled(
  { store, blobs, clock, limits }: EngineEnvironment,
  { run, claim }: Awaited<ReturnType<typeof claimForResume>>,
): Promise<void> {
  const { root, seq, checksum } = await loadState(store, blobs, run);
  const draft = new Draft(run, root);
  draft.setStatus('cancelled');
  draft.note({ kind: 'end', status: 'cancelled' });
  for (const waitId of Object.keys(root.waits)) draft.closeWaitRow(waitId);
  for (const row of await readSound(store, run)) if (row.kind === 'cancel') draft.takeMessage(row.id);
  const ended = Promise.withResolvers<void>();
  const committer = new Committer({
    store,
    claim,
    clock,
    limits,
    draft,
    seq,
    checksum,
    runKey: run.key,
    onLanded: () => ended.resolve(),
    onBroken: ended.reject,
  });
  committer.commit('power');
  return ended.promise;
}
