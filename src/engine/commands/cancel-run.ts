/** Cancels a run that no worker has (E7). */
import { CairnError } from '../../errors.ts';
import { loadState } from '../../history/load/load.ts';
import { postSealed, readMessagesIntact } from '../../history/stored/messages.ts';
import type { RunRow } from '../../ports/store.ts';
import { admitValue } from '../../state/values/admit.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { RunTree } from '../../state/tree.ts';
import type { CancelOptions } from '../api.ts';
import { cancelBody } from '../run-loop/message-intake.ts';
import { Committer } from '../live-run/committer.ts';
import { Draft } from '../live-run/draft.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { type CancelRequest, noteCancelled, noteCancelling } from '../live-run/run-ending.ts';
import { requireRun } from '../live-run/require-run.ts';
import { actorIn } from '../validate/whose-answer.ts';
import { claimForResume } from './active-runs.ts';
import { savedStructure } from './graph-change.ts';

const encoder = new TextEncoder();

/** Posts a cancel request, for whoever advances the run. @throws RUN_NOT_FOUND, RUN_FINISHED, USAGE_INVALID */
export async function postCancel(env: EngineEnvironment, runId: string, options: CancelOptions): Promise<RunRow> {
  const run = await requireRun(env, runId);
  const { tenant, status } = run;
  if (status === 'completed' || status === 'cancelled') throw new CairnError('RUN_FINISHED', { runId, status });
  const { reason, by, force } = options;
  for (const [name, value] of Object.entries({ reason, by }))
    if (value !== undefined && typeof value !== 'string')
      throw new CairnError('USAGE_INVALID', { reason: `${name} of a cancel is a text` });
  const request: CancelRequest = {
    ...(reason !== undefined && { reason }),
    ...actorIn(options),
    ...(force === true && { force }),
  };
  const body = encoder.encode(encodeValue(admitValue(request, ['cancel'], env.bounds, env.intake).value));
  const name = force === true ? 'force' : '';
  await postSealed(env.store, { tenant, runId, kind: 'cancel', name, body, at: env.clock.now() });
  return run;
}

/**
 * Claims the run, ends it and releases it. If a live worker has it, that worker takes the request.
 * @returns whether the run's `onCancel` node is to run, or to go on, now
 * @throws RUN_FINISHED the run has completed
 */
export async function cancelUnowned(env: EngineEnvironment, run: RunRow): Promise<boolean> {
  let claimed: Awaited<ReturnType<typeof claimForResume>>;
  try {
    claimed = await claimForResume(env, run);
  } catch (error) {
    if (CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) return false;
    throw error;
  }
  const { store } = env;
  try {
    const { status } = claimed.run;
    // The run may have ended between reading its row and claiming it.
    if (status === 'cancelled') return false;
    if (status === 'completed') throw new CairnError('RUN_FINISHED', { runId: run.runId, status });
    return await endCancelled(env, claimed);
  } finally {
    await store.releaseClaim(claimed.claim).catch(() => {});
  }
}

/** Ends what a claimed run does, in one checkpoint. @returns whether its `onCancel` node comes next */
async function endCancelled(
  env: EngineEnvironment,
  { run, claim }: Awaited<ReturnType<typeof claimForResume>>,
): Promise<boolean> {
  const { store, blobs, clock, bounds } = env;
  const { root, seq, checksum } = await loadState(store, blobs, run);
  const posted = (await readMessagesIntact(store, run)).filter(({ kind }) => kind === 'cancel');
  const requests = posted.map(({ body }) => cancelBody(body));
  const isForced = requests.some(({ force }) => force === true);
  // What follows a cancel is under way, or has failed: another request changes nothing.
  if (root.cancel !== undefined && !isForced) return run.status !== 'failed';
  const onCancel = isForced ? undefined : await onCancelOf(env, run, root);
  const draft = new Draft(run, root);
  const request = requests.find(({ force }) => force === isForced) ?? requests[0] ?? {};
  if (onCancel === undefined) noteCancelled(draft, request);
  else noteCancelling(draft, onCancel, request, clock.now());
  for (const { id } of posted) draft.takeMessage(id);
  const ended = Promise.withResolvers<void>();
  const committer = new Committer({
    store,
    claim,
    clock,
    bounds,
    draft,
    seq,
    checksum,
    runKey: run.key,
    onLanded: () => ended.resolve(),
    onBroken: ended.reject,
  });
  committer.commit('power');
  await ended.promise;
  return onCancel !== undefined;
}

/** The node that the graph which the run was last advanced under names for a cancel. The graph itself need not be known here. */
async function onCancelOf(env: EngineEnvironment, run: RunRow, root: RunTree): Promise<string | undefined> {
  return (await savedStructure(env, run, root))?.policies.onCancel;
}
