/** Models of the AI SDK's providers. The user installs the packages. */
import { reasonOf } from '../errors.ts';
import { importPeer } from '../optional-peers.ts';
import type * as aiSdk from 'ai';
import type { LanguageModel } from 'ai';
import type {
  AssistantPart,
  EmbedResponse,
  ModelDelta,
  ModelResponse,
  ModelUsage,
  ProviderData,
  ModelMessage,
  RerankResponse,
  TranscribeResponse,
  ImageResponse,
} from '../graph/contracts/model-messages.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import type {
  EmbedRequest,
  ImageRequest,
  ModelRequest,
  Models,
  RerankRequest,
  TranscribeRequest,
} from '../ports/model.ts';
import { modelFailure } from './ai-sdk-failure.ts';
import { choosing, messagesOf, settingsOf } from './ai-sdk-prompt.ts';
import {
  OpenProviders,
  splitModel,
  type ModelProfile,
  type Provider,
  type ProviderSettings,
} from './ai-sdk-providers.ts';
import { limitModels, type LimitsByProvider } from './limit/limit-models.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

// Converts answers of the AI SDK to those of the model port. Requests, bodies and headers are not recorded.

type SdkPart = aiSdk.ContentPart<aiSdk.ToolSet>;

/** The fields that results of generateText and finished streams have in common. */
export interface SdkAnswer {
  readonly content: readonly SdkPart[];
  readonly finishReason: aiSdk.FinishReason;
  readonly usage: aiSdk.LanguageModelUsage;
  readonly warnings: readonly aiSdk.CallWarning[] | undefined;
  readonly response: { readonly id: string; readonly modelId: string; readonly timestamp: Date };
  readonly providerMetadata: aiSdk.ProviderMetadata | undefined;
}

/** @throws Error the provider's stream ended before the answer did */
function answerOf({
  content,
  finishReason,
  usage,
  warnings = [],
  response,
  providerMetadata,
}: SdkAnswer): ModelResponse {
  if (finishReason === 'interrupted') throw new Error('the stream ended before the answer did');
  return {
    content: content.flatMap(partOf),
    finishReason: reasons.has(finishReason) ? finishReason : 'other',
    model: response.modelId,
    usage: usageOf(usage),
    ...(warnings.length > 0 && { warnings: warnings.map(warningText) }),
    id: response.id,
    at: response.timestamp.getTime(),
    ...providerOf(providerMetadata),
  };
}

const reasons: ReadonlySet<string> = new Set(['stop', 'length', 'content-filter', 'tool-calls', 'error']);

/** Data of the provider. Empty objects, which providers add where they have nothing to say, are dropped. */
function providerOf(metadata: aiSdk.ProviderMetadata | undefined): { readonly provider?: ProviderData } {
  const entries = Object.entries(metadata ?? {}).filter(([, data]) => Object.keys(data).length > 0);
  return entries.length === 0 ? {} : { provider: Object.fromEntries(entries) };
}

/** Converts one part. Kinds that cannot be sent back in a prompt (sources, approvals) are dropped. */
function partOf(part: SdkPart): readonly AssistantPart[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text, ...providerOf(part.providerMetadata) }];
    case 'file':
      return [
        {
          type: 'file',
          data: part.file.uint8Array,
          mediaType: part.file.mediaType,
          ...providerOf(part.providerMetadata),
        },
      ];
    case 'tool-call':
      return [
        {
          type: 'tool-call',
          id: part.toolCallId,
          tool: part.toolName,
          input: part.input,
          ...(part.invalid === true && { fault: faultOf(part.error) }),
          ...(part.providerExecuted === true && { isProviderExecuted: true }),
          ...providerOf(part.providerMetadata),
        },
      ];
    case 'tool-result':
    case 'tool-error':
      return part.providerExecuted === true ? [resultOf(part)] : [];
    default:
      return [];
  }
}

function resultOf(part: Extract<SdkPart, { type: 'tool-result' | 'tool-error' }>): AssistantPart {
  const isError = part.type === 'tool-error';
  return {
    type: 'tool-result',
    id: part.toolCallId,
    tool: part.toolName,
    output: isError ? faultOf(part.error) : part.output,
    ...(isError && { isError }),
    ...providerOf(part.providerMetadata),
  };
}

