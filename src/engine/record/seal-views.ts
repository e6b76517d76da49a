/**
 * Makes sure that an activation sees the state of a checkpoint (E9): changes made after it started must not become part of that checkpoint.
 */
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** Remembers an activation whose seen state is not in a checkpoint yet. */
export function noteView(core: RunCore, activation: Activation): void {
  if (activation.viewSeq > core.committer.seq) core.draft.unsealed.add(activation);
}

/** Before the state changes, makes a checkpoint of it if some activation may need to see it again. */
export function sealViews(core: RunCore, settling: Activation): void {
  let isSeen = false;
  for (const other of core.draft.unsealed) {
    if (other.isOver || other.viewSeq <= core.committer.seq) core.draft.unsealed.delete(other);
    else if (other !== settling && other.frameRun === settling.frameRun) isSeen = true;
  }
  if (isSeen) core.loop.seal();
}
