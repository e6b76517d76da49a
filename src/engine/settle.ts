/** Settles an activation: its updates, its edges, its record, and what may start because of it (E3). */
import { CairnError } from '../errors.ts';
import type { ConditionScope, GraphEdge } from '../graph/graph.ts';
import { outputsOfSteps } from '../state/channels.ts';
import { encodeValue, type Admitted } from '../state/codec.ts';
import { jsonUnderKey } from '../state/encode.ts';
import { hashParts } from '../state/hash.ts';
import type { KeptOutcome, NodeRecord, NodeStatus } from '../state/tree.ts';
import type { Activation } from './activation.ts';
import type { AdmittedOutcome } from './admit-outcome.ts';
import { isEffect } from './effect.ts';
import { admitError, asError } from './encode-error.ts';
import { cancelActivation } from './cancel.ts';
import { dropChildren } from './drop-children.ts';
import { dropWaitsOf } from './open-wait.ts';
import { routeEdges } from './route.ts';
import type { RunCore } from './run-core.ts';
import { sealViews } from './seal-views.ts';
import { settledState } from './settled-state.ts';

/** Where a policy makes no checkpoint, the delta joins the next one (C10), but not without end. */
const deltaBytesMax = 1024 * 1024;

/** How an outcome came to be, when it is not the return of an attempt. */
export interface SettleSource {
  readonly by?: string;
  readonly from?: { readonly runId: string; readonly seq: number };
  /** The input as the recorded activation had it, for an outcome taken over. */
  readonly input?: ActivationInput;
}

/** What equal input means for a fork (X2). */
export interface ActivationInput {
  readonly hash: string;
  /** Channels read, when the node does not declare them. */
  readonly reads: readonly string[] | undefined;
}

/** Hash of an activation's input: its definition and the channels it read, as it saw them. */
export function inputHashOf(activation: Activation): ActivationInput {
  const { node, view } = activation;
  const versions = view.versions(node.reads);
  if (versions.length === 0) return { hash: node.definitionHash, reads: undefined };
  const hash = hashParts([node.definitionHash, ...versions.flat()]);
  return { hash, reads: node.reads === undefined ? versions.map(([channel]) => channel) : undefined };
}

/** An attempt ended well. */
export function settleCompleted(
  core: RunCore,
  activation: Activation,
  outcome: AdmittedOutcome,
  source: SettleSource = {},
): void {
  const { frame } = activation.frameRun;
  if (core.unsealed.size > 0) sealViews(core, activation);
  if (outcome.updates !== undefined) {
    const conflict = findConflict(activation, outcome);
    if (conflict !== undefined) return recordConflict(core, activation, outcome, conflict);
    try {
      const applied = frame.applyUpdates(outcome.updates);
      core.committer.noteOutcome(JSON.stringify(activation.path), givenJson(outcome), applied.isTransformed);
      noteWriters(activation, applied.plainWrites);
    } catch (error) {
      return settleFailed(core, activation, error, outcome, source);
    }
  } else core.committer.noteOutcome('', undefined, false);
  let fired: readonly GraphEdge[];
  try {
    fired = route(activation, outcome, 'completed', undefined).fired;
  } catch (error) {
    const { updates: _, ...applied } = outcome;
    return settleFailed(core, activation, error, applied, source);
  }
  finish(core, activation, { status: 'completed', fired, outcome, source });
}

/** An attempt failed for good: an edge takes it, or `onFailure` decides (G8). `kept`: the outcome whose reducer or condition failed; a retry goes on from it (G6). */
export function settleFailed(
  core: RunCore,
  activation: Activation,
  error: unknown,
  kept?: AdmittedOutcome,
  source: SettleSource = {},
): void {
  const { node } = activation;
  let fired: readonly GraphEdge[] | undefined;
  let failure = error;
  try {
    const handled = route(activation, kept ?? {}, 'failed', asError(error));
    if (handled.isHandled || node.onFailure === 'skip-dependents') fired = handled.fired;
    else if (node.onFailure === 'continue') fired = route(activation, kept ?? {}, 'completed', asError(error)).fired;
  } catch (routing) {
    failure = routing;
  }
  if (isFatal(failure)) fired = undefined;
  finish(core, activation, {
    status: 'failed',
    fired,
    error: failure,
    outcome: kept ?? {},
    isKept: kept !== undefined,
    source,
  });
}

