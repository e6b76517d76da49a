/** The changes that a resume makes to the state before anything is planned. A preview makes the same changes to a copy (G8, H3, X5). */
import type { Graph } from '../../graph/graph.ts';
import { anyCode, codeOf, codeOfRun } from '../../ports/graph-code.ts';
import type { RunRow } from '../../ports/store.ts';
import type { FrameTree, RunTree } from '../../state/tree.ts';
import type { ResumeOptions } from '../api.ts';
import { checkBudget } from '../validate/check-budget.ts';
import { recordPathOf } from '../visit-records/node-path.ts';
import { askAgain, setRunBudget } from '../visit-records/budget.ts';
import { openFailedNodes } from '../visit-records/failed-nodes.ts';
import type { Draft } from '../live-run/draft.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { noteContinued } from '../visit-records/continued-visits.ts';
import { applyGraphChange, recodedNodes, rerunsOf } from './graph-change.ts';
import { reopenVisits, type OldViews } from './reopen.ts';
import { takeRoutesAgain } from './reroute.ts';
import { actorIn } from '../validate/whose-answer.ts';
import { forgetFollowUp } from '../live-run/run-ending.ts';
import type { Origin } from './admit-run.ts';

/**
 * Changes the state's graph, repeats routing decisions affected by a fork's patch, and takes back the failures of a failed run.
 *
 * @returns the visits that do not see what a fork sets
 * @throws RUN_GRAPH_CHANGED it cannot go on under the graph, or not without a migration
 */
export async function openState(
  env: EngineEnvironment,
  run: RunRow,
  draft: Draft,
  graph: Graph,
  options: ResumeOptions,
  origin: Origin = {},
): Promise<OldViews> {
  const recoded = await recodedNodes(env, run, draft.root, graph);
  const waits = { ...draft.root.waits };
  const differences = await applyGraphChange(env, run, draft, graph, options);
  for (const [waitId, { node, step }] of Object.entries(waits)) {
    if (Object.hasOwn(draft.root.waits, waitId)) continue;
    draft.closeWaitRow(waitId);
    draft.note({ kind: 'changed', node, ...(step !== undefined && { step }), wait: waitId });
  }
  const oldViews = await reopenVisits(env, run, draft, graph);
  takeRoutesAgain(draft, graph);
  if (differences !== undefined) {
    noteContinued(draft, 'recoded', isFirstOfFork(run) ? 'forked-for-any' : undefined);
    draft.setGraphHash(graph.hash);
    draft.note({ kind: 'resume', ...origin, graphHash: graph.hash, detail: differences });
    draft.mustCommit = true;
  }
  // Kept in the state, because after a crash or a pause the code is compared with the new code and looks unchanged.
  if (recoded !== undefined && run.parent !== undefined)
    draft.set(['rerunPure'], rerunsOf(draft.root.rerunPure, recoded));
  if (draft.root.status === 'failed') {
    retryFailed(draft, options, origin);
    if (graph.policies.timeLimit !== undefined) draft.set(['time'], { since: env.clock.now() });
  } else if (options.detach === true || options.anyVersion === true) noteResume(draft, options, origin);
  else if (differences === undefined && origin.traceparent !== undefined) draft.note({ kind: 'resume', ...origin });
  if (options.anyVersion === true) draft.setCode(anyCode);
  else if ((run.code !== undefined || graph.version !== undefined) && codeOfRun(run) !== codeOf(graph))
    draft.setCode(codeOf(graph));
  if (options.budget !== undefined) setRunBudget(draft, checkBudget(options.budget), actorIn(options));
  return oldViews;
}

/** Whether the run is a fork that has not gone on since it was made: if it was given no code, its first resume gives it. */
function isFirstOfFork({ parent, head }: RunRow): boolean {
  return parent !== undefined && head === parent.seq + 1;
}

/** Reopens a failed run: its failures are removed, and the activations that failed become open again (G8, G10). */
function retryFailed(draft: Draft, options: ResumeOptions, origin: Origin): void {
  draft.delete(['failures']);
  forgetFollowUp(draft, (waitId) => draft.delete(['waits', waitId]));
  openFailedNodes(draft);
  noteResume(draft, options, origin);
  askAgain(draft, { of: [], frame: draft.root.frame });
  for (const [waitId, wait] of Object.entries(draft.root.waits)) draft.openWaitRow(waitId, wait);
  if (options.retry === true) planEnded(draft, questionPlaces(draft.root), ['frame'], draft.root.frame);
}

function noteResume(draft: Draft, options: ResumeOptions, origin: Origin): void {
  const { anyVersion } = options;
  draft.note({ kind: 'resume', ...origin, ...(anyVersion === true && { anyVersion }), ...actorIn(options) });
  draft.mustCommit = true;
}

/** Where an effect in doubt is asked about: the resume answers that question, so that nobody else's answer is lost. */
function questionPlaces({ waits }: RunTree): ReadonlySet<string> {
  const doubts = Object.values(waits).filter(({ kind }) => kind === 'doubt');
  return new Set(doubts.map(({ node, step }) => placeKey(recordPathOf(node), step)));
}

function placeKey(path: readonly string[], step?: string): string {
  return JSON.stringify(step === undefined ? path : [...path, 'steps', step]);
}

/** Makes effects that ended and failed due at once, as if their retry policy had planned another attempt (X3). */
function planEnded(draft: Draft, doubted: ReadonlySet<string>, path: readonly string[], { nodes }: FrameTree): void {
  for (const [id, record] of Object.entries(nodes)) {
    if (record.fired !== undefined) continue;
    const at = [...path, 'nodes', id];
    if (record.applied === 'ended' && !doubted.has(placeKey(at))) draft.set([...at, 'retryAt'], 0);
    for (const [key, { status, applied }] of Object.entries(record.steps ?? {}))
      if (status !== 'done' && applied === 'ended' && !doubted.has(placeKey(at, key)))
        draft.set([...at, 'steps', key, 'retryAt'], 0);
    for (const [key, child] of Object.entries(record.children ?? {}))
      planEnded(draft, doubted, [...at, 'children', key], child);
  }
}
