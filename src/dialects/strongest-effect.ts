/** The strongest of several effect classes: what a workflow as a whole may do. Asking a person is no effect. */
import type { EffectClass } from '../graph/contracts/node-contract.ts';

const byStrength: readonly EffectClass[] = ['pure', 'read', 'write', 'external'];

export function strongestEffect(effects: readonly EffectClass[]): EffectClass {
  return byStrength.findLast((effect) => effects.includes(effect)) ?? 'pure';
}
