/** Leaving a function at a wait. When the wait is closed it goes on if it still runs, as other calls of it are open; else it runs again from its top (X4, W4). */
import { CairnError } from '../../errors.ts';
import type { Activation, FrameRun } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** Whether the function only waits for its children, or for waits beside them: then it does no work of its own. */
export function updateBusy(core: RunCore, activation: Activation): void {
  if (activation.phase !== 'running') return;
  const { childrenAwaited, childrenInFlight, openWaits } = activation;
  const onlyWaits = childrenAwaited > 0 || (openWaits > 0 && childrenInFlight > 0);
  core.agenda.setBusy(activation, !onlyWaits || !hasNoWork(activation));
  // Its place is free for what is queued: its own children first of all.
  if (!activation.isBusy) core.loop.requestTurn();
}

/** A call is given back to the function, or left at a wait: the function may have nothing to do now but wait itself. */
export function endCall(core: RunCore, activation: Activation): void {
  activation.stepsInFlight -= 1;
  goesOn(core, activation);
}

/** Until the function has gone on from what it was given back, it is at work; then it is left, if nothing of it will be resolved in this attempt. */
export function goesOn(core: RunCore, activation: Activation): void {
  if (activation.openWaits + activation.childrenInFlight === 0) return updateBusy(core, activation);
  const { generation } = activation;
  activation.givenBack += 1;
  updateBusy(core, activation);
  core.env.clock.defer(() => {
    if (activation.generation !== generation || activation.phase !== 'running') return;
    activation.givenBack -= 1;
    if (activation.openWaits === 0 || activation.childrenInFlight > 0 || !hasNoWork(activation))
      return updateBusy(core, activation);
    leave(core, activation);
    core.loop.requestTurn();
  });
}

function hasNoWork({ stepsInFlight, givenBack }: Activation): boolean {
  return stepsInFlight + givenBack === 0;
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

/** The call of this key is left at a wait. Resolves when that is closed while the function still runs; else the function runs again from its top. */
export function leaveAtWait(core: RunCore, activation: Activation, key: string): Promise<void> {
  activation.endEffect(key);
  activation.leavePart(key);
  activation.openWaits += 1;
  const closed = new Promise<void>((resolve) => (activation.parked ??= new Map()).set(key, resolve));
  endCall(core, activation);
  return closed;
}

/** The wait of a call is closed. If its function still runs, and is left at the call, it goes on from there; one that has yet to come to it finds its end recorded. */
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

/** What a call was left at may be there now: the function goes on from it if it still runs, else runs again from its top. */
export function wakeLeft(core: RunCore, activation: Activation, generation: number, key: string): void {
  if (activation.generation !== generation) return;
  if (activation.phase === 'left') core.agenda.wakeUps.push(activation);
  else goOnFromWait(core, activation, key);
}
