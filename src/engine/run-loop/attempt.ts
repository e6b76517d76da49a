/** Makes one attempt: starts the node's function, handles its end, and decides about another attempt (E6, X3). */
import { readableThrown } from '../../errors.ts';
import { AttemptScope, callInScope } from '../live-run/attempt-scope.ts';
import type { Activation } from '../live-run/loop.ts';
import { admitOutcome, type AdmittedOutcome } from '../validate/admit-outcome.ts';
import { Context } from '../calls/context.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import { dropChildren, holdAttempt } from '../settle/cancel.ts';
import { announceAnew, isTooLate } from '../effects/begin.ts';
import { afterFailure, planRetry, type AfterFailure } from '../effects/retry.ts';
import { afterGrace, armDeadline } from '../effects/deadline.ts';
import { bookAll } from '../visit-records/account.ts';
import { NodeEffort, effortKeyOf, noteRepeatedNode } from '../visit-records/intent.ts';
import { noteEvents } from '../visit-records/recorded-events.ts';
import { settleCancelled, settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { clearFailedSteps } from '../visit-records/step-record.ts';
import { holdTimer } from '../live-run/timers.ts';

/** Calls the node's function. A plain return value settles at once; a promise settles later and requests a turn. */
export function launch(core: RunCore, activation: Activation): void {
  const { node } = activation;
  if (activation.isOver) return;
  if (activation.isCancelled) return settleCancelled(core, activation);
  // An effect whose intent is durable counts as running, so a failure elsewhere does not stop it (G8).
  if (core.standing.isStopping && !(isEffect(node) && core.standing.mayFinish)) return giveUp(core, activation);
  if (isEffect(node) && isTooLate(core, activation)) return announceAnew(core, activation);
  activation.phase = 'running';
  activation.withdraw = undefined;
  activation.isLate = undefined;
  activation.renew();
  noteRepeatedNode(core, activation);
  activation.startedAt = core.env.clock.now();
  const begunMs = core.env.clock.monotonic();
  core.env.leaseGuard?.begins(activation.frameRun.graph.id, core.runId, activation.path, begunMs);
  core.loop.publishLive('started', activation, undefined);
  const generation = activation.generation;
  const isCurrent = (): boolean => activation.generation === generation && activation.phase === 'running';
  const fail = (error: unknown): boolean => isCurrent() && strayFailed(core, activation, error, isCurrent);
  const scope = new AttemptScope(core, activation, activation.attempt, fail);
  activation.scope?.end();
  activation.scope = scope;
  const condemned = core.apart?.condemned(activation.path);
  if (condemned !== undefined) return attemptFailed(core, activation, condemned);
  core.apart?.onBegun(activation.path);
  const end = isEffect(node)
    ? core.own.begin(activation.announcedKey ?? effortKeyOf(core, new NodeEffort(activation)))
    : undefined;
  const { permit } = activation;
  const noteEnd = (ended: { readonly returned: unknown } | { readonly thrown: unknown }): void => {
    const spent = core.ledger.ownOf(activation)?.spent;
    core.apart?.onEnded(activation.path);
    permit?.leave(spent?.['tokens']);
    end?.({ ...ended, spent });
  };
  let returned: unknown;
  try {
    returned = callInScope(scope, () => node.implementation.run(new Context(core, activation)));
  } catch (error) {
    noteEnd({ thrown: error });
    return attemptFailed(core, activation, error);
  }
  const goesOn = isThenable(returned) || activation.effectSteps.size > 0 || activation.childrenInFlight > 0;
  if (goesOn && isCurrent()) armTimeout(core, activation, begunMs, isCurrent);
  if (!isThenable(returned)) {
    noteEnd({ returned });
    return attemptReturned(core, activation, returned);
  }
  returned.then(
    (value) => {
      noteEnd({ returned: value });
      if (isCurrent()) attemptReturned(core, activation, value);
    },
    (error: unknown) => {
      noteEnd({ thrown: error });
      if (isCurrent()) attemptFailed(core, activation, error);
    },
  );
}

/** Gives up an activation because nothing may start any more. */
function giveUp(core: RunCore, activation: Activation): void {
  activation.withdraw?.();
  core.agenda.forget(activation);
  core.loop.requestTurn();
}

/** Whether a function gave a promise. What cannot be read is none, and is refused where values are taken in. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
  } catch {
    return false;
  }
}

/** Starts the timeout. Called after the function has returned a promise, because no timer fires before. */
function armTimeout(core: RunCore, activation: Activation, begunMs: number, isCurrent: () => boolean): void {
  activation.cancelTimer = armDeadline(core, new NodeEffort(activation), begunMs, {
    onLate(error) {
      if (!isCurrent()) return;
      activation.failure ??= { error };
      activation.abort(error);
    },
    onOver(error) {
      if (isCurrent()) attemptFailed(core, activation, error);
    },
  });
}

/** Fails an attempt by an error that nobody caught, as its deadline would: at once, and if it is an effect, when it has had its grace. */
function strayFailed(core: RunCore, activation: Activation, error: unknown, isCurrent: () => boolean): true {
  // It may be on its way to its end already.
  if (activation.failure !== undefined) return true;
  activation.failure = { error };
  if (!isEffect(activation.node)) attemptFailed(core, activation, error);
  else {
    activation.cancelTimer?.();
    activation.abort(error);
    activation.cancelTimer = afterGrace(core, new NodeEffort(activation), () => {
      if (isCurrent()) attemptFailed(core, activation, error);
    });
  }
  return true;
}

function attemptReturned(core: RunCore, activation: Activation, returned: unknown): void {
  // A function may return before an effect that it started has ended. Settling now would silently forget that effect (P2).
  if (holdAttempt(core, activation, () => attemptReturned(core, activation, returned))) return;
  activation.cancelTimer?.();
  if (activation.isCancelled) return settleCancelled(core, activation);
  if (activation.failure !== undefined) return attemptFailed(core, activation, activation.failure.error);
  try {
    void settleOutcome(core, activation, admitOutcome(core, activation, returned));
    core.loop.requestTurn();
  } catch (error) {
    // A result that cannot be stored is no result. For an effect that means that its result is unknown (X3).
    attemptFailed(core, activation, error);
  }
}

/**
 * Handles a failed attempt. The signals of effects that it started are aborted, and those get the grace period of a cancel to end and be
 * recorded.
 */
export function attemptFailed(core: RunCore, activation: Activation, thrown: unknown): void {
  const error = readableThrown(activation.failure === undefined ? thrown : activation.failure.error);
  activation.abort(error);
  activation.isStopped = true;
  core.loop.requestTurn();
  const again = (): void => endFailed(core, activation, error, false);
  if (!holdAttempt(core, activation, again)) return endFailed(core, activation, error, true);
  // The grace of one that was cancelled began then.
  if (activation.isCancelled) return;
  activation.cancelTimer?.();
  activation.cancelTimer = holdTimer(core, core.env.bounds.cancelGraceMs, () => {
    if (core.agenda.holds.delete(activation) && activation.phase === 'running')
      endFailed(core, activation, error, true);
  });
}

/** Retries the attempt if policy and effect class allow it; otherwise it has failed for good. */
function endFailed(core: RunCore, activation: Activation, error: unknown, isGraceOver: boolean): void {
  const isGoingOn = core.standing.mayFinish;
  const again = (): void => endFailed(core, activation, error, false);
  if (isGoingOn && !isGraceOver && holdAttempt(core, activation, again)) return;
  activation.cancelTimer?.();
  dropChildren(core, activation);
  if (activation.isCancelled) return settleCancelled(core, activation);
  if (!isGoingOn) {
    // What the function recorded of its own end comes with the end of the run.
    if (core.standing.isCancelling) noteEvents(core, activation);
    return core.agenda.forget(activation);
  }
  const decided = afterFailure(core, new NodeEffort(activation), error, activation.attempt - activation.budgetFrom);
  if (!(decided instanceof Promise)) return endDecided(core, activation, error, decided);
  activation.phase = 'prepared';
  decided
    .then((after) => {
      if (!activation.isOver) endDecided(core, activation, error, after);
    })
    .catch((fault: unknown) => core.loop.fail(fault))
    .finally(() => core.loop.requestTurn());
}

function endDecided(core: RunCore, activation: Activation, error: unknown, after: AfterFailure): void {
  if (after.kind === 'fail') {
    activation.isRetryWithheld = after.isWithheld === true;
    return settleFailed(core, activation, error);
  }
  if (after.kind === 'retry') return scheduleRetry(core, activation, error, after.delayMs);
  let outcome: AdmittedOutcome;
  try {
    outcome = admitOutcome(core, activation, after.output);
  } catch {
    // An answer that cannot be stored is ignored: the failure stands.
    return settleFailed(core, activation, error);
  }
  void settleOutcome(core, activation, outcome, { by: 'reconcile' });
}

function scheduleRetry(core: RunCore, activation: Activation, error: unknown, delayMs: number): void {
  noteEvents(core, activation);
  activation.attempt += 1;
  const { attempt } = activation;
  bookAll(core, activation);
  const retryAt = planRetry(core, new NodeEffort(activation), { attempt, delayMs, error });
  clearFailedSteps(core, activation);
  core.draft.mustCommit = true;
  core.loop.traceFailure(activation, error, false);
  core.env.monitor?.attemptEnded(core.rootFrame.graph.id, 'retrying');
  core.loop.publishLive('retrying', activation, { attempt, retryAt });
  core.loop.beginLater(activation, retryAt);
}
