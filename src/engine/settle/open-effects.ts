/** Effects below an activation that have begun and have no result: before it settles they end, or somebody judges them (P2, X3). */
import { CairnError } from '../../errors.ts';
import type { Activation, FrameRun } from '../run/frame-run.ts';
import { isEffect } from '../run/effect.ts';
import { leave } from '../waits/leave.ts';
import { openEffectsOf } from '../record/effects-on-record.ts';
import { openDoubt } from '../waits/open-wait.ts';
import type { RunCore } from '../run/run-core.ts';

/**
 * The function of an attempt is over, and calls nothing more. While an effect that it called for has not ended, that is waited for, and
 * `again` is called in a later turn. Its child runs stop. Says whether it must wait.
 */
export function holdAttempt(core: RunCore, activation: Activation, again: () => void): boolean {
  activation.isEnding = true;
  if (!stopBelow(core, activation)) return false;
  core.agenda.holds.set(activation, again);
  return true;
}

/** Looks again at what is held: once a turn, since that is when effects have ended. */
export function takeHolds(core: RunCore): void {
  const holds = [...core.agenda.holds];
  core.agenda.holds.clear();
  for (const [activation, again] of holds) if (activation.phase === 'running') again();
}

/** Stops the child runs of an activation whose function goes on: it is told that they have failed, once the effects in them have ended. */
export function stopChildren(core: RunCore, activation: Activation): void {
  stopFrames(core, activation);
  const failure = new CairnError('NODE_CANCELLED', { node: activation.path.join('/') });
  for (const frameRun of core.agenda.childFrames) {
    if (!isBelow(frameRun, activation)) continue;
    frameRun.failure ??= failure;
    frameRun.onEnd?.();
  }
}

/** Stops what runs below an activation, but for effects: they are told to stop, and end by themselves. Says whether there are any. */
function stopBelow(core: RunCore, activation: Activation): boolean {
  return stopFrames(core, activation) || activation.effectSteps.size > 0;
}

/** Says whether an effect in a child run has not ended. */
function stopFrames(core: RunCore, activation: Activation): boolean {
  let isHeld = false;
  if (activation.childrenInFlight === 0) return isHeld;
  for (const frameRun of core.agenda.childFrames) {
    if (!isBelow(frameRun, activation)) continue;
    frameRun.hasFailed = true;
    for (const child of frameRun.activations.values()) {
      child.abort(new CairnError('NODE_CANCELLED', { node: child.path.join('/') }));
      if (holdsEffect(core, child)) {
        child.isEnding = true;
        child.isStopped = true;
        isHeld = true;
      } else {
        child.withdraw?.();
        core.agenda.forget(child);
      }
    }
  }
  return isHeld;
}

function isBelow({ nodePath }: FrameRun, { path }: Activation): boolean {
  return path.every((part, index) => nodePath[index] === part);
}

function holdsEffect(core: RunCore, activation: Activation): boolean {
  if (activation.phase !== 'running') return false;
  if (isEffect(activation.node) || activation.effectSteps.size > 0) return true;
  if (activation.childrenInFlight === 0) return false;
  return [...core.agenda.childFrames].some(
    (frameRun) =>
      isBelow(frameRun, activation) && [...frameRun.activations.values()].some((child) => holdsEffect(core, child)),
  );
}

/**
 * An activation that would settle while an effect below it is in doubt is left at the question whether that happened, and runs again
 * when it is answered; the answer stands for what is not called again. Says whether it is left.
 */
export function askOpenEffects(core: RunCore, activation: Activation): boolean {
  // Most activations have called nothing, and left nothing behind.
  if (activation.ordinals === undefined && activation.generation === 1 && !activation.isResumed) return false;
  const { node, frameRun, path } = activation;
  const record = frameRun.openRecordOf(node);
  if (record?.steps === undefined && record?.children === undefined) return false;
  if (node.onInDoubt === 'fail') return false;
  let isAsked = false;
  for (const effect of openEffectsOf(record, path)) {
    openDoubt(core, activation, effect);
    isAsked = true;
  }
  if (isAsked) leave(core, activation);
  return isAsked;
}
