/** Settles an activation: its updates, its edges, its record, and what may start because of it (E3). */
import { CairnError, isTooDeep } from '../../errors.ts';
import type { ConditionScope, GraphEdge } from '../../graph/graph.ts';
import { outputsOfSteps } from '../../state/channels/channels.ts';
import type { StepOrder } from '../../state/tree.ts';
import type { Admitted } from '../../state/values/admit.ts';
import { channelNames, overlaps } from '../../state/channels/view.ts';
import { hashParts } from '../../state/values/canonical-text.ts';
import type { Activation, FrameRun } from '../live-run/loop.ts';
import type { AdmittedOutcome } from '../validate/admit-outcome.ts';
import { admitError, asError, errorSummary } from '../validate/admit-error.ts';
import { startPlanned } from './start-planned.ts';
import { dropChildren, askAfterCrash, askOpenEffects } from './cancel.ts';
import type { FailureNote } from '../../history/stored/change.ts';
import { failureNote } from '../visit-records/failure-note.ts';
import { notifyWaiting } from '../waits/leave-at-wait.ts';
import { dropWaitsOf } from '../waits/open-wait.ts';
import { routeEdges } from '../plan/route.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { sealViews } from '../visit-records/node-record.ts';
import { outcomeKeyOf } from '../visit-records/node-path.ts';
import { bookAll } from '../visit-records/account.ts';
import { firstFailedLast, hasFailedLast } from '../visit-records/failed-nodes.ts';
import { settledState } from '../visit-records/settled-state.ts';
import { noteEvents } from '../visit-records/recorded-events.ts';
import {
  updatesJson,
  writeRecord,
  type ActivationInput,
  type Ending,
  type SettleSource,
} from '../visit-records/settle-record.ts';

/** If the policy makes no checkpoint, the delta joins the next one (C10), up to this size in bytes. */
const deltaBytesMax = 1024 * 1024;

/** Hash of an activation's input: its definition, and the channels that it read with the values it saw. */
export function inputHashOf(activation: Activation): ActivationInput {
  const { node, reads } = activation;
  const channels = node.reads ?? reads;
  return {
    hash: hashOver(activation, channels),
    reads: node.reads === undefined && channels.length > 0 ? channels : undefined,
  };
}

/**
 * Whether a hash is that of the activation's input as it was at a call. What the function itself has read is the same whenever it comes to
 * that call. What was read inside the calls before it is not, where these were taken over.
 * @param insideCalls - what may have been read inside the calls before it
 */
export function hasInputHash(
  activation: Activation,
  hash: string | undefined,
  insideCalls: readonly (readonly string[])[],
): boolean {
  if (hash === inputHashOf(activation).hash) return true;
  if (activation.node.reads !== undefined) return false;
  const own = activation.view.reads();
  return insideCalls.some((names) => hash === hashOver(activation, channelNames(new Set([...own, ...names]))));
}

/** The hash of the activation's definition and of these channels, with the values it saw. */
export function hashOver({ node, view }: Activation, channels: readonly string[]): string {
  if (channels.length === 0) return node.definitionHash;
  return hashParts([node.definitionHash, ...view.versions(channels).flat()]);
}

/** Settles an attempt that ended well. */
export function settleCompleted(
  core: RunCore,
  activation: Activation,
  outcome: AdmittedOutcome,
  source: SettleSource = {},
): void {
  const { frame } = activation.frameRun;
  // An outcome that a fork sets replaces everything that was started.
  if (source.by !== 'fork' && askOpenEffects(core, activation)) return;
  if (core.draft.unsealed.size > 0) sealViews(core, activation);
  if (outcome.updates !== undefined) {
    const conflict = findConflict(activation, outcome);
    if (conflict !== undefined) return recordConflict(core, activation, outcome, source, conflict);
    try {
      const applied = frame.applyUpdates(outcome.updates);
      core.draft.noteOutcome(
        outcomeKeyOf(activation.path, activation.visit),
        updatesJson(outcome),
        applied.isTransformed,
      );
      noteWriters(activation, applied.plainWrites);
    } catch (error) {
      return settleFailed(core, activation, error, outcome, source);
    }
  } else core.draft.noteOutcome('', undefined, false);
  let fired: readonly GraphEdge[];
  try {
    fired = route(activation, outcome, 'completed', undefined).fired;
  } catch (error) {
    const { updates: _, ...applied } = outcome;
    return settleFailed(core, activation, error, applied, source);
  }
  finish(core, activation, { status: 'completed', fired, outcome, source });
}

