/** Bounds of an answer's tokens: whether an answer that was cut off may come whole when it is asked for anew. */
import type { FinishReason } from '../../graph/contracts/model-contract.ts';

/**
 * Whether the answer was cut off under a bound that is not the one of today, nor a higher one. Undefined: the provider decides.
 * @param before - the bound that it was given under
 */
export function mayComeWhole(
  finishReason: FinishReason | 'interrupted',
  before: number | undefined,
  now: number | undefined,
): boolean {
  if (finishReason !== 'length') return false;
  return before === undefined || now === undefined ? before !== now : now > before;
}
