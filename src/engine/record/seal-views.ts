/** An activation sees the state as of a checkpoint (E9): what happens after it started must not join that checkpoint. */
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** Keeps in mind that what an activation sees is not part of a checkpoint yet. */
export function noteView(core: RunCore, activation: Activation): void {
  if (activation.viewSeq > core.committer.seq) core.draft.unsealed.add(activation);
}

/** Before the state changes: makes the checkpoint that others see who may have to see it again. */
export function sealViews(core: RunCore, settling: Activation): void {
  let isSeen = false;
  for (const other of core.draft.unsealed) {
    if (other.isOver || other.viewSeq <= core.committer.seq) core.draft.unsealed.delete(other);
    else if (other !== settling && other.frameRun === settling.frameRun) isSeen = true;
  }
  if (isSeen) core.loop.seal();
}
