/** Models of the AI SDK's providers. Its packages are the user's to install. */
import type * as aiSdk from 'ai';
import type { LanguageModel } from 'ai';
import type { ModelResponse } from '../graph/contracts/model-contract.ts';
import type { ModelRequest, Models } from '../ports/model.ts';
import { answerOf, followStream } from './ai-sdk-answer.ts';
import { modelFailure } from './ai-sdk-failure.ts';
import { choosing, messagesOf, settingsOf } from './ai-sdk-prompt.ts';
import { importPeer, OpenProviders, splitModel } from './ai-sdk-providers.ts';
import type { ModelProfile, ProviderSettings } from './ai-sdk-settings.ts';
import { limitModels, type LimitsByProvider } from './limit/limit-models.ts';
import { checkImages } from './image-limits.ts';
import { costOf, type ModelPrices } from './prices.ts';

export interface AiSdkOptions {
  /** By the name that stands before the colon of a model. A provider without settings gets them from the environment. */
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  /** Models by other names. */
  readonly profiles?: Readonly<Record<string, ModelProfile>>;
  /** What tokens cost, by `provider:model`. Default: no cost is told. */
  readonly prices?: ModelPrices;
  /** What each provider allows this process, by its name; shared by all models of the process, and what was given last holds. Default: no bounds. */
  readonly limits?: LimitsByProvider;
}

type AiSdk = typeof aiSdk;

/**
 * Makes models that are called through the AI SDK (`ai` 7, and a package for each provider, both loaded at the first call).
 * Calls throw CairnError CONFIG_MISSING_PEER, CONFIG_INVALID, and what the port says.
 */
export function createAiSdkModels({
  providers = {},
  profiles = {},
  prices = {},
  limits = {},
}: AiSdkOptions = {}): Models {
  const opened = new OpenProviders(providers);
  const modelOf = async (id: string): Promise<LanguageModel> => {
    const [name, model] = splitModel(id, Object.keys(profiles));
    return (await opened.open(name))(model);
  };
  const profileOf = (name: string): ModelProfile =>
    (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? { model: name };
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
  };
}

async function call(sdk: AiSdk, model: LanguageModel, request: ModelRequest): Promise<ModelResponse> {
  const { messages, signal, onDelta, idempotencyKey } = request;
  const options = {
    model: choosing(sdk, model, request),
    messages: messagesOf(messages),
    allowSystemInMessages: true,
    abortSignal: signal,
    // Who calls decides about retries, since each is paid for.
    maxRetries: 0,
    // Addresses in a prompt are the provider's to fetch: this process may see more of the network than the provider does.
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
