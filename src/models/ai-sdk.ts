/** Models of the AI SDK's providers. The user installs the packages. */
import type * as aiSdk from 'ai';
import type { LanguageModel } from 'ai';
import type { ModelResponse } from '../graph/contracts/model-contract.ts';
import type { ModelRequest, Models } from '../ports/model.ts';
import { answerOf, followStream } from './ai-sdk-answer.ts';
import { modelFailure } from './ai-sdk-failure.ts';
import { choosing, messagesOf, settingsOf } from './ai-sdk-prompt.ts';
import { importPeer, OpenProviders, splitModel } from './ai-sdk-providers.ts';
import type { ModelProfile, ProviderSettings } from './ai-sdk-settings.ts';
import { withProvider } from './model-families.ts';
import { limitModels, type LimitsByProvider } from './limit/limit-models.ts';
import { checkImages } from './image-limits.ts';
import { costOf, type ModelPrice, type ModelPrices } from './prices.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

export interface AiSdkOptions {
  /**
   * Settings by provider, which is the part of a model's name before the colon. A provider without settings is configured from the
   * environment.
   */
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  /** Aliases of models. */
  readonly profiles?: Readonly<Record<string, ModelProfile>>;
  /** Prices of tokens by `provider:model`. Default: costs are not reported. */
  readonly prices?: ModelPrices;
  /** Rate limits by provider. They are shared by all models of the process; the limits set last apply. Default: no limits. */
  readonly limits?: LimitsByProvider;
}

const optionNames = Object.keys({ providers: true, profiles: true, prices: true, limits: true } satisfies Record<
  keyof AiSdkOptions,
  true
>);

const profileNames = Object.keys({ model: true, temperature: true, tokensMax: true } satisfies Record<
  keyof ModelProfile,
  true
>);

const priceNames = Object.keys({ input: true, output: true, cached: true, cacheWrite: true } satisfies Record<
  keyof ModelPrice,
  true
>);

type AiSdk = typeof aiSdk;

/**
 * Makes models that are called through the AI SDK. It needs the package `ai` (version 7) and one package for each provider, which are
 * loaded at the first call. Calls throw CairnError CONFIG_MISSING_PEER, CONFIG_INVALID, and the errors of the model port.
 */
export function createAiSdkModels(options: AiSdkOptions = {}): Models {
  refuseUnknownKeys('createAiSdkModels', options, optionNames);
  const { providers = {}, profiles = {}, prices = {}, limits = {} } = options;
  for (const [name, profile] of Object.entries(profiles))
    refuseUnknownKeys(`the profile ${name}`, profile, profileNames);
  for (const [name, price] of Object.entries(prices)) refuseUnknownKeys(`the price of ${name}`, price, priceNames);
  const opened = new OpenProviders(providers);
  const modelOf = async (id: string): Promise<LanguageModel> => {
    const [name, model] = splitModel(id, Object.keys(profiles));
    return (await opened.open(name))(model);
  };
  const profileOf = (name: string): ModelProfile => {
    const profile = (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? { model: name };
    return { ...profile, model: withProvider(profile.model) };
  };
  const called: Models = {
    async generate(request) {
      const id = request.model;
      try {
        const [provider] = splitModel(id, Object.keys(profiles));
        checkImages(request.messages, provider, providers[provider]?.imageBytesMax);
        const sdk = (await importPeer('ai')) as AiSdk;
        const response = await call(sdk, await modelOf(id), request);
        return { ...response, ...costOf(prices, id, response.usage) };
      } catch (error) {
        request.signal.throwIfAborted();
        throw modelFailure(error, id, opened.keys);
      }
    },
  };
  const limited = limitModels(called, limits);
  return {
    generate: (request) => {
      const profile = profileOf(request.model);
      return limited.generate({ ...profile, ...request, model: profile.model });
    },
    costOf: (model, usage) => costOf(prices, profileOf(model).model, usage).cost,
    tokensMaxOf: (model) => profileOf(model).tokensMax,
  };
}

async function call(sdk: AiSdk, model: LanguageModel, request: ModelRequest): Promise<ModelResponse> {
  const { messages, signal, onDelta, idempotencyKey } = request;
  const options = {
    model: choosing(sdk, model, request),
    messages: messagesOf(messages),
    allowSystemInMessages: true,
    abortSignal: signal,
    // Retries are left to the caller, because each one costs money.
    maxRetries: 0,
    // URLs in a prompt are fetched by the provider, not here: this process may reach more of the network than the provider can.
    experimental_download: (wanted: readonly unknown[]) => Promise.resolve(wanted.map(() => null)),
    headers: { 'Idempotency-Key': idempotencyKey },
    ...settingsOf(sdk, request),
  };
  if (onDelta === undefined) return answerOf(await sdk.generateText(options));
  let failure: unknown;
  const result = sdk.streamText({ ...options, onError: ({ error }) => void (failure ??= error) });
  await followStream(result.stream, onDelta);
  if (failure !== undefined) throw failure;
  const [content, finishReason, usage, warnings, response, providerMetadata] = await Promise.all([
    result.content,
    result.finishReason,
    result.usage,
    result.warnings,
    result.response,
    result.providerMetadata,
  ]);
  return answerOf({ content, finishReason, usage, warnings, response, providerMetadata });
}
