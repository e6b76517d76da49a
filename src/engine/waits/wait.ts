/** Identities of waits, and what is waited for where an effect is in doubt or tried again later (W1, W2). */
import { partitions } from '../../graph/contracts/node-contract.ts';
import { reasonOf, CairnError } from '../../errors.ts';
import { shownText } from '../../state/secrecy/shown-text.ts';
import { hashParts, deepFreeze } from '../../state/values/values.ts';
import type { StepRecord, WaitRecord, RunTree, NodeRecord } from '../../state/tree.ts';
import type { DoubtedEffect } from '../visit-records/settle-record.ts';
import { recordIn } from '../visit-records/step-record.ts';
import type { OnWaiting } from '../../graph/contracts/contracts.ts';
import type { Activation, FrameRun } from '../live-run/loop.ts';
import { type RunCore, never } from '../live-run/run-core.ts';
import { closeUncalled } from './changed-waits.ts';
import { endOrders, failureOf } from '../visit-records/finish-step.ts';
import { noteLeft } from '../visit-records/continued-visits.ts';
import { CallOrder } from '../live-run/open-calls.ts';

/** Depends on the run where it was opened, the place and the name only, so that it survives crashes and forks. */
export function waitIdOf(runId: string, keyParts: readonly string[], name: string): string {
  return `w_${hashParts([runId, ...keyParts, name])
    .replaceAll(/[-_]/g, '')
    .slice(0, 12)}`;
}

/** Who sent a signal that a child run got from its parent. */
export const sentByParent = 'parent';

/** What a message of kind `answer` or `signal` carries. */
export interface MessageBody {
  readonly value: unknown;
  /** Who answered: person, model, policy, timeout. */
  readonly by?: string;
  /** Time ended the question, and it has no default answer. */
  readonly isTimeout?: boolean;
  /** Name of a signal. */
  readonly signal?: string;
}

/** The decisions a person may take about an effect in doubt. */
const doubtChoices: readonly string[] = ['happened', 'run again', 'fail'];

type Schema = Readonly<Record<string, unknown>>;

/** Answers to an effect in doubt: one of the choices, or `{ decision: 'happened', output, updates }`; a step has no updates. */
function doubtSchema(isStep: boolean, answerSchema: Schema = {}): Schema {
  const parts = Object.fromEntries(partitions.map((name) => [name, { type: 'object' }]));
  const updates = {
    type: 'object',
    description: 'What the node would have written beside its output, by part of the state and key.',
    properties: parts,
    additionalProperties: false,
  };
  const properties = {
    decision: { enum: doubtChoices },
    output: { description: 'What it gave. Default: null.', ...answerSchema },
    ...(isStep ? {} : { updates }),
  };
  return {
    anyOf: [
      { enum: doubtChoices },
      { type: 'object', required: ['decision'], properties, additionalProperties: false },
    ],
  };
}

type EndOnRecord = Pick<StepRecord, 'applied' | 'error'>;

/** What a distant next attempt waits for. An answer to it makes the attempt at once. */
export function retryWait(node: readonly string[], attempt: number, retryAt: number): WaitRecord {
  return { kind: 'retry', node, name: `attempt ${attempt}`, dueAt: retryAt };
}

/** Characters of a reported failure in a question, which everybody who is asked reads whole. */
const failureMax = 500;

/** Why a question about an effect is asked. */
export interface DoubtReason {
  /** Why the answer before was none. */
  readonly because?: string;
  /** `reconcile` was called before, and found no answer. */
  readonly isLookedUp?: boolean;
}

/** The question in words. An effect that ended and reported a failure may have done a part of its work; of any other nothing is known. */
function doubtPrompt(effect: string, what: string, { applied, error }: EndOnRecord, isLookedUp: boolean): string {
  const lookedUp = isLookedUp ? 'Its lookup could not say. ' : '';
  if (applied !== 'ended') return `It is not known whether this ${effect} effect happened: ${what}. ${lookedUp}Did it?`;
  // The question is shown whole, and a failure may quote values.
  const message = shownText(reasonOf(error));
  const failure = message.length > failureMax ? `${message.slice(0, failureMax).toWellFormed()}…` : message;
  return `This ${effect} effect reported a failure, and may have done a part of its work: ${what}: ${failure}\n${lookedUp}Did it happen?`;
}

