/** Which effects a visit's record shows as begun and without a result: its steps', and those of its child runs (X3). */
import type { FrameTree, Intent, NodeRecord } from '../../state/tree.ts';

/** An effect that began and has no result. */
export interface DoubtedEffect {
  readonly node: readonly string[];
  readonly step?: string;
  readonly effect: string;
  readonly intent: Intent;
}

/** What is open among the steps and child runs of a visit, and nobody has judged yet. */
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
    // One that failed has a result: whoever started the child run was told of it.
    if (status !== 'failed' && intent !== undefined && decision === undefined) yield { node, effect: 'write', intent };
    yield* openEffectsOf(record, node);
  }
}
