/** Cancels a child run through its handle: its open work is cancelled, and nothing more of it runs (W6). */
import { encodeValue } from '../../state/values/codec.ts';
import type { FrameRun } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { cancelActivation } from './cancel.ts';

/** Cancels. A child that has ended stays as it ended. */
export function cancelChild(core: RunCore, frameRun: FrameRun, reason: string): void {
  if (frameRun.plan.isDone || frameRun.hasFailed || frameRun.isCancelled) return;
  frameRun.frame.setField('cancelled', [], reason, encodeValue(reason));
  core.draft.mustCommit = true;
  for (const { node } of frameRun.plan.initial().start) cancelActivation(core, frameRun, node);
}
