/** What sets `write` and `external` apart from the other effect classes. */
import type { Intent, NodeRecord } from '../../state/tree.ts';

/** A node whose effect the world can see: it starts only when its intent is durable. */
export function isEffect(node: { readonly effect: string }): boolean {
  return node.effect === 'write' || node.effect === 'external';
}

/** What a failure says of its effect: `no`, it certainly did not happen; `ended`, it came to an end and failed; undefined: nothing is known. */
export function appliedOf(error: unknown): 'no' | 'ended' | undefined {
  const applied = (error as { applied?: unknown } | undefined)?.applied;
  return applied === 'no' || applied === 'ended' ? applied : undefined;
}

/**
 * What a next attempt keeps of an intent: all of it if the failed one may have happened; else the key it was begun under, if that is the
 * key of an original (X1.2).
 */
export function keptIntent(
  intent: Intent | undefined,
  ownKey: string,
  mayHaveHappened: boolean,
): Pick<NodeRecord, 'intent' | 'applied'> {
  if (intent === undefined || (!mayHaveHappened && intent.key === ownKey)) return {};
  return mayHaveHappened ? { intent } : { intent: { ...intent, deadlineAt: 0 }, applied: 'no' };
}
