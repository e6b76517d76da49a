/** Cancels an activation whose result is no longer needed (G3 `cancelRest`, E7). */
import { CairnError } from '../../errors.ts';
import type { GraphNode } from '../../graph/graph.ts';
import { Activation, type FrameRun } from '../run/frame-run.ts';
import { stopChildren } from './open-effects.ts';
import type { RunCore } from '../run/run-core.ts';

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
