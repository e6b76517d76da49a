/** The most that a model call can spend, as far as that is known before it is made. That much is reserved in the budgets (Q4.2). */
import type { Amounts } from '../../graph/amounts.ts';
import type { ModelAccess } from '../../graph/contracts/model-contract.ts';
import type { ModelSettings } from './model-step.ts';

/** @param inputTokens - estimated tokens of the request */
export function boundsOf(
  models: ModelAccess,
  { model, tokensMax }: ModelSettings,
  inputTokens: number,
  { fallbacks = [], timeoutMs }: { readonly fallbacks?: readonly string[]; readonly timeoutMs?: number },
): Amounts {
  const input = Math.max(0, Math.ceil(inputTokens));
  const seconds = timeoutMs === undefined ? {} : { seconds: timeoutMs / 1_000 };
  // Without a limit on the answer's tokens, output and cost are unknown.
  if (tokensMax === undefined) return { inputTokens: input, ...seconds };
  const usage = { inputTokens: input, outputTokens: tokensMax };
  const costs = [model, ...fallbacks].map((name) => models.costOf?.(name, usage) ?? 0);
  const cost = Math.max(...costs);
  return { ...usage, tokens: input + tokensMax, ...(cost > 0 && { cost }), ...seconds };
}
