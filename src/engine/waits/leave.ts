/** Leaving a function at a wait: it stands where it is, and runs again from its top when the wait is closed (X4, W4). */
import { CairnError } from '../../errors.ts';
import type { Activation, FrameRun } from '../run/frame-run.ts';
import { never } from '../run/guard-call.ts';
import type { RunCore } from '../run/run-core.ts';

/** Whether the function only waits for its children, or for waits: then it does no work of its own. */
export function updateBusy(core: RunCore, activation: Activation): void {
  if (activation.phase !== 'running') return;
  core.agenda.setBusy(activation, activation.stepsInFlight > 0 || activation.childrenInFlight === 0);
  // Its place is free for what is queued: its own children first of all.
  if (!activation.isBusy) core.loop.requestTurn();
}

/** A call of the function is resolved, or left at a wait: the function may have nothing to do now but wait itself. */
export function endCall(core: RunCore, activation: Activation): void {
  activation.stepsInFlight -= 1;
  maybeLeave(core, activation);
}

/** Leaves the function once nothing of it will be resolved in this attempt. */
export function maybeLeave(core: RunCore, activation: Activation): void {
  if (activation.openWaits === 0 || !isIdle(activation)) return updateBusy(core, activation);
  const { generation } = activation;
  core.env.clock.defer(() => {
    if (activation.generation !== generation || !isIdle(activation) || activation.phase !== 'running') return;
    leave(core, activation);
    core.loop.requestTurn();
  });
}

function isIdle(activation: Activation): boolean {
  return activation.stepsInFlight === 0 && activation.childrenInFlight === 0;
}

/** Leaves the function where it stands; whatever closes its wait wakes it. */
export function leave(core: RunCore, activation: Activation): void {
  activation.phase = 'left';
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
  tellWaiting(core, activation.frameRun);
  if (activation.mustRunAgain) core.agenda.wakeUps.push(activation);
  // It was told to end, and asked something instead: nobody is to wait for that.
  if (activation.isCancelled) core.agenda.cancelled.push(activation);
}

/** Tells who started a child run that it does nothing but wait now, and so on up. */
export function tellWaiting(core: RunCore, frameRun: FrameRun): void {
  // Whether something is at work is a search, and mostly nobody asks.
  if (!isListenedTo(frameRun)) return;
  for (let frame = frameRun; frame.parent !== undefined; frame = frame.parent) {
    if (frame.plan.isDone || frame.hasFailed || isAtWork(core, frame)) return;
    if (frame.onWaiting !== undefined) queueMicrotask(frame.onWaiting);
  }
}

function isListenedTo(frameRun: FrameRun | undefined): boolean {
  return frameRun !== undefined && (frameRun.onWaiting !== undefined || isListenedTo(frameRun.parent));
}

function isAtWork(core: RunCore, frameRun: FrameRun): boolean {
  for (const { isBusy, phase, cancelTimer } of frameRun.activations.values())
    if (isBusy || (phase === 'retrying' && cancelTimer !== undefined)) return true;
  if (core.agenda.queue.some((queued) => queued.frameRun === frameRun)) return true;
  for (const child of core.agenda.childFrames) if (child.parent === frameRun && isAtWork(core, child)) return true;
  return false;
}

/** The call of this key will not return in this attempt. */
export function leaveAtWait<T>(core: RunCore, activation: Activation, key: string): Promise<T> {
  activation.endEffect(key);
  activation.leavePart(key);
  activation.openWaits += 1;
  endCall(core, activation);
  return never<T>();
}

/** What a call was left at may be there now: the function runs again from its top, at once or when the rest of it has been left too. */
export function wakeLeft(core: RunCore, activation: Activation, generation: number): void {
  if (activation.generation !== generation) return;
  if (activation.phase === 'left') core.agenda.wakeUps.push(activation);
  else activation.mustRunAgain = true;
}