function faultOf(error: unknown): string {
  return reasonOf(error);
}

function usageOf({
  inputTokens = 0,
  outputTokens = 0,
  inputTokenDetails,
  outputTokenDetails,
}: aiSdk.LanguageModelUsage): ModelUsage {
  const { cacheReadTokens: cachedTokens = 0, cacheWriteTokens = 0 } = inputTokenDetails;
  const { reasoningTokens = 0 } = outputTokenDetails;
  return {
    inputTokens,
    outputTokens,
    ...(cachedTokens > 0 && { cachedTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...(reasoningTokens > 0 && { reasoningTokens }),
  };
}

function warningText(warning: aiSdk.CallWarning): string {
  if ('message' in warning) return warning.message;
  const { feature, details } = warning as { readonly feature?: string; readonly details?: string };
  return [`${warning.type}: ${feature ?? ''}`, ...(details === undefined ? [] : [details])].join(', ');
}

/** Passes on each piece of a streamed answer. @throws the error of the stream */
async function followStream(
  stream: AsyncIterable<aiSdk.TextStreamPart<aiSdk.ToolSet>>,
  onDelta: (delta: ModelDelta) => void,
): Promise<void> {
  const tools = new Map<string, string>();
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') onDelta({ type: 'text', text: part.text });
    else if (part.type === 'reasoning-delta') onDelta({ type: 'reasoning', text: part.text });
    else if (part.type === 'tool-input-start') {
      tools.set(part.id, part.toolName);
      onDelta({ type: 'tool-arguments', id: part.id, tool: part.toolName, text: '' });
    } else if (part.type === 'tool-input-delta')
      onDelta({ type: 'tool-arguments', id: part.id, tool: tools.get(part.id) ?? '', text: part.delta });
  }
}

// Models whose names tell whose they are.

/** By the beginnings of their names, the providers. */
const families: readonly (readonly [RegExp, string])[] = [
  [/^(?:gpt-|chatgpt-|o\d)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'google'],
];

/** The name with its provider, which may be omitted for models whose names say whose they are. */
export function withProvider(model: string): string {
  const family = model.includes(':') ? undefined : families.find(([names]) => names.test(model));
  return family === undefined ? model : `${family[1]}:${model}`;
}

// Size limits of images. A provider would refuse a larger image only after it was sent, and without saying which image it was.

/** Known limits in bytes for one image, by provider. */
const knownLimits: Readonly<Record<string, number>> = {
  anthropic: 5 * 1024 * 1024,
  google: 20 * 1024 * 1024,
  openai: 50 * 1024 * 1024,
};

/**
 * Checks the images of a request.
 * @param limitBytes - default: the known limit of the provider
 * @throws NodeFailure MODEL_REFUSED, `applied: 'no'`: names the image
 */
function checkImages(
  messages: readonly ModelMessage[],
  provider: string,
  limitBytes: number = (Object.hasOwn(knownLimits, provider) ? knownLimits[provider] : undefined) ?? Infinity,
): void {
  for (const [index, { content }] of messages.entries()) {
    const parts =
      typeof content === 'string' ? [] : content.flatMap((part) => ('parts' in part ? (part.parts ?? []) : part));
    const images = parts.filter(({ type }) => type === 'image');
    for (const [number, part] of images.entries()) {
      if (part.type !== 'image' || !(part.data instanceof Uint8Array) || part.data.length <= limitBytes) continue;
      const name = part.name ?? `image ${number + 1} of message ${index + 1}`;
      throw new NodeFailure(
        `${name} has ${part.data.length} bytes; ${provider} takes images of ${limitBytes} at most`,
        {
          code: 'MODEL_REFUSED',
          applied: 'no',
          data: { name, sizeBytes: part.data.length, limitBytes },
        },
      );
    }
  }
}

// Computes the cost of a call from the user's table of prices. Without one, no cost is reported.

/** Prices per million tokens, in any currency. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Price of each call, for a model that is billed so, in place of tokens or beside them. Default 0. */
  readonly call?: number;
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
  const { input, output, cached = input, cacheWrite = input, call = 0 } = price;
  const plainTokens = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens);
  const sum = plainTokens * input + cachedTokens * cached + cacheWriteTokens * cacheWrite + outputTokens * output;
  return { cost: sum / 1_000_000 + call };
}

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

