/** Starts an activation: at once, after a delay, or when its intent is durable (E3, E4). */
import { budgetExceeded } from '../record/budget.ts';
import { NodeEffort } from '../record/effort.ts';
import { announce, withdraw } from '../record/intent.ts';
import { noteView } from '../record/seal-views.ts';
import { isEffect } from '../run/effect.ts';
import type { Activation } from '../run/frame-run.ts';
import { Charge } from '../run/ledger.ts';
import type { RunCore } from '../run/run-core.ts';
import { holdTimer } from '../run/timers.ts';
import { settleFailed } from '../settle/settle.ts';
import { askForBudget } from '../waits/budget-wait.ts';
import { tellWaiting } from '../waits/leave.ts';
import { budgetMet } from './budget-met.ts';
import { isRetryOpen, openWait } from '../waits/open-wait.ts';
import { retryWait } from '../waits/wait.ts';

/** Delays an activation until its next attempt is due: with a timer if that is soon, else as a wait, so that the run can pause (E6). */
export function beginLater(core: RunCore, activation: Activation, at: number): void {
  activation.phase = 'retrying';
  core.agenda.setBusy(activation, false);
  const delayMs = at - core.env.clock.now();
  const wait = retryWait(activation.path, activation.attempt, at);
  if (delayMs > core.env.limits.holdTimersMs || isRetryOpen(core, wait)) {
    activation.cancelTimer = undefined;
    openWait(core, activation, undefined, wait);
    return tellWaiting(core, activation.frameRun);
  }
  activation.cancelTimer = holdTimer(core, delayMs, () => beginRetry(core, activation));
}

/** Starts the next attempt of a delayed activation. */
export function beginRetry(core: RunCore, activation: Activation): void {
  if (core.standing.isStopping || activation.phase !== 'retrying') return;
  core.agenda.setBusy(activation, true);
  reopenView(core, activation);
  begin(core, activation);
  core.loop.requestTurn();
}

/**
 * Opens the view for a new attempt. If earlier attempts recorded steps or intents, it is the state that they saw; otherwise the current
 * state (E9).
 */
function reopenView(core: RunCore, activation: Activation): void {
  const record = activation.frameRun.openRecordOf(activation.node);
  if (record?.view !== undefined) return;
  activation.view.close();
  activation.view = activation.frameRun.frame.openView();
  activation.viewSeq = core.nextSeq;
  activation.keptReadCount = 0;
  noteView(core, activation);
}

/**
 * Checks an attempt against its budgets. A function with recorded steps is always repeated: its steps are checked, not the function (Q4).
 */
function mayBegin(core: RunCore, activation: Activation): boolean {
  const { ledger } = core;
  const { node, frameRun } = activation;
  // A function that runs again from its top reports its cost again.
  const before = ledger.ownOf(activation);
  if (before !== undefined) ledger.close(before);
  if (frameRun.openRecordOf(node)?.steps !== undefined) return true;
  const charge = new Charge(activation, undefined, node.atMost);
  const met = budgetMet(core, charge);
  if (met === undefined) {
    if (node.atMost !== undefined) ledger.open(charge);
    return true;
  }
  if (met.decision === 'over' && met.onBudget === 'fail') {
    settleFailed(core, activation, budgetExceeded(met, activation.path.join('/')));
    return false;
  }
  activation.phase = 'retrying';
  activation.cancelTimer = undefined;
  core.agenda.setBusy(activation, false);
  if (met.decision === 'over') askForBudget(core, activation, undefined, met);
  ledger.whenChanged(() => beginRetry(core, activation));
  tellWaiting(core, frameRun);
  return false;
}

/**
 * Starts an attempt. Effects are announced first. What asks a person for the first time waits until all that led to it is durable; when it
 * goes on with an answer, that has been so. Everything else starts right after the checkpoint is made.
 */
export function begin(core: RunCore, activation: Activation): void {
  const { agenda, draft } = core;
  const { node } = activation;
  activation.phase = 'prepared';
  if (!mayBegin(core, activation)) return;
  if (node.checkpoint === 'before' || node.checkpoint === 'both') draft.mustCommit ||= draft.isPending;
  if (isEffect(node)) {
    const announced = announce(core, new NodeEffort(activation), activation.attempt);
    const withdrawThis = (): void => withdraw(core, announced);
    activation.withdraw = withdrawThis;
    activation.deadlineMs = announced.deadlineMs;
    draft.mustCommit = true;
    agenda.gates.push(activation);
  } else if (node.effect === 'human' && draft.isPending && !activation.isResumed) {
    draft.mustCommit = true;
    agenda.gates.push(activation);
  } else agenda.launches.push(activation);
}
