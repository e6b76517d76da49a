/** Handles a function that stops at a wait. When the wait is closed, the function continues if it is still running because of other calls; otherwise it is run again from its top (X4, W4). */
import { CairnError } from '../../errors.ts';
import type { OnWaiting } from '../../graph/contracts/parts.ts';
import type { Activation, FrameRun } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { closeUncalled } from './changed-waits.ts';
import { noteLeft } from '../visit-records/continued-visits.ts';

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
