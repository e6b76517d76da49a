/** What distinguishes the effect classes `write` and `external` from the others. */
import type { Intent, NodeRecord } from '../../state/tree.ts';

/** Whether a node has an effect on the outside. It starts only when its intent is durable. */
export function isEffect(node: { readonly effect: string }): boolean {
  return node.effect === 'write' || node.effect === 'external';
}

/**
 * What a failure says about its effect. `no`: it certainly did not happen. `ended`: it ended by itself and failed. Undefined: nothing is
 * known.
 */
export function appliedOf(error: unknown): 'no' | 'ended' | undefined {
  const applied = (error as { applied?: unknown } | undefined)?.applied;
  return applied === 'no' || applied === 'ended' ? applied : undefined;
}

/** The intent of an attempt that has ended, as its record says: nobody needs to wait until it cannot be running any more (O2.5). */
export function endedIntent(intent: Intent): Intent {
  return { ...intent, deadlineAt: 0 };
}

/**
 * What the next attempt keeps of an intent. If the failed attempt may have happened: all of it. Otherwise only a key that comes from a
 * fork's original (X1.2).
 */
export function keptIntent(
  intent: Intent | undefined,
  ownKey: string,
  mayHaveHappened: boolean,
): Pick<NodeRecord, 'intent' | 'applied'> {
  if (intent === undefined || (!mayHaveHappened && intent.key === ownKey)) return {};
  const ended = { intent: endedIntent(intent) };
  return mayHaveHappened ? ended : { ...ended, applied: 'no' };
}
