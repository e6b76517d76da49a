/**
 * Stops the child runs of an attempt that is over, since they are part of it (W6). If the activation is retried, it keeps what they
 * recorded.
 */
import { CairnError } from '../../errors.ts';
import type { Activation, FrameRun } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** Stops everything that runs below an activation. An effect keeps its intent, so it is in doubt if the activation is retried. */
export function dropChildren(core: RunCore, activation: Activation): void {
  if (core.agenda.childFrames.size === 0) return;
  const { path } = activation;
  for (const frameRun of core.agenda.childFrames) {
    if (!path.every((part, index) => frameRun.nodePath[index] === part)) continue;
    core.agenda.childFrames.delete(frameRun);
    frameRun.onEnd = undefined;
    // Prevents anything queued of it from starting.
    frameRun.hasFailed = true;
    dropActivations(core, frameRun);
  }
}

/** Forgets the activations of a child frame that has ended or will not go on. */
export function dropActivations(core: RunCore, frameRun: FrameRun): void {
  for (const activation of frameRun.activations.values()) {
    activation.abort(new CairnError('NODE_CANCELLED', { node: activation.path.join('/') }));
    core.agenda.forget(activation);
  }
}
