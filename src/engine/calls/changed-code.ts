/** What a function may begin that is repeated under other code than that which made its calls on record (X4.18). */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { noteCaughtUp, uncalledEffects } from '../visit-records/continued-visits.ts';
import { nameOfStepKey } from '../visit-records/call-keys.ts';
import type { Activation } from '../live-run/loop.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';

/**
 * Call before a new effect begins. Waits until the function has called the effects on record: parts of it that go on side by side may come
 * to them yet.
 * @param key - of the call that would begin the effect
 * @throws STEPS_CHANGED it has come as far as it can without
 */
export async function afterRecorded(core: RunCore, activation: Activation, key: string): Promise<void> {
  const { generation } = activation;
  for (;;) {
    const uncalled = uncalledEffects(activation);
    if (uncalled.length === 0) return noteCaughtUp(core, activation);
    const isMoving = await activation.heldUntilOthers(core.env.clock);
    if (activation.generation !== generation) return;
    if (isMoving) continue;
    const recorded = uncalled.map(nameOfStepKey);
    const error = new CairnError('STEPS_CHANGED', {
      node: activation.path.join('/'),
      step: nameOfStepKey(key),
      recorded,
    });
    // The function may catch what its call throws.
    activation.failure ??= { error };
    throw error;
  }
}

/** Whether a node of the graph is an effect by itself. Steps of its other nodes are looked at when they are called. */
export function hasEffectNodes({ nodes }: Graph): boolean {
  return nodes.some((node) => isEffect(node) || (node.subgraph !== undefined && hasEffectNodes(node.subgraph)));
}