/**
 * Settles an attempt that has failed for good. An edge handles the failure, or `onFailure` decides (G8). `saved`: the outcome whose reducer
 * or condition failed, with which a retry continues (G6).
 */
export function settleFailed(
  core: RunCore,
  activation: Activation,
  error: unknown,
  saved?: AdmittedOutcome,
  source: SettleSource = {},
): void {
  const { node } = activation;
  let fired: readonly GraphEdge[] | undefined;
  let failure = error;
  try {
    const handled = route(activation, saved ?? {}, 'failed', asError(error));
    if (handled.isHandled || node.onFailure === 'skip-dependents') fired = handled.fired;
    else if (node.onFailure === 'continue') fired = route(activation, saved ?? {}, 'completed', asError(error)).fired;
  } catch (routing) {
    failure = routing;
  }
  if (isFatal(failure)) fired = undefined;
  if (fired !== undefined && askOpenEffects(core, activation)) return;
  finish(core, activation, {
    status: 'failed',
    fired,
    error: failure,
    outcome: saved ?? {},
    isSaved: saved !== undefined,
    source,
  });
}

/**
 * Whether the error makes the run fail whatever `onFailure` says, as a write conflict does (E5), and runs nested too deep: if each level
 * passed that over, a recursion without end would complete.
 */
function isFatal(error: unknown): boolean {
  return CairnError.is(error, 'STATE_WRITE_CONFLICT') || isTooDeep(error);
}

function route(
  activation: Activation,
  outcome: AdmittedOutcome,
  status: 'completed' | 'failed',
  failure: Error | undefined,
): ReturnType<typeof routeEdges> {
  const { frameRun, node } = activation;
  let view: ReturnType<typeof frameRun.frame.openView> | undefined;
  const scope = (): ConditionScope => {
    view ??= frameRun.frame.openView();
    const { outputOfSteps } = outcome;
    const steps = outputOfSteps === undefined ? undefined : frameRun.openRecordOf(node);
    const output = steps === undefined ? outcome.output?.value : outputsOfSteps(steps, outputOfSteps as StepOrder);
    const completedOutput = failure === undefined ? output : undefined;
    const error = status === 'failed' ? failure : undefined;
    const state = settledState(view.state, frameRun, node, { output: completedOutput, error: failure });
    return { outcome: { status, output, error }, state };
  };
  try {
    const isOverBound = activation.visit > node.maxVisits;
    return routeEdges({ graph: frameRun.graph, node, goto: outcome.goto, scope, status, isOverBound });
  } finally {
    view?.close();
  }
}

interface Conflict {
  readonly channel: string;
  readonly other: string;
}

function findConflict(activation: Activation, outcome: AdmittedOutcome): Conflict | undefined {
  const { frame, plan, hasNestedReducers } = activation.frameRun;
  const { writers } = frame.tree;
  if (writers === undefined || outcome.updates === undefined) return undefined;
  const isOrdered = (writer: readonly [string, number]): boolean =>
    writer[0] === activation.node.id || plan.isOrdered({ node: writer[0], epoch: writer[1] }, activation.node.index);
  for (const path of frame.plainWritesOf(outcome.updates)) {
    const channels = hasNestedReducers ? Object.keys(writers).filter((channel) => overlaps(path, channel)) : [path];
    for (const channel of channels) {
      const writer = Object.hasOwn(writers, channel) ? writers[channel] : undefined;
      if (writer !== undefined && !isOrdered(writer)) return { channel, other: writer[0] };
    }
  }
  return undefined;
}

function recordConflict(
  core: RunCore,
  activation: Activation,
  outcome: AdmittedOutcome,
  source: SettleSource,
  conflict: Conflict,
): void {
  const error = new CairnError('STATE_WRITE_CONFLICT', {
    channel: conflict.channel,
    nodes: [conflict.other, activation.node.id],
  });
  core.draft.noteOutcome(outcomeKeyOf(activation.path, activation.visit), updatesJson(outcome), true);
  settleFailed(core, activation, error, outcome, source.note === undefined ? {} : { note: source.note });
}

