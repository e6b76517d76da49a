/** Cancels an activation whose result is no longer needed (G3 `cancelRest`, E7). */
import { CairnError } from '../../errors.ts';
import type { GraphNode } from '../../graph/graph.ts';
import type { QueuedStart } from '../run/agenda.ts';
import { Activation, type FrameRun } from '../run/frame-run.ts';
import { stopChildren } from './open-effects.ts';
import type { PlanStep } from '../plan/plan-step.ts';
import type { RunCore } from '../run/run-core.ts';

/**
 * Carries out a plan's step: records new rounds, queues what may start, and cancels what is no longer needed. In a cancelled child run,
 * everything that would start is cancelled.
 */
export function startPlanned(core: RunCore, frameRun: FrameRun, { start, loops, epoch, cancel }: PlanStep): void {
  const { frame } = frameRun;
  if (epoch !== undefined) frame.setField('epoch', [], epoch, String(epoch));
  for (const { id, record } of loops) {
    if (record === undefined) frame.deleteField('loops', [id]);
    else frame.setField('loops', [id], record, JSON.stringify(record));
  }
  for (const due of start) core.agenda.queue.push({ frameRun, start: due });
  for (const index of frameRun.isCancelled ? start.map(({ node }) => node) : cancel)
    cancelActivation(core, frameRun, index);
}

/**
 * Queues what may start in a frame that is begun or taken up. What had begun in an earlier process comes before all else, since it had a
 * place that nothing else may have now (E1.3).
 */
export function startInitial(core: RunCore, frameRun: FrameRun): void {
  const { queue } = core.agenda;
  const before = queue.length;
  startPlanned(core, frameRun, frameRun.plan.initial());
  const hasBegun = ({ start }: QueuedStart): boolean =>
    frameRun.openRecordOf(frameRun.graph.nodes[start.node] as GraphNode) !== undefined;
  const own = queue.slice(before);
  const begun = own.filter(hasBegun);
  if (begun.length === 0) return;
  queue.splice(before, own.length, ...own.filter((queued) => !hasBegun(queued)));
  queue.unshift(...begun);
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
  activation.phase = 'left';
  frameRun.activations.set(index, activation);
  return activation;
}
