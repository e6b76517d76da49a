/** How an activation that may run comes to run: at once, after a delay, or when its intent is durable (E3, E4). */
import type { NodeRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { isEffect } from '../run/effect.ts';
import { tellWaiting } from '../waits/leave.ts';
import { openRecord } from '../record/open-record.ts';
import type { RunCore } from '../run/run-core.ts';
import { noteView } from '../record/seal-views.ts';
import { isRetryOpen, openWait } from '../waits/open-wait.ts';
import { holdTimer } from '../run/timers.ts';
import { retryWait } from '../waits/wait.ts';
import { doubtOf } from '../record/withdraw-intent.ts';
import { visitText } from '../record/visit-part.ts';

/** Puts an activation off until its next attempt is due: here if that is soon, else as a wait, so that the run may pause (E6). */
export function retryLater(core: RunCore, activation: Activation, retryAt: number): void {
  activation.phase = 'retrying';
  core.setBusy(activation, false);
  const delayMs = retryAt - core.env.clock.now();
  const wait = retryWait(activation.path, activation.attempt, retryAt);
  if (delayMs > core.env.limits.holdTimersMs || isRetryOpen(core, wait)) {
    activation.cancelTimer = undefined;
    openWait(core, activation, undefined, wait);
    return tellWaiting(core, activation.frameRun);
  }
  activation.cancelTimer = holdTimer(core, delayMs, () => retryNow(core, activation));
}

/** Makes the next attempt of an activation that was put off. */
export function retryNow(core: RunCore, activation: Activation): void {
  if (core.isStopping || activation.phase !== 'retrying') return;
  core.setBusy(activation, true);
  reopenView(core, activation);
  launchOrGate(core, activation);
  core.requestTurn();
}

/** A new attempt without steps or intents sees the present state; one that left some sees what it saw (E9). */
function reopenView(core: RunCore, activation: Activation): void {
  const record = activation.frameRun.openRecordOf(activation.node);
  if (record?.view !== undefined) return;
  activation.view.close();
  activation.view = activation.frameRun.frame.openView();
  activation.viewSeq = core.committer.seq + (core.committer.isPending ? 1 : 0);
  noteView(core, activation);
}

/** Effects get their intent first; questions wait for durability; all else starts right after the checkpoint is made. */
export function launchOrGate(core: RunCore, activation: Activation): void {
  const { node } = activation;
  activation.phase = 'prepared';
  if (core.isDry) return void core.launches.push(activation);
  if (node.checkpoint === 'before' || node.checkpoint === 'both')
    core.mustCommit = core.mustCommit || core.committer.isPending;
  if (isEffect(node)) {
    writeIntent(core, activation);
    core.gates.push(activation);
  } else if (node.effect === 'human' && core.committer.isPending) {
    core.mustCommit = true;
    core.gates.push(activation);
  } else core.launches.push(activation);
}

function writeIntent(core: RunCore, activation: Activation): void {
  const { node, frameRun } = activation;
  const deadlineAt = core.env.clock.now() + (node.timeoutMs ?? core.env.limits.effectMs);
  const previous = frameRun.openRecordOf(node);
  const key = previous?.intent?.key ?? activation.keyFor(core.runId);
  const record: NodeRecord = {
    ...openRecord(activation),
    view: previous?.view ?? activation.viewSeq,
    intent: { key, attempt: activation.attempt, deadlineAt, by: core.env.ids.workerId },
  };
  frameRun.frame.setNode(node.id, record, JSON.stringify(record));
  activation.doubtBefore = doubtOf(previous);
  activation.isAnnounced = true;
  core.committer.note(
    `{"kind":"intent","node":${JSON.stringify(activation.path)},"attempt":${activation.attempt},"effect":"${node.effect}"${visitText(activation)}}`,
  );
  core.mustCommit = true;
}