/** A conflict fails the run whatever `onFailure` says (E5). */
function isFatal(error: unknown): boolean {
  return CairnError.is(error, 'STATE_WRITE_CONFLICT');
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
    const steps = outcome.isStepsOutput === true ? frameRun.openRecordOf(node) : undefined;
    const output = steps === undefined ? outcome.output?.value : outputsOfSteps(steps);
    const shown = failure === undefined ? output : undefined;
    const error = status === 'failed' ? failure : undefined;
    const state = settledState(view.state, frameRun, node, { output: shown, error: failure });
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

/** Whether two channel paths name the same place, or one a part of the other. */
function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

function recordConflict(core: RunCore, activation: Activation, outcome: AdmittedOutcome, conflict: Conflict): void {
  const error = new CairnError('STATE_WRITE_CONFLICT', {
    channel: conflict.channel,
    nodes: [conflict.other, activation.node.id],
  });
  core.committer.noteOutcome(JSON.stringify(activation.path), givenJson(outcome), true);
  settleFailed(core, activation, error, outcome);
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

/** The updates as the node gave them, as JSON by partition. */
function givenJson(outcome: AdmittedOutcome): string | undefined {
  if (outcome.updates === undefined) return undefined;
  const member = (key: string, json: string): string => `${JSON.stringify(key)}:${json}`;
  const partition = (updates: Readonly<Record<string, Admitted>>): string =>
    `{${Object.entries(updates)
      .map(([key, value]) => member(key, jsonUnderKey(key, value.json)))
      .join(',')}}`;
  return `{${Object.entries(outcome.updates)
    .map(([name, updates]) => member(name, partition(updates)))
    .join(',')}}`;
}

interface Finish {
  readonly status: NodeStatus;
  /** Undefined: the failure was not handled, and the visit stays open for a retry. */
  readonly fired: readonly GraphEdge[] | undefined;
  readonly error?: unknown;
  readonly outcome: AdmittedOutcome;
  readonly isKept?: boolean;
  readonly source: SettleSource;
}

function finish(core: RunCore, activation: Activation, ending: Finish): void {
  const { frameRun, node } = activation;
  if (core.unsealed.size > 0) sealViews(core, activation);
  const { hash, reads } = ending.source.input ?? inputHashOf(activation);
  const hasError = ending.error !== undefined || ending.status === 'failed';
  const error = hasError ? admitError(core, ending.error, activation.path) : undefined;
  writeRecord(activation, ending, error);
  core.committer.note(settlePart(core, activation, ending, hash, reads));
  dropChildren(core, activation);
  if (ending.fired !== undefined) dropWaitsOf(core, activation);
  endActivation(core, activation);
  if (node.effect !== 'pure' && node.effect !== 'read') core.holdsEffect = true;
  if (ending.fired === undefined) failFrame(core, activation, error as Admitted);
  else advancePlan(core, activation, ending.fired);
  const { checkpoint: policy } = frameRun.graph.policies;
  const wanted = node.checkpoint ?? (policy === 'every_node' ? 'after' : 'none');
  const isLarge = core.delta.bytes > deltaBytesMax;
  if (wanted === 'after' || wanted === 'both' || core.holdsEffect || ending.status === 'failed' || isLarge)
    core.mustCommit = true;
  if (core.isWatched()) core.publishLive('settled', activation, { status: ending.status });
  core.requestTurn();
}

/** Lets the plan say what may start because this activation settled, and records rounds that opened. */
export function advancePlan(
  core: RunCore,
  activation: Activation,
  fired: readonly GraphEdge[],
  isSkipped = false,
): void {
  const { frameRun, node } = activation;
  const step = frameRun.plan.settle(node.index, fired, isSkipped ? { skipped: true } : {});
  if (step.epoch !== undefined) frameRun.frame.setField('epoch', [], step.epoch, String(step.epoch));
  for (const loop of step.loops) {
    if (loop.record === undefined) frameRun.frame.deleteField('loops', [loop.id]);
    else frameRun.frame.setField('loops', [loop.id], loop.record, JSON.stringify(loop.record));
  }
  for (const start of step.start) core.queue.push({ frameRun, start });
  for (const index of step.cancel) cancelActivation(core, frameRun, index);
  if (frameRun.plan.isDone || frameRun.hasFailed) frameRun.onEnd?.();
}

/** A failure that nothing handled: the frame starts nothing more and ends when its running siblings have. */
function failFrame(core: RunCore, activation: Activation, error: Admitted): void {
  const { frameRun } = activation;
  if (!frameRun.hasFailed) frameRun.failure = error.value;
  frameRun.hasFailed = true;
  if (frameRun !== core.rootFrame) {
    // A resume that comes before the parent was told tells it, and does not try again (W6).
    frameRun.frame.setField('failure', [], activation.node.id, JSON.stringify(activation.node.id));
    return frameRun.onEnd?.();
  }
  core.setRootEntry('failures', activation.path.join('/'), error.value, error.json);
  core.isFailing = true;
}

function endActivation(core: RunCore, activation: Activation): void {
  activation.phase = 'settled';
  activation.cancelTimer?.();
  activation.view.close();
  core.setBusy(activation, false);
  activation.frameRun.activations.delete(activation.node.index);
}

/** An attempt whose result is no longer needed: it settles and fires nothing (G3 `cancelRest`). */
export function settleCancelled(core: RunCore, activation: Activation): void {
  const error = new CairnError('NODE_CANCELLED', { node: activation.path.join('/') });
  finish(core, activation, {
    status: 'cancelled',
    fired: activation.node.outgoing.filter((edge) => edge.always),
    error,
    outcome: {},
    source: {},
  });
}

function writeRecord(activation: Activation, ending: Finish, error: Admitted | undefined): void {
  const { frameRun, node } = activation;
  const { outcome } = ending;
  const settled = ending.fired === undefined ? undefined : frameRun.plan.settledFields(node.index, ending.fired);
  const record: NodeRecord = { status: ending.status };
  let json = `{"status":"${ending.status}"`;
  const field = (name: keyof NodeRecord, value: unknown, text: string): void => {
    (record as unknown as Record<string, unknown>)[name] = value;
    json += `,"${name}":${text}`;
  };
  if (activation.visit > 1) field('visits', activation.visit, String(activation.visit));
  if (activation.attempt > 1) field('attempt', activation.attempt, String(activation.attempt));
  const epoch = settled?.epoch ?? frameRun.frame.tree.epoch ?? 0;
  if (epoch > 0) field('epoch', epoch, String(epoch));
  if (activation.took !== undefined) field('took', activation.took, JSON.stringify(activation.took));
  if (outcome.goto !== undefined) field('goto', outcome.goto, JSON.stringify(outcome.goto));
  if (error !== undefined) field('error', error.value, error.json);
  if (settled !== undefined) {
    field('fired', settled.fired, JSON.stringify(settled.fired));
    if (settled.held !== undefined) field('held', settled.held, JSON.stringify(settled.held));
  }
  if (ending.fired === undefined) keepForRetry(activation, ending, field);
  else if (outcome.output !== undefined) field('output', outcome.output.value, outcome.output.json);
  if (outcome.isStepsOutput === true && ending.status === 'completed') field('outputOfSteps', true, 'true');
  // One that was cancelled before it was begun certainly did not happen (X3).
  if (ending.status === 'cancelled' && isEffect(node) && frameRun.openRecordOf(node)?.intent === undefined)
    field('applied', 'no', '"no"');
  if (node.outputAs !== undefined && ending.status === 'completed')
    field('as', node.outputAs, JSON.stringify(node.outputAs));
  const previous = frameRun.openRecordOf(node);
  if (previous?.steps !== undefined && (ending.fired === undefined || outcome.isStepsOutput === true)) {
    updateRecord(activation, record);
  } else frameRun.frame.setNode(node.id, record, `${json}}`);
}

/** What a retry of an unhandled failure needs: the outcome if there was one, and whether the effect may have happened (X3). */
function keepForRetry(
  activation: Activation,
  ending: Finish,
  field: (name: keyof NodeRecord, value: unknown, json: string) => void,
): void {
  const previous = activation.frameRun.openRecordOf(activation.node);
  if (previous?.intent !== undefined) field('intent', previous.intent, JSON.stringify(previous.intent));
  if ((ending.error as { applied?: unknown } | undefined)?.applied === 'no') field('applied', 'no', '"no"');
  if (activation.budgetFrom > 0) field('budgetFrom', activation.budgetFrom, String(activation.budgetFrom));
  const held = activation.frameRun.plan.heldBy(activation.node.index);
  if (held !== undefined) field('held', held, JSON.stringify(held));
  if (ending.isKept !== true) return;
  const { output, updates, goto } = ending.outcome;
  const plain = (given: Readonly<Record<string, Admitted>>): Record<string, unknown> =>
    Object.fromEntries(Object.entries(given).map(([key, value]) => [key, value.value]));
  const kept: KeptOutcome = {
    ...(output === undefined ? {} : { output: output.value }),
    ...(updates === undefined
      ? {}
      : { updates: Object.fromEntries(Object.entries(updates).map(([name, given]) => [name, plain(given)])) }),
    ...(goto === undefined ? {} : { goto }),
  };
  field('kept', kept, encodeValue(kept));
}

/** Changes an existing record field by field: its steps stay where they are, stored once. */
function updateRecord(activation: Activation, record: NodeRecord): void {
  const { frameRun, node } = activation;
  const { frame } = frameRun;
  for (const [name, value] of Object.entries(record)) frame.setNodeField(node.id, name, value, encodeValue(value));
  for (const name of ['view', 'intent', 'retryAt', 'deadlineAt', 'decision'] as const) {
    if (!(name in record) && frameRun.recordOf(node)?.[name] !== undefined) frame.deleteNodeField(node.id, name);
  }
}

function settlePart(
  core: RunCore,
  activation: Activation,
  ending: Finish,
  hash: string,
  reads: readonly string[] | undefined,
): string {
  const { frameRun, node } = activation;
  const { by, from } = ending.source;
  let json = frameRun.settlePrefix(node);
  if (from !== undefined) json = json.replace('"settle"', '"replay"');
  if (activation.visit > 1) json += `,"visit":${activation.visit}`;
  if (activation.attempt > 1) json += `,"attempt":${activation.attempt}`;
  if (ending.status !== 'completed') json += `,"status":"${ending.status}"`;
  json += `,"hash":"${hash}"`;
  if (reads !== undefined && reads.length > 0) json += `,"reads":${JSON.stringify(reads)}`;
  const durationMs = Math.max(0, core.env.clock.now() - activation.startedAt);
  // What goes without saying is left out of what is written most often: that a pure node took no time.
  const isTold = activation.startedAt > 0 && (durationMs > 0 || node.effect !== 'pure');
  if (isTold) json += `,"durationMs":${durationMs}`;
  if (by !== undefined) json += `,"by":${JSON.stringify(by)}`;
  if (from !== undefined) json += `,"from":${JSON.stringify(from)}`;
  if (ending.error !== undefined) json += `,"error":${errorSummary(ending.error)}`;
  return `${json}}`;
}

/** Code and message of a failure, for the change of a checkpoint. */
export function errorSummary(error: unknown): string {
  const { code, message } = asError(error) as Error & { code?: unknown };
  return JSON.stringify({ code: typeof code === 'string' ? code : 'NODE_FAILED', message: message.slice(0, 500) });
}
