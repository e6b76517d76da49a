/** Decides how a due activation starts: skipped, refused, replayed, retried later, judged as in doubt, or run (E3, X). */
import { CairnError } from '../../errors.ts';
import type { GraphNode } from '../../graph/graph.ts';
import type { NodeRecord } from '../../state/tree.ts';
import { Activation } from '../run/frame-run.ts';
import { admitKept } from '../admit/admit-kept.ts';
import { isEffect } from '../run/effect.ts';
import { launchOrGate, retryLater } from '../effects/gate.ts';
import { judgeActivation } from '../effects/judge.ts';
import { openPinnedView } from '../record/pinned-view.ts';
import type { QueuedStart, RunCore } from '../run/run-core.ts';
import { reopenFailed } from '../record/step-record.ts';
import { advancePlan, settleFailed } from '../settle/settle.ts';
import { noteView } from '../record/seal-views.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';

/** Makes an activation of what the plan says may start, and sends it on its way. */
export function prepareStart(core: RunCore, queued: QueuedStart): void {
  const { frameRun, start } = queued;
  const node = frameRun.graph.nodes[start.node] as GraphNode;
  const record = frameRun.openRecordOf(node);
  // A failed attempt that is retried by a resume counts on, under a new budget (G8).
  const isRetried = record?.status === 'failed' && record.kept === undefined;
  const attempt = record?.attempt ?? 1;
  const activation = new Activation({
    frameRun,
    node,
    visit: start.visit,
    took: start.took ?? record?.took,
    attempt: isRetried ? attempt + 1 : attempt,
    budgetFrom: isRetried ? attempt : (record?.budgetFrom ?? 0),
    view: frameRun.frame.openView(),
    viewSeq: core.committer.seq + (core.committer.isPending ? 1 : 0),
    isResumed: record !== undefined,
  });
  frameRun.activations.set(node.index, activation);
  noteView(core, activation);
  core.setBusy(activation, true);
  if (record === undefined) return startFresh(core, activation);
  if (isRetried) reopenFailed(core, activation);
  if (record.view === undefined || record.view >= core.resumedSeq) return startAgain(core, activation, record);
  // It saw an older state than the present one: it must see that one again (E9).
  openPinnedView(core, activation, record.view).then(
    () => {
      if (!activation.isOver) startAgain(core, activation, record);
      core.requestTurn();
    },
    (error: unknown) => core.fail(error),
  );
}

function startFresh(core: RunCore, activation: Activation): void {
  const { node } = activation;
  if (activation.visit > node.maxVisits) {
    const error = new CairnError('RUN_LIMIT', {
      limit: 'maxVisits',
      value: node.maxVisits,
      path: activation.path.join('/'),
    });
    return settleFailed(core, activation, error);
  }
  if (node.when !== undefined && !passesWhen(core, activation)) return;
  if (takesSupplied(core, activation)) return;
  if (core.replay !== undefined && core.replay.takesOver(activation)) return;
  launchOrGate(core, activation);
}

/** An outcome that the fork was given stands in for whatever the activation would do, or has begun. Says whether there is one. */
function takesSupplied(core: RunCore, activation: Activation): boolean {
  if (core.root.supplied === undefined) return false;
  const key = JSON.stringify(activation.path);
  const supplied = core.root.supplied[key];
  if (supplied === undefined) return false;
  core.onSupplied(activation);
  const source = { by: 'fork', note: () => core.deleteRootEntry('supplied', key) };
  void settleOutcome(core, activation, admitKept(core, activation, supplied as object), source);
  return true;
}

/** Evaluates the node's own condition; a node it turns away is skipped, and the skip is recorded, since the state moves on. */
function passesWhen(core: RunCore, activation: Activation): boolean {
  const { node } = activation;
  try {
    const outcome = { status: 'completed', output: undefined, error: undefined } as const;
    if (node.when?.evaluate({ outcome, state: activation.view.state }) === true) return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    settleFailed(core, activation, new CairnError('CONDITION_FAILED', { node: node.id, reason }, { cause: error }));
    return false;
  }
  recordSkip(activation);
  core.committer.note(`{"kind":"settle","node":${JSON.stringify(activation.path)},"status":"skipped"}`);
  core.mustCommit = true;
  core.forget(activation);
  advancePlan(core, activation, [], true);
  return false;
}

/** What a completed visit leaves for others to see. */
const shownFields: readonly string[] = ['output', 'as'];

/** What the last completed visit left stays where it is, large or not (C5): a skip changes only where the node stands. */
function recordSkip({ frameRun, node, visit }: Activation): void {
  const { frame, plan } = frameRun;
  const { fired, epoch, held } = plan.settledFields(node.index, []);
  const record: NodeRecord = {
    status: 'skipped',
    fired,
    ...(visit > 1 ? { visits: visit } : {}),
    ...(epoch > 0 ? { epoch } : {}),
    ...(held === undefined ? {} : { held }),
  };
  const left = frameRun.recordOf(node);
  if (left?.output === undefined) return frame.setNode(node.id, record, JSON.stringify(record));
  for (const name of Object.keys(left))
    if (!(name in record) && !shownFields.includes(name)) frame.deleteNodeField(node.id, name);
  for (const [name, value] of Object.entries(record)) frame.setNodeField(node.id, name, value, JSON.stringify(value));
}

/** An activation that left something behind: a kept outcome, an intent, a retry that is due later, steps, waits. */
function startAgain(core: RunCore, activation: Activation, record: NodeRecord): void {
  if (takesSupplied(core, activation)) return;
  if (record.kept !== undefined) return void settleOutcome(core, activation, admitKept(core, activation, record.kept));
  if (record.intent !== undefined && isEffect(activation.node)) {
    if (core.replay?.reopens(activation) === true) return;
    return judgeActivation(core, activation, record);
  }
  // Tried again at the fork point: the original may have got further with it.
  if (isEffect(activation.node) && core.replay?.takesOver(activation) === true) return;
  const { retryAt = 0 } = record;
  // A preview tells what would be, not when.
  if (retryAt <= core.env.clock.now() || core.isDry) return launchOrGate(core, activation);
  retryLater(core, activation, retryAt);
}
