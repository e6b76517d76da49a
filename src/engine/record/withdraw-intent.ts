/** An effect that was announced and never began is not in doubt because of that: its intent is taken back (E3). */
import type { NodeRecord } from '../../state/tree.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { visitOf, type VisitPart } from './visit-part.ts';

/** What a record says of an effect that began before and may have happened; undefined: there was none. */
export function doubtOf(record: NodeRecord | undefined): Activation['doubtBefore'] {
  if (record?.intent === undefined) return undefined;
  const { intent, decision, applied } = record;
  return {
    intent,
    ...(decision === undefined ? {} : { decision }),
    ...(applied === undefined ? {} : { applied }),
  };
}

/** Takes the intent of an activation back, if it has one. An earlier attempt that may have happened is in doubt as it was before (X3). */
export function withdrawIntent(core: RunCore, activation: Activation): void {
  const { node, frameRun, doubtBefore, path } = activation;
  const record = frameRun.openRecordOf(node);
  if (record?.intent === undefined || core.committer.broken !== undefined) return;
  const { intent: _, ...withdrawn } = record;
  const restored: NodeRecord = { ...withdrawn, ...doubtBefore };
  frameRun.frame.setNode(node.id, restored, encodeValue(restored));
  noteWithdrawal(core, { node: path, effect: node.effect, ...visitOf(activation) }, doubtBefore?.intent !== undefined);
}

/** Writes that what was announced did not begin, and that an earlier attempt of it is still open, if one is. */
export function noteWithdrawal(
  core: RunCore,
  place: VisitPart & { readonly node: readonly string[]; readonly step?: string; readonly effect: string },
  isStillOpen: boolean,
): void {
  const { effect: _, ...where } = place;
  core.committer.note(JSON.stringify({ kind: 'withdraw', ...where }));
  if (isStillOpen) core.committer.note(JSON.stringify({ kind: 'intent', ...place }));
  core.mustCommit = true;
}
