/** Resumes a run: claims it, loads its state, checks its graph, and prepares retries of a failed run (G8, H3, O1). */
import type { Graph } from '../../graph/graph.ts';
import { refusalOf } from '../../history/place/hold.ts';
import { loadState, type LoadedState } from '../../history/load/load.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import type { ResumeOptions } from '../api.ts';
import { requireSecrets } from '../calls/secret-access.ts';
import { openState } from './open-state.ts';
import { ReplaySource } from '../replay/replay.ts';
import { originOf } from './trace-origin.ts';
import { Draft } from '../run/draft.ts';
import type { RunTree } from '../../state/tree.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import type { Moment } from '../run/standing.ts';
import type { RunFeed } from '../run/run-feed.ts';
import { ClaimKeeper } from '../drive/claim-keeper.ts';
import { Runner } from '../drive/runner.ts';

/** Claims the run. @throws CLAIM_TAKEN another worker has it; RUN_HELD it is held until a person releases it */
export async function claimForResume(
  env: EngineEnvironment,
  run: RunRow,
): Promise<{ readonly claim: Claim; readonly run: RunRow }> {
  const { store, ids, leaseMs, tenant } = env;
  const owner = run.claim?.workerId;
  const takeFrom =
    owner !== undefined && (owner === ids.workerId || ids.isWorkerDead(owner) === true) ? owner : undefined;
  const reply = await store.claimRun({
    tenant,
    runId: run.runId,
    workerId: ids.workerId,
    leaseMs,
    ...(takeFrom === undefined ? {} : { takeFrom }),
  });
  if (reply.claim !== undefined) return reply;
  throw refusalOf(run.runId, reply.owner, reply.remainingMs);
}

/** A claimed run, and how to go on with it. */
export interface RunnerRequest {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly claimedAt: Moment;
  readonly graph: Graph;
  readonly feed: RunFeed;
  readonly options: ResumeOptions;
  /** The run's state, if the caller has it. */
  readonly loaded?: LoadedState;
}

/** Loads a claimed run and makes the runner that advances it. */
export async function prepareRunner(request: RunnerRequest): Promise<Runner> {
  const keeper = new ClaimKeeper(request.env, request.claim, request.claimedAt);
  try {
    return await openRunner(request, keeper);
  } catch (error) {
    keeper.stop();
    throw error;
  }
}

async function openRunner(request: RunnerRequest, keeper: ClaimKeeper): Promise<Runner> {
  const { env, run, claim, graph, feed, options } = request;
  // If the state is given, the run was started just now, and its start records where it came from.
  const origin = request.loaded === undefined ? originOf(env, options.traceparent) : {};
  const loaded = request.loaded ?? (await loadState(env.store, env.blobs, run));
  const secrets = await requireSecrets(env.secrets, loaded.root.secrets);
  const draft = new Draft(run, loaded.root);
  await openState(env, run, draft, graph, options, origin);
  const runner = new Runner({ env, run, claim, keeper, graph, loaded, draft, feed, secrets });
  if (options.retry === true) runner.retryEnded(options.by);
  if (run.parent !== undefined) runner.core.replay = await ReplaySource.load(runner.core, run);
  return runner;
}

/** Whether there is nothing for a resume to do. */
export function hasEnded({ status }: Pick<RunTree, 'status'>, { retryFailed = true }: ResumeOptions): boolean {
  return status === 'completed' || status === 'cancelled' || (status === 'failed' && !retryFailed);
}
