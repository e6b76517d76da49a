/** Cancels an activation whose result is no longer needed (G3 `cancelRest`, E7). */
import { CairnError } from '../../errors.ts';
import { Activation, type FrameRun } from '../live-run/loop.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import { leave } from '../waits/leave-at-wait.ts';
import { openEffectsOf, openInVisit, type DoubtedEffect } from '../visit-records/settle-record.ts';
import { openDoubt } from '../waits/open-wait.ts';
import type { GraphNode } from '../../graph/graph.ts';
import { encodeValue } from '../../state/values/encode.ts';

// Handles effects below an activation that have started and have no result. Before the activation settles, they end, or somebody judges
// them (P2, X3).

/**
 * Ends the function of an attempt: it makes no more calls, and its child runs stop. While an effect that it started is running, the attempt
 * stays open, and `again` is called in a later turn. @returns whether it stays open
 */
export function holdAttempt(core: RunCore, activation: Activation, again: () => void): boolean {
  activation.isEnding = true;
  if (!stopBelow(core, activation)) return false;
  core.agenda.holds.set(activation, again);
  return true;
}

/** Checks attempts that stay open for their effects again, once in each turn, since effects end between turns. */
export function takeHolds(core: RunCore): void {
  const holds = [...core.agenda.holds];
  core.agenda.holds.clear();
  for (const [activation, again] of holds) if (activation.phase === 'running') again();
}

/** Stops the child runs of an activation whose function goes on. Its calls fail once the effects in them have ended. */
function stopChildren(core: RunCore, activation: Activation): void {
  stopFrames(core, activation);
  const failure = new CairnError('NODE_CANCELLED', { node: activation.path.join('/') });
  for (const frameRun of core.agenda.childFrames) {
    if (!isBelow(frameRun, activation)) continue;
    frameRun.failure ??= failure;
    frameRun.onEnd?.();
  }
}

/**
 * Stops everything below an activation except effects, whose signals are aborted and which end by themselves. @returns whether there are
 * any
 */
function stopBelow(core: RunCore, activation: Activation): boolean {
  return stopFrames(core, activation) || activation.effectSteps.size > 0;
}

