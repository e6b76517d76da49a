/** One attempt: starts the node's function, takes its end, and decides about another attempt (E6, X3). */
import { CairnError } from '../../errors.ts';
import type { NodeRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { admitOutcome, type AdmittedOutcome } from '../admit/admit-outcome.ts';
import { Context } from '../calls/context.ts';
import { isEffect, keptIntent } from '../run/effect.ts';
import { enterEffect } from '../run/effects-in-flight.ts';
import { dropChildren } from '../settle/drop-children.ts';
import { retryLater } from '../effects/gate.ts';
import { holdAttempt } from '../settle/open-effects.ts';
import { openRecord } from '../record/open-record.ts';
import { factsOf, retryDelayMs } from '../effects/retry.ts';
import type { RunCore } from '../run/run-core.ts';
import { errorSummary, settleCancelled, settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { clearFailedSteps } from '../record/step-record.ts';
import { holdTimer } from '../run/timers.ts';
import { withdrawIntent } from '../record/withdraw-intent.ts';

/** Calls the node's function. A plain return settles at once; a promise settles later and asks for a turn. */
export function launch(core: RunCore, activation: Activation): void {
  const { node } = activation;
  if (activation.isOver) return;
  if (activation.isCancelled) return settleCancelled(core, activation);
  // An effect whose intent is durable is as good as running: a failure elsewhere does not stop it (G8).
  if (core.isStopping && !(isEffect(node) && core.isOnlyFailing)) return giveUp(core, activation);
  if (isEffect(node) && core.env.clock.monotonic() >= core.leaseUntilMs) {
    core.forget(activation);
    return core.fail(new CairnError('CLAIM_LOST', { runId: core.runId }));
  }
  activation.phase = 'running';
  activation.isAnnounced = false;
  activation.renew();
  activation.startedAt = core.env.clock.now();
  core.publishLive('started', activation, undefined);
  const generation = activation.generation;
  const isCurrent = (): boolean => activation.generation === generation && activation.phase === 'running';
  let returned: unknown;
  try {
    returned = node.implementation.run(new Context(core, activation));
  } catch (error) {
    return attemptFailed(core, activation, error);
  }
  const goesOn = isThenable(returned) || activation.effectSteps.size > 0 || activation.childrenInFlight > 0;
  if (goesOn && isCurrent()) armTimeout(core, activation);
  if (!isThenable(returned)) return attemptReturned(core, activation, returned);
  const leaveEffect = isEffect(node) ? enterEffect(core.env.effectsInFlight, intentKeyOf(core, activation)) : () => {};
  returned.then(
    (value) => {
      leaveEffect();
      if (isCurrent()) attemptReturned(core, activation, value);
    },
    (error: unknown) => {
      leaveEffect();
      if (isCurrent()) attemptFailed(core, activation, error);
    },
  );
}

/** Nothing starts any more. */
function giveUp(core: RunCore, activation: Activation): void {
  if (isEffect(activation.node)) withdrawIntent(core, activation);
  core.forget(activation);
  core.requestTurn();
}

/** The key under which the present effect was announced. */
function intentKeyOf(core: RunCore, activation: Activation): string {
  return activation.frameRun.openRecordOf(activation.node)?.intent?.key ?? activation.keyFor(core.runId);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/**
 * An attempt of an effect ends by the deadline of its intent, whatever came between: another owner waits no longer (O2). Armed only for
 * what is not over when the function returns: no timer fires before.
 */
function armTimeout(core: RunCore, activation: Activation): void {
  const { generation, node } = activation;
  const { clock, limits } = core.env;
  const timeoutMs = node.timeoutMs ?? (isEffect(node) ? limits.effectMs : undefined);
  if (timeoutMs === undefined) return;
  const deadlineAt = isEffect(node) ? activation.frameRun.openRecordOf(node)?.intent?.deadlineAt : undefined;
  const delayMs = Math.max(0, (deadlineAt ?? activation.startedAt + timeoutMs) - clock.now());
  activation.cancelTimer = clock.setTimer(delayMs, () => {
    if (activation.generation !== generation || activation.phase !== 'running') return;
    const error = new CairnError('NODE_TIMED_OUT', { node: activation.path.join('/'), timeoutMs });
    activation.abort(error);
    attemptFailed(core, activation, error);
  });
}

function attemptReturned(core: RunCore, activation: Activation, returned: unknown): void {
  // A function may return before an effect it began has ended; settling now would forget that effect in silence (P2).
  if (holdAttempt(core, activation, () => attemptReturned(core, activation, returned))) return;
  activation.cancelTimer?.();
  if (activation.isCancelled) return settleCancelled(core, activation);
  try {
    void settleOutcome(core, activation, admitOutcome(core, activation, returned));
    core.requestTurn();
  } catch (error) {
    // What cannot be stored is no result: for an effect that is the same as an unknown one (X3).
    attemptFailed(core, activation, error);
  }
}

/** The attempt ended badly. Effects that it began are told to stop, and have the grace of a cancel to end and be recorded. */
export function attemptFailed(core: RunCore, activation: Activation, error: unknown): void {
  activation.cancelTimer?.();
  activation.abort(error);
  activation.isStopped = true;
  core.requestTurn();
  const again = (): void => endFailed(core, activation, error, false);
  if (!holdAttempt(core, activation, again)) return endFailed(core, activation, error, true);
  activation.cancelTimer = holdTimer(core, core.env.limits.cancelGraceMs, () => {
    if (core.holds.delete(activation) && activation.phase === 'running') endFailed(core, activation, error, true);
  });
}

/** Retried if its policy and its effect class allow, else failed for good. */
function endFailed(core: RunCore, activation: Activation, error: unknown, isGraceOver: boolean): void {
  const isGoingOn = !core.isClosing && !core.isCancelling && core.committer.broken === undefined;
  const again = (): void => endFailed(core, activation, error, false);
  if (isGoingOn && !isGraceOver && holdAttempt(core, activation, again)) return;
  activation.cancelTimer?.();
  dropChildren(core, activation);
  if (activation.isCancelled) return settleCancelled(core, activation);
  if (!isGoingOn) return core.forget(activation);
  const { node } = activation;
  const applied = (error as { applied?: unknown } | undefined)?.applied;
  const mayRunAgain = !isEffect(node) || node.idempotent || applied === 'no';
  const delayMs = retryDelayMs(node.retry, activation.attempt - activation.budgetFrom, factsOf(error), () =>
    core.env.ids.random(),
  );
  if (delayMs === undefined) return settleFailed(core, activation, error);
  if (mayRunAgain) return scheduleRetry(core, activation, error, delayMs);
  if (node.implementation.reconcile === undefined) return settleFailed(core, activation, error);
  activation.phase = 'prepared';
  reconcileFailure(core, activation, () => scheduleRetry(core, activation, error, delayMs)).then(
    (isSettled) => {
      if (!isSettled && !activation.isOver) settleFailed(core, activation, error);
      core.requestTurn();
    },
    (fault: unknown) => core.fail(fault),
  );
}

/** Asks the node type whether the failed effect happened; what it cannot tell leaves the failure as it is (X3). */
async function reconcileFailure(core: RunCore, activation: Activation, retry: () => void): Promise<boolean> {
  const { node, view } = activation;
  const context = { config: node.config, state: view.state, signal: activation.signal };
  let outcome: AdmittedOutcome;
  try {
    const found = await node.implementation.reconcile?.(intentKeyOf(core, activation), context);
    if (activation.isOver) return true;
    if (found?.happened === false) {
      retry();
      return true;
    }
    if (found?.happened !== true) return false;
    outcome = admitOutcome(core, activation, found.output);
  } catch {
    return false;
  }
  await settleOutcome(core, activation, outcome, { by: 'reconcile' });
  return true;
}

function scheduleRetry(core: RunCore, activation: Activation, error: unknown, delayMs: number): void {
  const { node, frameRun } = activation;
  activation.attempt += 1;
  const retryAt = core.env.clock.now() + delayMs;
  const previous = frameRun.openRecordOf(node);
  // What may have happened keeps its intent, and so its key, in a fork too (X3).
  const mayHaveHappened =
    isEffect(node) && node.idempotent && (error as { applied?: unknown } | undefined)?.applied !== 'no';
  const kept = keptIntent(previous?.intent, activation.keyFor(core.runId), mayHaveHappened);
  const record: NodeRecord = {
    ...openRecord(activation),
    ...(mayHaveHappened && previous?.view !== undefined ? { view: previous.view } : {}),
    ...kept,
    retryAt,
  };
  if (previous?.steps === undefined) frameRun.frame.setNode(node.id, record, JSON.stringify(record));
  else {
    frameRun.frame.setNodeField(node.id, 'attempt', activation.attempt, String(activation.attempt));
    frameRun.frame.setNodeField(node.id, 'retryAt', retryAt, String(retryAt));
    clearFailedSteps(core, activation);
  }
  core.committer.note(
    `{"kind":"retry","node":${JSON.stringify(activation.path)},"attempt":${activation.attempt},"error":${errorSummary(error)}${node.retry?.when === undefined ? '' : ',"by":"when"'}}`,
  );
  core.mustCommit = true;
  core.publishLive('retrying', activation, { attempt: activation.attempt, retryAt });
  retryLater(core, activation, retryAt);
}
