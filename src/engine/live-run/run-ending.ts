/** Decides how a run stands when there is nothing left to do here (G10, W4). */
import { CairnError, reasonOf } from '../../errors.ts';
import type { RunFailure } from '../../graph/contracts/node-contract.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { isAnswerable } from '../../history/stored/wait-row.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import { followUpOf, nodeRecord, type RunStatus, type RunTree, type WaitRecord } from '../../state/tree.ts';
import type { CancelOptions } from '../api.ts';
import type { Draft } from './draft.ts';
import type { RunCore } from './run-core.ts';

/**
 * The status with which the run ends or pauses; undefined while something is to be done. @throws INTERNAL nothing is, but the run has
 * not ended
 */
export function endingOf(core: RunCore): RunStatus | undefined {
  const { failures, cancel } = core.root;
  if (core.rootFrame.plan.isDone && failures === undefined) {
    if (cancel !== undefined) return 'cancelled';
    return followUpOf(core.root) === undefined ? 'completed' : 'failed';
  }
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
  const waits = Object.entries(core.root.waits).filter(
    ([waitId, { node }]) => waitId !== timeLimitWait && !Object.hasOwn(failedNodes, node[0] ?? ''),
  );
  if (waits.length > 0) return isTimeNear(core, waits) || core.virtual?.passes() === true ? undefined : 'paused';
  if (failures !== undefined) return 'failed';
  throw new CairnError('INTERNAL', { reason: 'nothing is ready, running or waiting, and the run has not ended' });
}

/** Whether the run has a failure after which nothing more starts. After one of a node with `fail-last` all else goes on (G8). */
export function isFailing({ failures, frame: { failedNodes = {} } }: RunTree): boolean {
  return failures !== undefined && Object.keys(failures).some((node) => !Object.hasOwn(failedNodes, node));
}

/** Whether a due time is so near that this process stays for it: less near if a person can be asked meanwhile (W4.1). */
function isTimeNear(core: RunCore, waits: readonly (readonly [waitId: string, WaitRecord])[]): boolean {
  const { env, agenda, isLeaving } = core;
  if (isLeaving) return false;
  const { holdTimersMs, holdQuestionsMs } = env.bounds;
  const nearMs = waits.some(([, wait]) => isAnswerable(wait)) ? Math.min(holdQuestionsMs, holdTimersMs) : holdTimersMs;
  const now = env.clock.monotonic();
  return waits.some(([waitId]) => (agenda.armedWaits.get(waitId) ?? Infinity) - now <= nearMs);
}

/** Id of the wait that lets a paused run be taken up when its time is over. */
export const timeLimitWait = 'time-limit';

/** What a cancel request says. */
export type CancelRequest = Pick<CancelOptions, 'reason' | 'by' | 'door' | 'as' | 'force'>;

/** The parts of a change that a cancel request fills. */
function requestedBy(request: CancelRequest): Pick<ChangePart, 'by' | 'door' | 'as' | 'detail'> {
  const { reason, force: _, ...who } = request;
  return { ...who, ...(reason !== undefined && { detail: { reason } }) };
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

/**
 * Notes that a run fails, has stopped what it did, and that its `onRunFailure` node comes next (E7.5). Why it fails and what it waited for is
 * put aside until that has ended.
 */
export function noteFailing(draft: Draft, node: string, at: number): void {
  const { waits, failures = {}, failing } = draft.root;
  if (draft.root.status !== 'running') draft.setStatus('running');
  draft.note({ kind: 'fail', detail: { next: node } });
  draft.set(['failing'], {
    node,
    visit: (failing?.visit ?? 0) + 1,
    at,
    failures: { ...failures },
    waits: { ...waits },
  });
  for (const waitId of Object.keys(waits)) draft.closeWait(waitId);
  draft.delete(['failures']);
}

/** Why a run fails, for what follows that; undefined if nothing does now. */
export function runFailureOf({ failing, cancel }: RunTree): RunFailure | undefined {
  if (failing === undefined || failing.isOver === true || cancel !== undefined) return undefined;
  const [node = '', error] = Object.entries(failing.failures)[0] ?? [];
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return {
    code: typeof code === 'string' ? code : 'NODE_FAILED',
    message: typeof message === 'string' ? message : reasonOf(error),
    ...(node !== '' && { node }),
    errors: failing.failures,
  };
}

/** Puts back why a run fails and what it waited for, since what followed its failure has ended. */
export function putFailureBack(draft: Draft): void {
  const { failing, failures = {}, cancel } = draft.root;
  if (failing === undefined || failing.isOver === true || cancel !== undefined) return;
  draft.set(['failures'], { ...failing.failures, ...failures });
  for (const [waitId, wait] of Object.entries(failing.waits)) draft.set(['waits', waitId], wait);
}

/** Forgets what followed the failure of a run, since the run goes its way again: all but how often it did. */
export function forgetFollowUp(writer: TreeWriter, closeWait: (waitId: string) => void): void {
  const { failing, waits } = writer.root;
  if (failing === undefined || failing.isOver === true) return;
  const { node, visit, at } = failing;
  for (const [waitId, { node: asking }] of Object.entries(waits)) if (asking[0] === node) closeWait(waitId);
  writer.delete(['frame', 'nodes', node]);
  writer.set(['failing'], { node, visit, at, failures: {}, waits: {}, isOver: true });
}

/** Notes that a run is cancelled. If its `onCancel` node has not ended, somebody gave it up, and the history says so. */
export function noteCancelled(draft: Draft, request: CancelRequest): void {
  const { cancel, frame, waits } = draft.root;
  const isUnfinished = cancel !== undefined && nodeRecord(frame, { id: cancel.node })?.fired === undefined;
  const { detail, ...who } = requestedBy(cancel === undefined || isUnfinished ? request : {});
  const recorded = { ...(detail as object | undefined), ...(isUnfinished && { gaveUp: cancel.node }) };
  draft.setStatus('cancelled');
  draft.note({
    kind: 'end',
    status: 'cancelled',
    ...who,
    ...(Object.keys(recorded).length > 0 && { detail: recorded }),
  });
  if (draft.root.failures !== undefined && cancel !== undefined) draft.delete(['failures']);
  for (const waitId of Object.keys(waits)) draft.closeWaitRow(waitId);
}
