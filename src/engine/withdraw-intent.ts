/** An effect that was announced and never began is not in doubt: its intent is taken back (E3). */
import type { Activation } from './activation.ts';
import type { RunCore } from './run-core.ts';

/** Takes the intent of an activation back, if it has one. */
export function withdrawIntent(core: RunCore, activation: Activation): void {
  const { node, frameRun } = activation;
  const record = frameRun.openRecordOf(node);
  if (record?.intent === undefined || core.committer.broken !== undefined) return;
  const { intent: _, ...withdrawn } = record;
  frameRun.frame.setNode(node.id, withdrawn, JSON.stringify(withdrawn));
  core.committer.note(`{"kind":"withdraw","node":${JSON.stringify(activation.path)}}`);
  core.mustCommit = true;
}
