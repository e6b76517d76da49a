/** Computes the cost of a call from the user's table of prices. Without one, no cost is reported. */
import type { ModelUsage } from '../graph/contracts/model-contract.ts';

/** Prices per million tokens, in any currency. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Price of input read from the provider's cache. Default: `input`. */
  readonly cached?: number;
  /** Price of input written to the provider's cache. Default: `input`. */
  readonly cacheWrite?: number;
}

/** Prices by the model's full name, such as `openai:gpt-5-mini`. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

/** The cost of one call; empty if the table has no price for the model. */
export function costOf(prices: ModelPrices, model: string, usage: ModelUsage): { readonly cost?: number } {
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  if (price === undefined) return {};
  const { inputTokens, outputTokens, cachedTokens = 0, cacheWriteTokens = 0 } = usage;
  const { input, output, cached = input, cacheWrite = input } = price;
  const plainTokens = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens);
  const sum = plainTokens * input + cachedTokens * cached + cacheWriteTokens * cacheWrite + outputTokens * output;
  return { cost: sum / 1_000_000 };
}