/** The question about an effect in doubt. `ended`: what is on record of how it ended. */
export function doubtWait(
  { node, step, effect, intent, answerSchema }: DoubtedEffect,
  ended: EndOnRecord = {},
  { because, isLookedUp = false }: DoubtReason = {},
): WaitRecord {
  const place = `${node.join('/')}${step === undefined ? '' : `, step ${step.replace('\0', ' ')}`}`;
  const what = intent.about === undefined ? place : `${node.join('/')}: ${intent.about}`;
  const question = doubtPrompt(effect, what, ended, isLookedUp);
  return {
    kind: 'doubt',
    node,
    name: step === undefined ? 'in doubt' : `in doubt: ${step}`,
    prompt: because === undefined ? question : `${question} (The answer before does not fit: ${because})`,
    schema: doubtSchema(step !== undefined, answerSchema),
    // Who is asked can look the key up at the receiver.
    metadata: { choices: doubtChoices, key: intent.key, deadlineAt: intent.deadlineAt },
  };
}

// Questions about effects that came to their end and said themselves that they failed, as a command does with an exit code (X3.1).

/** The ids of those that are open. A resume that is to try such effects again answers them (X3.4). */
export function endedDoubts(root: RunTree): readonly string[] {
  return Object.entries(root.waits).flatMap(([waitId, { kind, node, step }]) => {
    if (kind !== 'doubt') return [];
    const record = recordIn(root, node);
    const effect = step === undefined ? record : record?.steps?.[step];
    return effect?.applied === 'ended' ? [waitId] : [];
  });
}

/** The answer of such a resume. */
export function againBy(by = 'person'): MessageBody {
  return { value: 'run again', by };
}

// Handles a function that stops at a wait. When the wait is closed, the function continues if it is still running because of other open
// calls; otherwise it is run again from its top (X4, W4).

/** Updates whether an activation counts as working. It does not if its function only waits for its children or for waits. */
export function updateBusy(core: RunCore, activation: Activation): void {
  if (activation.phase !== 'running') return;
  const { childrenAwaited, childrenInFlight, openWaits } = activation;
  const onlyWaits = childrenAwaited > 0 || (openWaits > 0 && childrenInFlight > 0);
  core.agenda.setBusy(activation, !onlyWaits || !hasNoWork(activation));
  // A place is free now for what is queued, such as its own children.
  if (!activation.isBusy) core.loop.requestTurn();
}

/** Call when the function makes a call. It works again, though the rest of it may only wait. */
export function beginCall(core: RunCore, activation: Activation): void {
  activation.beginCall();
  if (activation.phase === 'running') core.agenda.setBusy(activation, true);
}

/** Call when a call has returned or stopped at a wait. The function may have nothing to do now but wait. */
export function endCall(core: RunCore, activation: Activation): void {
  activation.endCall();
  goesOn(core, activation);
}

/**
 * Lets the function continue with the results of its calls. Then, if nothing more can be resolved in this attempt, it stops at its wait.
 */
export function goesOn(core: RunCore, activation: Activation): void {
  if (activation.openWaits + activation.childrenInFlight === 0) return updateBusy(core, activation);
  const { generation } = activation;
  activation.returningCount += 1;
  updateBusy(core, activation);
  core.env.clock.defer(() => {
    if (activation.generation !== generation || activation.phase !== 'running') return;
    activation.returningCount -= 1;
    if (activation.openWaits === 0 || activation.childrenInFlight > 0 || !hasNoWork(activation))
      return updateBusy(core, activation);
    closeUncalled(core, activation);
    noteLeft(core, activation);
    leave(core, activation);
    core.loop.requestTurn();
  });
}

function hasNoWork({ stepsInFlight, returningCount }: Activation): boolean {
  return stepsInFlight + returningCount === 0;
}

/** Leaves the function where it is. Whatever closes its wait runs it again. */
export function leave(core: RunCore, activation: Activation): void {
  activation.phase = 'waiting';
  activation.cancelTimer?.();
  activation.abort(
    new CairnError('NODE_CALL_REFUSED', {
      call: 'step',
      node: activation.path.join('/'),
      reason: 'the attempt was left at a wait',
    }),
  );
  core.agenda.setBusy(activation, false);
  if (activation.frameRun.hasFailed) activation.frameRun.onEnd?.();
  notifyWaiting(core, activation.frameRun);
  // The function was aborted and asks a question instead. Nobody is to wait for that.
  if (activation.isCancelled) core.agenda.cancelled.push(activation);
}

/** Tells whoever started a child run that it only waits now, and so on outwards. */
export function notifyWaiting(core: RunCore, frameRun: FrameRun): void {
  // Checking whether something is working is a search, and usually nobody listens.
  if (!isListenedTo(frameRun)) return;
  for (let frame = frameRun; frame.parent !== undefined; frame = frame.parent) {
    if (frame.plan.isDone || frame.hasFailed || isAtWork(core, frame)) return;
    if (frame.onWaiting !== undefined) tell(core, frame.onWaiting, hasDoubt(core, frame));
  }
}

