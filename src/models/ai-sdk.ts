/** Models of the AI SDK's providers. Its packages are the user's to install. */
import type * as aiSdk from 'ai';
import type { LanguageModel } from 'ai';
import type { ModelRequest, ModelResponse, Models } from '../ports/model.ts';
import { modelFailure } from './ai-sdk-failure.ts';
import { importPeer, openProvider, splitModel } from './ai-sdk-providers.ts';
import type { ModelProfile, ProviderSettings } from './ai-sdk-settings.ts';

export interface AiSdkOptions {
  /** By the name that stands before the colon of a model. A provider without settings gets them from the environment. */
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  /** Models by other names. */
  readonly profiles?: Readonly<Record<string, ModelProfile>>;
}

type AiSdk = typeof aiSdk;

/**
 * Makes models that are called through the AI SDK (`ai` 7, and a package for each provider, both loaded at the first call).
 * Calls throw CairnError CONFIG_MISSING_PEER, CONFIG_INVALID, and what the port says.
 */
export function createAiSdkModels({ providers = {}, profiles = {} }: AiSdkOptions = {}): Models {
  const opened = new Map<string, ReturnType<typeof openProvider>>();
  const modelOf = async (id: string): Promise<LanguageModel> => {
    const [name, model] = splitModel(id, Object.keys(profiles));
    const provider = opened.get(name) ?? openProvider(name, providers[name] ?? {});
    opened.set(name, provider);
    return (await provider)(model);
  };
  const secrets = Object.values(providers).flatMap(({ apiKey }) => apiKey ?? []);
  return {
    async generate(request) {
      const profile = Object.hasOwn(profiles, request.model) ? profiles[request.model] : undefined;
      const id = profile?.model ?? request.model;
      try {
        const sdk = (await importPeer('ai')) as AiSdk;
        return await call(sdk, await modelOf(id), { ...profile, ...request, model: id });
      } catch (error) {
        request.signal.throwIfAborted();
        throw modelFailure(error, id, secrets);
      }
    },
  };
}

async function call(sdk: AiSdk, model: LanguageModel, request: ModelRequest): Promise<ModelResponse> {
  const { messages, temperature, tokensMax, schema, signal, onText, idempotencyKey } = request;
  const options = {
    model,
    messages: [...messages],
    allowSystemInMessages: true,
    abortSignal: signal,
    // Who calls decides about retries, since each is paid for.
    maxRetries: 0,
    headers: { 'Idempotency-Key': idempotencyKey },
    ...(temperature !== undefined && { temperature }),
    ...(tokensMax !== undefined && { maxOutputTokens: tokensMax }),
    // The provider is asked for JSON; what comes is handed on as text, whether it fits or not.
    ...(schema !== undefined && {
      output: {
        ...sdk.Output.text(),
        responseFormat: Promise.resolve({ type: 'json' as const, schema: { ...schema }, name: 'answer' }),
      },
    }),
  };
  if (onText === undefined) {
    const { text, finishReason, usage, response } = await sdk.generateText(options);
    return answerOf(text, finishReason, usage, response.modelId);
  }
  let failure: unknown;
  const stream = sdk.streamText({ ...options, onError: ({ error }) => void (failure ??= error) });
  for await (const piece of stream.textStream) onText(piece);
  if (failure !== undefined) throw failure;
  const response = await stream.response;
  return answerOf(await stream.text, await stream.finishReason, await stream.usage, response.modelId);
}

interface Usage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

function answerOf(text: string, finishReason: string, usage: Usage, model: string): ModelResponse {
  const { inputTokens = 0, outputTokens = 0 } = usage;
  return { text, model, finishReason, usage: { inputTokens, outputTokens } };
}