const priceNames = Object.keys({
  input: true,
  output: true,
  call: true,
  cached: true,
  cacheWrite: true,
} satisfies Record<keyof ModelPrice, true>);

type AiSdk = typeof aiSdk;

/** Models that make vectors, rankings and images, and hear speech, too. */
export type AllModels = Models & Required<Pick<Models, 'embed' | 'rerank' | 'transcribe' | 'generateImages'>>;

/**
 * Makes models that are called through the AI SDK. It needs the package `ai` (version 7) and one package for each provider, which are
 * loaded at the first call. Calls throw CairnError CONFIG_MISSING_PEER, CONFIG_INVALID, and the errors of the model port.
 */
export function createAiSdkModels(options: AiSdkOptions = {}): AllModels {
  refuseUnknownKeys('createAiSdkModels', options, optionNames);
  const { providers = {}, profiles = {}, prices = {}, limits = {} } = options;
  for (const [name, profile] of Object.entries(profiles))
    refuseUnknownKeys(`the profile ${name}`, profile, profileNames);
  for (const [name, price] of Object.entries(prices)) refuseUnknownKeys(`the price of ${name}`, price, priceNames);
  const opened = new OpenProviders(providers);
  const profileOf = (name: string): ModelProfile => {
    const profile = (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? { model: name };
    return { ...profile, model: withProvider(profile.model) };
  };
  /** Makes a call of any kind, with its price. */
  const make = async <Response extends Pick<ModelResponse, 'usage'>>(
    { model: id, signal }: Pick<ModelRequest, 'model' | 'signal'>,
    ask: (sdk: AiSdk, provider: Provider, model: string) => Promise<Response>,
  ): Promise<Response & { readonly cost?: number }> => {
    try {
      const [name, model] = splitModel(id, Object.keys(profiles));
      const sdk = await importPeer<AiSdk>('ai');
      const response = await ask(sdk, await opened.open(name), model);
      return { ...response, ...costOf(prices, id, response.usage) };
    } catch (error) {
      signal.throwIfAborted();
      throw modelFailure(error, id, opened.keys);
    }
  };
  const limited = limitModels(
    {
      generate: async (request) => {
        const [name] = splitModel(request.model, Object.keys(profiles));
        checkImages(request.messages, name, providers[name]?.imageBytesMax);
        return make(request, (sdk, provider, model) => call(sdk, provider(model), request));
      },
      embed: (request) => make(request, (sdk, provider, model) => embed(sdk, provider, model, request)),
      rerank: (request) => make(request, (sdk, provider, model) => rerank(sdk, provider, model, request)),
      transcribe: (request) => make(request, (sdk, provider, model) => transcribe(sdk, provider, model, request)),
      generateImages: (request) =>
        make(request, (sdk, provider, model) => generateImages(sdk, provider, model, request)),
    },
    limits,
  ) as AllModels;
  return {
    generate: (request) => {
      const profile = profileOf(request.model);
      return limited.generate({ ...profile, ...request, model: profile.model });
    },
    embed: (request) => limited.embed({ ...request, model: profileOf(request.model).model }),
    rerank: (request) => limited.rerank({ ...request, model: profileOf(request.model).model }),
    transcribe: (request) => limited.transcribe({ ...request, model: profileOf(request.model).model }),
    generateImages: (request) => limited.generateImages({ ...request, model: profileOf(request.model).model }),
    costOf: (model, usage) => costOf(prices, profileOf(model).model, usage).cost,
    tokensMaxOf: (model) => profileOf(model).tokensMax,
  };
}

/** What all calls of the SDK have in common. The caller makes the retries, because each one costs money. */
const sdkOptions = ({ signal, idempotencyKey }: Pick<ModelRequest, 'signal' | 'idempotencyKey'>) => ({
  abortSignal: signal,
  maxRetries: 0,
  headers: { 'Idempotency-Key': idempotencyKey },
});

const providerOptionsOf = ({ provider }: Pick<ModelRequest, 'provider'>) =>
  provider !== undefined && { providerOptions: provider as aiSdk.ProviderMetadata };

async function embed(sdk: AiSdk, provider: Provider, name: string, request: EmbedRequest): Promise<EmbedResponse> {
  const model = provider.embeddingModel?.(name) ?? provider.textEmbeddingModel?.(name);
  if (model === undefined) throw lacking(request.model, 'embedding');
  const { texts, dimensions } = request;
  const answer = await sdk.embedMany({
    model,
    values: [...texts],
    ...(dimensions !== undefined && { dimensions }),
    ...providerOptionsOf(request),
    ...sdkOptions(request),
  });
  const { embeddings, usage, warnings, providerMetadata } = answer;
  return {
    vectors: embeddings,
    model: name,
    usage: { inputTokens: usage.tokens, outputTokens: 0 },
    ...(warnings.length > 0 && { warnings: warnings.map(warningText) }),
    ...providerOf(providerMetadata),
  };
}

async function rerank(sdk: AiSdk, provider: Provider, name: string, request: RerankRequest): Promise<RerankResponse> {
  const model = provider.rerankingModel?.(name);
  if (model === undefined) throw lacking(request.model, 'reranking');
  const { query, documents, top } = request;
  const { ranking, response, providerMetadata } = await sdk.rerank({
    model,
    query,
    documents: [...documents],
    ...(top !== undefined && { topN: top }),
    ...providerOptionsOf(request),
    ...sdkOptions(request),
  });
  return {
    ranking: ranking.map(({ originalIndex: index, score }) => ({ index, score })),
    model: response.modelId,
    // Providers bill rankings by the call and tell no tokens.
    usage: { inputTokens: 0, outputTokens: 0 },
    ...providerOf(providerMetadata),
  };
}

async function transcribe(
  sdk: AiSdk,
  provider: Provider,
  name: string,
  request: TranscribeRequest,
): Promise<TranscribeResponse> {
  const model = provider.transcriptionModel?.(name);
  if (model === undefined) throw lacking(request.model, 'transcription');
  const { text, segments, language, durationInSeconds, warnings, providerMetadata } = await sdk.transcribe({
    model,
    audio: request.audio,
    ...providerOptionsOf(request),
    ...sdkOptions(request),
  });
  return {
    text,
    segments: segments.map(({ text, startSecond, endSecond }) => ({ text, from: startSecond, to: endSecond })),
    model: name,
    // Providers bill speech by its length and tell no tokens.
    usage: { inputTokens: 0, outputTokens: 0 },
    ...(language !== undefined && { language }),
    ...(durationInSeconds !== undefined && { seconds: durationInSeconds }),
    ...(warnings.length > 0 && { warnings: warnings.map(warningText) }),
    ...providerOf(providerMetadata),
  };
}

async function generateImages(
  sdk: AiSdk,
  provider: Provider,
  name: string,
  request: ImageRequest,
): Promise<ImageResponse> {
  const model = provider.imageModel?.(name);
  if (model === undefined) throw lacking(request.model, 'image');
  const { prompt, count, size } = request;
  const { images, usage, warnings, providerMetadata } = await sdk.generateImage({
    model,
    prompt,
    ...(count !== undefined && { n: count }),
    ...(size !== undefined && { size: size as `${number}x${number}` }),
    ...providerOptionsOf(request),
    ...sdkOptions(request),
  });
  return {
    images: images.map(({ uint8Array, mediaType }) => ({ data: uint8Array, mediaType })),
    model: name,
    usage: { inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 },
    ...(warnings.length > 0 && { warnings: warnings.map(warningText) }),
    ...providerOf(providerMetadata as aiSdk.ProviderMetadata),
  };
}

function lacking(model: string, kind: string): NodeFailure {
  return new NodeFailure(`no model ${model}: its provider has no ${kind} models`, {
    code: 'MODEL_UNKNOWN',
    applied: 'no',
  });
}

async function call(sdk: AiSdk, model: LanguageModel, request: ModelRequest): Promise<ModelResponse> {
  const { messages, onDelta } = request;
  const options = {
    model: choosing(sdk, model, request),
    messages: messagesOf(messages),
    allowSystemInMessages: true,
    // URLs in a prompt are fetched by the provider, not here: this process may reach more of the network than the provider can.
    experimental_download: (wanted: readonly unknown[]) => Promise.resolve(wanted.map(() => null)),
    ...sdkOptions(request),
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
