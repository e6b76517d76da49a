/** The models of a configuration. The code that calls them is loaded at the first call. */
import type { LimitsByProvider, ModelPrices, ModelProfile } from '../../models/index.ts';
import { withProvider } from '../../models/model-families.ts';
import { costOf } from '../../models/prices.ts';
import type { Models } from '../../ports/model.ts';
import { isModels, type ModelNames } from './config.ts';

/** @param given - a source of models, or aliases of models of the AI SDK, where any `provider:model` can be used too */
export function openModels(
  given: Models | ModelNames = {},
  prices: ModelPrices = {},
  limits: LimitsByProvider = {},
): Models {
  if (isModels(given)) return given;
  const profiles = profilesOf(given);
  let opened: Promise<Models> | undefined;
  const open = async (): Promise<Models> => {
    const { createAiSdkModels } = await import('../../models/index.ts');
    return createAiSdkModels({ profiles, prices, limits });
  };
  return {
    generate: async (request) => (await (opened ??= open())).generate(request),
    costOf: (model, usage) => costOf(prices, withProvider(profiles[model]?.model ?? model), usage).cost,
    tokensMaxOf: (model) => (Object.hasOwn(profiles, model) ? profiles[model]?.tokensMax : undefined),
  };
}

function profilesOf(models: ModelNames): Readonly<Record<string, ModelProfile>> {
  return Object.fromEntries(
    Object.entries(models).map(([name, model]) => [name, typeof model === 'string' ? { model } : model]),
  );
}
