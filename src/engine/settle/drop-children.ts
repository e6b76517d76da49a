/** Stops the child runs of an attempt that is over: they are part of it (W6). What they recorded stays with an activation that is tried again. */
import { CairnError } from '../../errors.ts';
import type { Activation, FrameRun } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** Stops whatever still runs below an activation. An effect among it keeps its intent: it is in doubt if the activation is tried again. */
export function dropChildren(core: RunCore, activation: Activation): void {
  if (core.agenda.childFrames.size === 0) return;
  const { path } = activation;
  for (const frameRun of core.agenda.childFrames) {
    if (!path.every((part, index) => frameRun.nodePath[index] === part)) continue;
    core.agenda.childFrames.delete(frameRun);
    frameRun.onEnd = undefined;
    // What is queued of it does not start any more.
    frameRun.hasFailed = true;
    dropActivations(core, frameRun);
  }
}

/** Forgets the activations of a child frame that has ended or goes no further. */
export function dropActivations(core: RunCore, frameRun: FrameRun): void {
  for (const activation of frameRun.activations.values()) {
    activation.abort(new CairnError('NODE_CANCELLED', { node: activation.path.join('/') }));
    core.agenda.forget(activation);
  }
}