/** @returns whether an effect in a child run has not ended */
function stopFrames(core: RunCore, activation: Activation): boolean {
  let hasOpenEffect = false;
  if (activation.childrenInFlight === 0) return hasOpenEffect;
  for (const frameRun of core.agenda.childFrames) {
    if (!isBelow(frameRun, activation)) continue;
    frameRun.hasFailed = true;
    for (const child of frameRun.activations.values()) {
      child.abort(new CairnError('NODE_CANCELLED', { node: child.path.join('/') }));
      if (holdsEffect(core, child)) {
        child.isEnding = true;
        child.isStopped = true;
        hasOpenEffect = true;
      } else {
        child.withdraw?.();
        core.agenda.forget(child);
      }
    }
  }
  return hasOpenEffect;
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
 * If an effect below an activation is in doubt, asks whether it happened before the activation settles. The activation is run again when
 * the question is answered. The answer is used if the function does not make the call again. @returns whether it asked
 */
export function askOpenEffects(core: RunCore, activation: Activation): boolean {
  // A shortcut for the usual case: the activation made no calls and has recorded nothing.
  if (activation.ordinals === undefined && activation.generation === 1 && !activation.isResumed) return false;
  const { node, frameRun, path } = activation;
  const record = frameRun.openRecordOf(node);
  if (record?.steps === undefined && record?.children === undefined) return false;
  if (node.onInDoubt === 'fail') return false;
  const hasAsked = askAbout(core, activation, openEffectsOf(record, path));
  if (hasAsked) leave(core, activation);
  return hasAsked;
}

/**
 * Asks about the effects that a crash left in doubt in an activation of a cancelled child run, before it settles as cancelled. What began
 * in this process was aborted, and had its grace period; what is to be tried again has failed. @returns whether it asked
 */
export function askAfterCrash(core: RunCore, activation: Activation): boolean {
  const { node, frameRun, path } = activation;
  const record = frameRun.isCancelled ? frameRun.openRecordOf(node) : undefined;
  if (record === undefined || node.onInDoubt === 'fail') return false;
  const { workerId } = core.env.ids;
  const isUnknown = ({ intent: { by, idempotent }, retryAt }: DoubtedEffect): boolean =>
    by !== workerId && idempotent !== true && retryAt === undefined;
  const hasAsked = askAbout(core, activation, [...openInVisit(record, path)].filter(isUnknown));
  if (hasAsked && activation.phase !== 'waiting') leave(core, activation);
  return hasAsked;
}

/** Asks about each effect that changes something outside. @returns whether there is one */
function askAbout(core: RunCore, activation: Activation, effects: Iterable<DoubtedEffect>): boolean {
  let hasAsked = false;
  for (const effect of effects) {
    if (effect.intent.forgettable === true) continue;
    openDoubt(core, activation, effect);
    hasAsked = true;
  }
  return hasAsked;
}

/** Aborts an activation. When its attempt has ended it settles as cancelled, without firing edges. */
export function cancelActivation(core: RunCore, frameRun: FrameRun, index: number): void {
  const activation = frameRun.activations.get(index) ?? takeUnprepared(core, frameRun, index);
  if (activation === undefined || activation.isCancelled) return;
  activation.isCancelled = true;
  // Effects that were called but have not started yet will not start.
  activation.isStopped = true;
  activation.abort(new CairnError('NODE_CANCELLED', { node: activation.node.id }));
  stopChildren(core, activation);
  core.agenda.cancelled.push(activation);
  core.loop.requestTurn();
}

/**
 * Takes an open activation that was not prepared yet out of the queue, so that it only gets its record. A rebuilt plan may list such
 * activations although they are in no queue.
 */
function takeUnprepared(core: RunCore, frameRun: FrameRun, index: number): Activation | undefined {
  const at = core.agenda.queue.findIndex((queued) => queued.frameRun === frameRun && queued.start.node === index);
  const [queued] = at < 0 ? [] : core.agenda.queue.splice(at, 1);
  if (queued === undefined && frameRun.plan.stateOf(index) !== 'open') return undefined;
  const activation = new Activation({
    frameRun,
    node: frameRun.graph.nodes[index] as GraphNode,
    visit: queued?.start.visit ?? frameRun.plan.visitOf(index),
    took: queued?.start.took,
    attempt: 1,
    budgetFrom: 0,
    view: frameRun.frame.openView(),
    viewSeq: core.committer.seq,
    isResumed: false,
  });
  activation.phase = 'waiting';
  frameRun.activations.set(index, activation);
  return activation;
}

// Cancels a child run through its handle: its open work is cancelled, and nothing more of it runs (W6).

/** Cancels. A child that has ended stays as it ended. */
export function cancelChild(core: RunCore, frameRun: FrameRun, reason: string): void {
  if (frameRun.plan.isDone || frameRun.hasFailed || frameRun.isCancelled) return;
  frameRun.frame.setField('cancelled', [], reason, encodeValue(reason));
  core.draft.mustCommit = true;
  for (const { node } of frameRun.plan.initial().start) cancelActivation(core, frameRun, node);
}

// Stops the child runs of an attempt that is over, since they are part of it (W6). If the activation is retried, it keeps what they
// recorded.

/** Stops everything that runs below an activation. An effect keeps its intent, so it is in doubt if the activation is retried. */
export function dropChildren(core: RunCore, activation: Activation): void {
  if (core.agenda.childFrames.size === 0) return;
  const { path } = activation;
  for (const frameRun of core.agenda.childFrames) {
    if (!path.every((part, index) => frameRun.nodePath[index] === part)) continue;
    core.agenda.childFrames.delete(frameRun);
    frameRun.onEnd = undefined;
    // Prevents anything queued of it from starting.
    frameRun.hasFailed = true;
    dropActivations(core, frameRun);
  }
}

/** Forgets the activations of a child frame that has ended or will not go on. */
export function dropActivations(core: RunCore, frameRun: FrameRun): void {
  for (const activation of frameRun.activations.values()) {
    activation.abort(new CairnError('NODE_CANCELLED', { node: activation.path.join('/') }));
    core.agenda.forget(activation);
  }
}