function noteWriters(activation: Activation, plainWrites: readonly string[]): void {
  const { frame } = activation.frameRun;
  for (const channel of plainWrites) {
    const writer = [activation.node.id, frame.tree.epoch ?? 0] as const;
    const known = frame.tree.writers?.[channel];
    if (known !== undefined && known[0] === writer[0] && known[1] === writer[1]) continue;
    frame.setField('writers', [channel], writer, JSON.stringify(writer));
  }
}

function finish(core: RunCore, activation: Activation, ending: Ending): void {
  const { frameRun, node } = activation;
  if (core.draft.unsealed.size > 0) sealViews(core, activation);
  bookAll(core, activation);
  ending.source.note?.();
  const { hash, reads } = ending.source.input ?? inputHashOf(activation);
  const hasError = ending.error !== undefined || ending.status === 'failed';
  const error = hasError ? admitError(core, ending.error, activation.path) : undefined;
  writeRecord(activation, ending, error);
  noteEvents(core, activation);
  core.draft.noteText(settlePart(core, activation, ending, hash, reads));
  dropChildren(core, activation);
  if (ending.fired !== undefined) dropWaitsOf(core, activation.path);
  core.agenda.forget(activation);
  if (node.effect !== 'pure' && node.effect !== 'read') core.draft.holdsEffect = true;
  if (ending.fired === undefined) failFrame(core, activation, error as Admitted, isFatal(ending.error));
  else advancePlan(core, activation, ending.fired);
  const { checkpoint: policy } = frameRun.graph.policies;
  const wanted = node.checkpoint ?? (policy === 'every_node' ? 'after' : 'none');
  const isLarge = core.draft.delta.bytes > deltaBytesMax;
  if (wanted === 'after' || wanted === 'both' || core.draft.holdsEffect || ending.status === 'failed' || isLarge)
    core.draft.mustCommit = true;
  if (frameRun.parent !== undefined) notifyWaiting(core, frameRun);
  if (ending.status === 'failed') core.loop.traceFailure(activation, ending.error, ending.fired === undefined);
  core.env.monitor?.attemptEnded(core.rootFrame.graph.id, ending.status);
  if (core.loop.isWatched) core.loop.publishLive('settled', activation, reportedEnding(ending));
  core.loop.requestTurn();
}

function reportedEnding({ status, outcome: { verdict } }: Ending): {
  readonly status: string;
  readonly verdict?: string;
} {
  return { status, ...(status === 'completed' && verdict !== undefined && { verdict }) };
}

/** Settles the activation in the plan, and starts what may start as a result. */
export function advancePlan(
  core: RunCore,
  activation: Activation,
  fired: readonly GraphEdge[],
  isSkipped = false,
): void {
  const { frameRun, node } = activation;
  if (hasFailedLast(frameRun.frame.tree, node.id)) forgetFailure(core, activation);
  const step = frameRun.plan.settle(node.index, fired, isSkipped ? { skipped: true } : {});
  startPlanned(core, frameRun, step);
  failIdleChild(core, frameRun);
  if (frameRun.plan.isDone || frameRun.hasFailed) frameRun.onEnd?.();
}

/** A node that failed with `fail-last` is not needed any more: a join has cancelled it. */
function forgetFailure(core: RunCore, { frameRun, node, path }: Activation): void {
  frameRun.frame.deleteField('failedNodes', [node.id]);
  if (firstFailedLast(frameRun.frame.tree) === undefined) frameRun.frame.deleteField('failedNodes');
  if (frameRun !== core.rootFrame) return;
  core.draft.delete(['failures', path.join('/')]);
  if (Object.keys(core.root.failures ?? {}).length === 0) core.draft.delete(['failures']);
}

