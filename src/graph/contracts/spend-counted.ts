/** Units that calls spend only where they are counted: tokens, read and written together, and seconds (Q7.1, A13). */
import type { ModelUsage } from './model-messages.ts';
import type { NodeContext } from './node-contract.ts';

/** What spends: a step, or the attempt of a node. */
type Spender = Pick<NodeContext, 'spend'>;

/** Whether a unit is spent: a budget around the node names it, or it is one of those that are counted in any case. */
function countsUnit(ctx: Pick<NodeContext, 'isBudgeted'>, unit: string, counted: readonly string[] = []): boolean {
  return counted.includes(unit) || ctx.isBudgeted?.(unit) === true;
}

/** Spends the tokens of a call of a model where they are counted. @param counted - units that are counted in any case */
export function spendTokens(
  ctx: Pick<NodeContext, 'isBudgeted'>,
  spender: Spender,
  { inputTokens, outputTokens }: ModelUsage,
  counted?: readonly string[],
): void {
  if (countsUnit(ctx, 'tokens', counted)) spender.spend({ tokens: inputTokens + outputTokens });
}

/** Does some work, and spends how long it took, also if it failed, where seconds are counted. @param counted - as above */
export async function spendSeconds<Result>(
  ctx: Pick<NodeContext, 'isBudgeted' | 'now'>,
  spender: Spender,
  work: () => Promise<Result> | Result,
  counted?: readonly string[],
): Promise<Result> {
  const beganAt = ctx.now();
  try {
    return await work();
  } finally {
    if (countsUnit(ctx, 'seconds', counted)) spender.spend({ seconds: (ctx.now() - beganAt) / 1_000 });
  }
}
