/** Finds effects in a visit's record that were started and have no result: those of its steps and of its child runs (X3). */
import type { FrameTree, Intent, NodeRecord } from '../../state/tree.ts';

/** An effect that was started and has no result. */
export interface DoubtedEffect {
  readonly node: readonly string[];
  readonly step?: string;
  readonly effect: string;
  readonly intent: Intent;
}

/** The open effects among the steps and child runs of a visit that nobody has judged yet. */
export function* openEffectsOf(record: NodeRecord, path: readonly string[]): Generator<DoubtedEffect> {
  for (const [step, { status, intent, decision, effect = 'write' }] of Object.entries(record.steps ?? {})) {
    if (status === 'started' && intent !== undefined && decision === undefined)
      yield { node: path, step, effect, intent };
  }
  for (const [name, child] of Object.entries(record.children ?? {})) yield* openInFrame(child, [...path, name]);
}

function* openInFrame({ nodes }: FrameTree, path: readonly string[]): Generator<DoubtedEffect> {
  for (const [id, record] of Object.entries(nodes)) {
    if (record.fired !== undefined) continue;
    const { status, intent, decision } = record;
    const node = [...path, id];
    // A failed node has a result: whoever started the child run was told about it.
    if (status !== 'failed' && intent !== undefined && decision === undefined) yield { node, effect: 'write', intent };
    yield* openEffectsOf(record, node);
  }
}
