/** How an activation that may run comes to run: at once, after a delay, or when its intent is durable (E3, E4). */
import { NodeEffort } from '../record/effort.ts';
import { announce, withdraw } from '../record/intent.ts';
import { noteView } from '../record/seal-views.ts';
import { isEffect } from '../run/effect.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { holdTimer } from '../run/timers.ts';
import { tellWaiting } from '../waits/leave.ts';
import { isRetryOpen, openWait } from '../waits/open-wait.ts';
import { retryWait } from '../waits/wait.ts';

/** Puts an activation off until its next attempt is due: here if that is soon, else as a wait, so that the run may pause (E6). */
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

/** Makes the next attempt of an activation that was put off. */
export function beginRetry(core: RunCore, activation: Activation): void {
  if (core.standing.isStopping || activation.phase !== 'retrying') return;
  core.agenda.setBusy(activation, true);
  reopenView(core, activation);
  begin(core, activation);
  core.loop.requestTurn();
}

/** A new attempt without steps or intents sees the present state; one that left some sees what it saw (E9). */
function reopenView(core: RunCore, activation: Activation): void {
  const record = activation.frameRun.openRecordOf(activation.node);
  if (record?.view !== undefined) return;
  activation.view.close();
  activation.view = activation.frameRun.frame.openView();
  activation.viewSeq = core.nextSeq;
  noteView(core, activation);
}

/** Effects are announced first; questions wait for durability; all else starts right after the checkpoint is made. */
export function begin(core: RunCore, activation: Activation): void {
  const { agenda, draft } = core;
  const { node } = activation;
  activation.phase = 'prepared';
  if (node.checkpoint === 'before' || node.checkpoint === 'both') draft.mustCommit ||= draft.isPending;
  if (isEffect(node)) {
    const announced = announce(core, new NodeEffort(activation), activation.attempt);
    const withdrawThis = (): void => withdraw(core, announced);
    activation.withdraw = withdrawThis;
    activation.deadlineMs = announced.deadlineMs;
    draft.mustCommit = true;
    agenda.gates.push(activation);
  } else if (node.effect === 'human' && draft.isPending) {
    draft.mustCommit = true;
    agenda.gates.push(activation);
  } else agenda.launches.push(activation);
}