/** Tells a part that it waits, after the call that waits: another part may begin then, and wait at once. */
function tell({ agenda, loop }: RunCore, onWaiting: OnWaiting, isInDoubt: boolean): void {
  agenda.notifyingCount += 1;
  queueMicrotask(() => {
    agenda.notifyingCount -= 1;
    onWaiting(isInDoubt);
    loop.requestTurn();
  });
}

function isListenedTo(frameRun: FrameRun | undefined): boolean {
  return frameRun !== undefined && (frameRun.onWaiting !== undefined || isListenedTo(frameRun.parent));
}

/** Whether somebody is asked about an effect in a frame, or in a child run of it. */
function hasDoubt({ agenda }: RunCore, { nodePath }: FrameRun): boolean {
  for (const { path } of agenda.waiters.inDoubt())
    if (nodePath.every((part, index) => path[index] === part)) return true;
  return false;
}

function isAtWork(core: RunCore, frameRun: FrameRun): boolean {
  for (const { isBusy, phase, cancelTimer } of frameRun.activations.values())
    if (isBusy || (phase === 'retrying' && cancelTimer !== undefined)) return true;
  if (core.agenda.queue.some((queued) => queued.frameRun === frameRun)) return true;
  for (const child of core.agenda.childFrames) if (child.parent === frameRun && isAtWork(core, child)) return true;
  return false;
}

/**
 * Call when the call with this key stops at a wait. Resolves if the wait is closed while the function is still running; otherwise the
 * function is run again from its top.
 *
 * @param isInDoubt - whether somebody is asked if its effect happened
 */
export function leaveAtWait(core: RunCore, activation: Activation, key: string, isInDoubt = false): Promise<void> {
  activation.endEffect(key);
  const onWaiting = activation.partOf(key);
  if (onWaiting !== undefined) tell(core, onWaiting, isInDoubt);
  activation.openWaits += 1;
  const closed = new Promise<void>((resolve) => (activation.parked ??= new Map()).set(key, resolve));
  endCall(core, activation);
  return closed;
}

/**
 * Call when the wait of a call was closed. If the function is still running and stopped at this call, it continues. If it has not made the
 * call yet, it will find its result recorded.
 */
export function goOnFromWait(core: RunCore, activation: Activation, key: string): void {
  const { phase, parked, isEnding, isCancelled } = activation;
  const resolve = parked?.get(key);
  if (resolve === undefined || phase !== 'running' || isEnding || isCancelled || core.standing.isStopping) return;
  parked?.delete(key);
  activation.openWaits -= 1;
  activation.stepsInFlight += 1;
  updateBusy(core, activation);
  resolve();
}

/**
 * Call when what a call stopped at may be there now. The function continues if it is still running; otherwise it is run again from its top.
 */
export function wakeUp(core: RunCore, activation: Activation, generation: number, key: string): void {
  if (activation.generation !== generation) return;
  if (activation.phase === 'waiting') core.agenda.wakeUps.push(activation);
  else goOnFromWait(core, activation, key);
}

// Returns a call's recorded result to its function. Results of overlapping calls are returned in the order in which the calls ended
// (X4.13).

/**
 * Resolves when it is the turn of a call that has ended; at once if it overlapped no other. Parts of a node's work do not wait for each
 * other.
 */
export async function inTurn(core: RunCore, activation: Activation, order: number | undefined): Promise<void> {
  if (order === undefined) return;
  const { generation } = activation;
  activation.order ??= orderOf(core, activation);
  await activation.order.turnOf(order);
  if (activation.generation !== generation) await never();
}

function orderOf({ env }: RunCore, { frameRun, node }: Activation): CallOrder {
  const record: NodeRecord | undefined = frameRun.openRecordOf(node);
  return new CallOrder(record === undefined ? [] : endOrders(record), env.clock);
}

/**
 * Lets a call wait until the rest of the process had its turn. Meanwhile it counts as under way, and if its attempt ends it never returns.
 */
async function paused(core: RunCore, activation: Activation, pause: Promise<void>): Promise<void> {
  const { generation } = activation;
  beginCall(core, activation);
  await pause;
  if (activation.generation !== generation) await never();
  endCall(core, activation);
}

/** Returns the recorded end of a call. @param isPart - whether one of several parts of the work made the call: see `NodeContext.part` */
export async function giveBack(
  core: RunCore,
  activation: Activation,
  recorded: StepRecord,
  isPart: boolean,
): Promise<unknown> {
  const { status, order, output } = recorded;
  // A function that repeats many recorded calls must not hold up the rest of the process.
  const pause = core.env.pace.turn();
  if (pause !== undefined) await paused(core, activation, pause);
  if (order !== undefined && !isPart) {
    beginCall(core, activation);
    await inTurn(core, activation, order);
    endCall(core, activation);
  }
  if (status === 'failed') throw failureOf(recorded);
  return deepFreeze(output);
}
