/** Takes a run up again: claim, state, graph check, and what a failed run retries (G8, H3, O1). */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { loadState, type LoadedState } from '../../history/load/load.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import type { ResumeOptions } from '../api.ts';
import { requireSecrets } from '../calls/secret-access.ts';
import { applyGraphChange, hasOtherCode } from './graph-change.ts';
import { ReplaySource } from '../replay/replay.ts';
import { originOf, type Origin } from './trace-origin.ts';
import { checkBudget } from '../admit/check-budget.ts';
import { askAgain, setRunBudget } from '../record/budget.ts';
import { Draft } from '../run/draft.ts';
import { takeRoutesAgain } from './reroute.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import type { Moment } from '../run/standing.ts';
import type { RunFeed } from '../run/run-feed.ts';
import { ClaimKeeper } from '../drive/claim-keeper.ts';
import { Runner } from '../drive/runner.ts';
import type { FrameTree } from '../../state/tree.ts';

/** @throws CLAIM_TAKEN somebody else is working on it */
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
  throw new CairnError('CLAIM_TAKEN', { runId: run.runId, owner: reply.owner, remainingMs: reply.remainingMs });
}

/** A claimed run, and how it is to go on. */
export interface RunnerRequest {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly claimedAt: Moment;
  readonly graph: Graph;
  readonly feed: RunFeed;
  readonly options: ResumeOptions;
  /** The run's state, where the caller has it. */
  readonly loaded?: LoadedState;
}

/** Loads a claimed run and makes the runner that will advance it. */
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
  // Whose state is at hand was started just now, and says in its start where it came from.
  const origin = request.loaded === undefined ? originOf(env, options.traceparent) : {};
  const loaded = request.loaded ?? (await loadState(env.store, env.blobs, run));
  await requireSecrets(env.secrets, loaded.root.secrets);
  const draft = new Draft(run, loaded.root);
  const isOtherCode = hasOtherCode(loaded.root, graph);
  const differences = await applyGraphChange(env, run, draft, graph, options);
  takeRoutesAgain(draft, graph);
  if (differences !== undefined) {
    draft.setGraphHash(graph.hash);
    draft.note({ kind: 'resume', ...origin, graphHash: graph.hash, detail: differences });
    draft.mustCommit = true;
  }
  // Kept in the state: whoever takes the fork up after a crash or a pause finds the code unchanged.
  if (isOtherCode && run.parent !== undefined) draft.set(['rerunPure'], true);
  if (loaded.root.status === 'failed') retryFailed(draft, options, origin);
  else if (differences === undefined && origin.traceparent !== undefined) draft.note({ kind: 'resume', ...origin });
  if (options.budget !== undefined) setRunBudget(draft, checkBudget(options.budget), options.by);
  const runner = new Runner({ env, run, claim, keeper, graph, loaded, draft, feed });
  if (run.parent !== undefined) runner.core.replay = await ReplaySource.load(runner.core, run);
  return runner;
}

/** A failed run goes on: its failures are taken back, and the activations that failed it are open again (G8, G10). */
function retryFailed(draft: Draft, options: ResumeOptions, origin: Origin): void {
  draft.delete(['failures']);
  draft.note({ kind: 'resume', ...origin, ...(options.by === undefined ? {} : { by: options.by }) });
  draft.mustCommit = true;
  askAgain(draft, { of: [], frame: draft.root.frame });
  for (const [waitId, wait] of Object.entries(draft.root.waits)) draft.openWaitRow(waitId, wait);
  if (options.retry === true) planEnded(draft, ['frame'], draft.root.frame);
}

/** What ended and failed is due at once, as if its author had planned another attempt (X3). */
function planEnded(draft: Draft, path: readonly string[], { nodes }: FrameTree): void {
  for (const [id, record] of Object.entries(nodes)) {
    if (record.fired !== undefined) continue;
    const at = [...path, 'nodes', id];
    if (record.applied === 'ended') draft.set([...at, 'retryAt'], 0);
    for (const [key, { status, applied }] of Object.entries(record.steps ?? {}))
      if (status !== 'done' && applied === 'ended') draft.set([...at, 'steps', key, 'retryAt'], 0);
    for (const [key, child] of Object.entries(record.children ?? {})) planEnded(draft, [...at, 'children', key], child);
  }
}

/** Whether a resume has nothing to do. */
export function hasEnded({ status }: RunRow, { retryFailed = true }: ResumeOptions): boolean {
  return status === 'completed' || status === 'cancelled' || (status === 'failed' && !retryFailed);
}
