/** What a call cost, by a table of prices that the user gives. Without one, no cost is told. */
import type { ModelUsage } from '../graph/contracts/model-contract.ts';

/** Prices of a million tokens, in whatever currency the table is kept. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Of input read from the provider's cache. Default: as `input`. */
  readonly cached?: number;
  /** Of input written into the provider's cache. Default: as `input`. */
  readonly cacheWrite?: number;
}

/** By the name of the model as it is called: `openai:gpt-5-mini`. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

/** The cost of one call, or nothing where the table has no price for the model. */
export function costOf(prices: ModelPrices, model: string, usage: ModelUsage): { readonly cost?: number } {
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined;
  if (price === undefined) return {};
  const { inputTokens, outputTokens, cachedTokens = 0, cacheWriteTokens = 0 } = usage;
  const { input, output, cached = input, cacheWrite = input } = price;
  const plainTokens = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens);
  const sum = plainTokens * input + cachedTokens * cached + cacheWriteTokens * cacheWrite + outputTokens * output;
  return { cost: sum / 1_000_000 };
}