/** Fails a child run in which a node failed with `fail-last`, once nothing else of it can go on. */
export function failIdleChild(core: RunCore, frameRun: FrameRun): void {
  const { frame, hasFailed, activations } = frameRun;
  if (frameRun === core.rootFrame || hasFailed || activations.size > 0) return;
  const first = firstFailedLast(frame.tree);
  if (first === undefined) return;
  if (core.agenda.queue.some((queued) => queued.frameRun === frameRun)) return;
  frameRun.failure = frame.tree.nodes[first]?.error;
  frameRun.hasFailed = true;
  frame.setField('failure', [], first, JSON.stringify(first));
}

/**
 * Handles an unhandled failure: the frame starts nothing more, and ends when its running activations have ended. After a failure with
 * `fail-last` all else goes on first.
 */
function failFrame(core: RunCore, activation: Activation, error: Admitted, isAtOnce: boolean): void {
  const { frameRun, node } = activation;
  if (node.onFailure === 'fail-last' && !isAtOnce) {
    frameRun.frame.setField('failedNodes', [node.id], true, 'true');
    if (frameRun === core.rootFrame)
      return core.draft.set(['failures', activation.path.join('/')], error.value, error.json);
    failIdleChild(core, frameRun);
    if (frameRun.hasFailed) frameRun.onEnd?.();
    return;
  }
  if (!frameRun.hasFailed) frameRun.failure = error.value;
  frameRun.hasFailed = true;
  if (frameRun !== core.rootFrame) {
    // A resume before the failure has reached the parent reports it there, and does not retry it (W6).
    frameRun.frame.setField('failure', [], activation.node.id, JSON.stringify(activation.node.id));
    return frameRun.onEnd?.();
  }
  core.draft.set(['failures', activation.path.join('/')], error.value, error.json);
  core.standing.stop('failing');
}

/** Settles an attempt whose result is no longer needed. It fires nothing (G3 `cancelRest`). In doubt about an effect, it waits (X3.8). */
export function settleCancelled(core: RunCore, activation: Activation): void {
  const error = new CairnError('NODE_CANCELLED', { node: activation.path.join('/') });
  activation.withdraw?.();
  activation.withdraw = undefined;
  if (askAfterCrash(core, activation)) return;
  finish(core, activation, {
    status: 'cancelled',
    fired: activation.node.outgoing.filter((edge) => edge.always),
    error,
    outcome: {},
    source: {},
  });
}

function settlePart(
  core: RunCore,
  activation: Activation,
  ending: Ending,
  hash: string,
  reads: readonly string[] | undefined,
): string {
  const { frameRun, node } = activation;
  const { by, from } = ending.source;
  let json = frameRun.settlePrefix(activation);
  if (from !== undefined) json = json.replace('"settle"', '"replay"');
  if (activation.visit > 1) json += `,"visit":${activation.visit}`;
  if (activation.attempt > 1) json += `,"attempt":${activation.attempt}`;
  if (ending.status !== 'completed') json += `,"status":"${ending.status}"`;
  else if (ending.outcome.verdict !== undefined) json += `,"verdict":"${ending.outcome.verdict}"`;
  json += `,"hash":"${hash}"`;
  for (const [name, amounts] of Object.entries(activation.account ?? {}))
    json += `,"${name}":${JSON.stringify(amounts)}`;
  if (reads !== undefined && reads.length > 0) json += `,"reads":${JSON.stringify(reads)}`;
  const durationMs = Math.max(0, core.env.clock.now() - activation.startedAt);
  // The most frequent record leaves the usual case out: that a pure node took no time.
  const isWorthRecording = activation.startedAt > 0 && (durationMs > 0 || node.effect !== 'pure');
  if (isWorthRecording) json += `,"durationMs":${durationMs}`;
  if (by !== undefined) json += `,"by":${JSON.stringify(by)}`;
  if (from !== undefined) json += `,"from":${JSON.stringify(from)}`;
  if (ending.error !== undefined) json += `,"error":${JSON.stringify(errorOf(core, activation, ending))}`;
  return `${json}}`;
}

/** An attempt that failed here leaves its whole record; one that was cancelled, or whose failure a fork took over, does not (K1d). */
function errorOf(core: RunCore, { path }: Activation, { status, error, source }: Ending): FailureNote {
  if (status !== 'failed' || source.from !== undefined) return errorSummary(core, error);
  return failureNote(core, path.join('/'), error);
}
