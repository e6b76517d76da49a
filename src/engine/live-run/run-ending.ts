/** Decides how a run stands when there is nothing left to do here (G10, W4). */
import { CairnError } from '../../errors.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { isAnswerable } from '../../history/stored/messages.ts';
import { nodeRecord, type RunStatus, type RunTree, type WaitRecord } from '../../state/tree.ts';
import type { CancelOptions } from '../api.ts';
import type { Draft } from './draft.ts';
import type { RunCore } from './run-core.ts';

/**
 * The status with which the run ends or pauses; undefined while something is to be done. @throws INTERNAL nothing is, but the run has
 * not ended
 */
export function endingOf(core: RunCore): RunStatus | undefined {
  const { failures, cancel } = core.root;
  if (core.rootFrame.plan.isDone && failures === undefined) return cancel === undefined ? 'completed' : 'cancelled';
  const { agenda, standing } = core;
  if (agenda.busyCount > 0 || agenda.isDue) return undefined;
  if (standing.isCancelling) return 'cancelled';
  if (!standing.mayFinish) return undefined;
  if (isFailing(core.root)) return 'failed';
  if (standing.isYielding) return undefined;
  const hasRoom = agenda.placesTaken < core.rootFrame.graph.policies.concurrency;
  if ((agenda.queue.length > 0 && hasRoom) || agenda.keepAliveCount > 0) return undefined;
  // The questions of a node that failed stay open for the resume that tries it again.
  const { failedNodes = {} } = core.root.frame;
  const waits = Object.entries(core.root.waits).filter(([, { node }]) => !Object.hasOwn(failedNodes, node[0] ?? ''));
  if (waits.length > 0) return isTimeNear(core, waits) ? undefined : 'paused';
  if (failures !== undefined) return 'failed';
  throw new CairnError('INTERNAL', { reason: 'nothing is ready, running or waiting, and the run has not ended' });
}

/** Whether the run has a failure after which nothing more starts. After one of a node with `fail-last` all else goes on (G8). */
export function isFailing({ failures, frame: { failedNodes = {} } }: RunTree): boolean {
  return failures !== undefined && Object.keys(failures).some((node) => !Object.hasOwn(failedNodes, node));
}

/** Whether a due time is so near that this process stays for it: less near if a person can be asked meanwhile (W4.1). */
function isTimeNear({ env, agenda }: RunCore, waits: readonly (readonly [waitId: string, WaitRecord])[]): boolean {
  const { holdTimersMs, holdQuestionsMs } = env.limits;
  const nearMs = waits.some(([, wait]) => isAnswerable(wait)) ? Math.min(holdQuestionsMs, holdTimersMs) : holdTimersMs;
  const now = env.clock.monotonic();
  return waits.some(([waitId]) => (agenda.armedWaits.get(waitId) ?? Infinity) - now <= nearMs);
}

/** What a cancel request says. */
export type CancelRequest = Pick<CancelOptions, 'reason' | 'by' | 'force'>;

/** The parts of a change that a cancel request fills. */
export function requestedBy({ reason, by }: CancelRequest): Pick<ChangePart, 'by' | 'detail'> {
  return { ...(by !== undefined && { by }), ...(reason !== undefined && { detail: { reason } }) };
}

/**
 * Notes that a run has stopped what it did, and that its `onCancel` node comes next (E7.4). What it waited for and why it had failed is put
 * aside for forks: nothing of it goes on.
 */
export function noteCancelling(draft: Draft, node: string, request: CancelRequest, at: number): void {
  const { reason, by } = request;
  const { waits } = draft.root;
  draft.setStatus('cancelling');
  draft.note({ kind: 'cancel', ...requestedBy(request) });
  draft.set(['cancel'], {
    node,
    at,
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
    waits: { ...waits },
  });
  for (const waitId of Object.keys(waits)) draft.closeWait(waitId);
  if (draft.root.failures !== undefined) draft.delete(['failures']);
}

/** Notes that a run is cancelled. If its `onCancel` node has not ended, somebody gave it up, and the history says so. */
export function noteCancelled(draft: Draft, request: CancelRequest): void {
  const { cancel, frame, waits } = draft.root;
  const isUnfinished = cancel !== undefined && nodeRecord(frame, { id: cancel.node })?.fired === undefined;
  const { by, detail } = requestedBy(cancel === undefined || isUnfinished ? request : {});
  const recorded = { ...(detail as object | undefined), ...(isUnfinished && { gaveUp: cancel.node }) };
  draft.setStatus('cancelled');
  draft.note({
    kind: 'end',
    status: 'cancelled',
    ...(by !== undefined && { by }),
    ...(Object.keys(recorded).length > 0 && { detail: recorded }),
  });
  if (draft.root.failures !== undefined && cancel !== undefined) draft.delete(['failures']);
  for (const waitId of Object.keys(waits)) draft.closeWaitRow(waitId);
}
