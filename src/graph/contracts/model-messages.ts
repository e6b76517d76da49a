/** The format in which nodes and language models talk: messages and their parts, one call, one answer. All of it is plain data that can be stored. */
import type { FileRef } from '../file-ref.ts';
import type { TraceSpan } from './trace-span.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Data that only one provider understands, by the provider's name: cache marks, signatures of reasoning. It is passed back unchanged. */
export type ProviderData = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface Part {
  readonly provider?: ProviderData;
}

export interface TextPart extends Part {
  readonly type: 'text';
  readonly text: string;
}

/**
 * The bytes themselves, a URL that the provider can read, or a stored file. `ctx.models` replaces a stored file by its bytes when it calls
 * the model, so a recorded conversation holds no bytes.
 */
export type MediaData = Uint8Array | string | FileRef;

export interface ImagePart extends Part {
  readonly type: 'image';
  readonly data: MediaData;
  /** Media type, such as `image/png`. Default: detected from the bytes. */
  readonly mediaType?: string;
  /** Name of the file or image, used in messages to people. */
  readonly name?: string;
}

export interface FilePart extends Part {
  readonly type: 'file';
  readonly data: MediaData;
  /** Media type, such as `application/pdf`. */
  readonly mediaType: string;
  readonly name?: string;
}

/**
 * The model's reasoning before its answer. Some providers require it to be sent back, with its signature, together with the tool calls that
 * followed it.
 */
export interface ReasoningPart extends Part {
  readonly type: 'reasoning';
  readonly text: string;
}

/** A request by the model to call a tool. */
export interface ToolCallPart extends Part {
  readonly type: 'tool-call';
  /** The provider's id of the call; the result carries the same id. */
  readonly id: string;
  readonly tool: string;
  /** The arguments. If they could not be parsed, the text as it came. */
  readonly input: unknown;
  /** Why the call cannot be made: the tool was not offered, or the arguments are not JSON. */
  readonly fault?: string;
  /** True if the provider ran the tool itself during the model call. The result is then in the same message. */
  readonly isProviderExecuted?: boolean;
}

export interface ToolResultPart extends Part {
  readonly type: 'tool-result';
  /** The id of the call that this is the result of. */
  readonly id: string;
  readonly tool: string;
  /** The result: a text or any JSON value. */
  readonly output?: unknown;
  /** The result as text, images and files, in place of `output`, for providers that accept those. */
  readonly parts?: readonly (TextPart | ImagePart | FilePart)[];
  readonly isError?: boolean;
}

export type UserPart = TextPart | ImagePart | FilePart;
export type AssistantPart = TextPart | ReasoningPart | FilePart | ToolCallPart | ToolResultPart;

interface MessageParts extends Part {
  /** Whether it is always sent: neither left out of a long conversation nor told in short (A11). Only messages of a prompt are. */
  readonly static?: true;
}

/** One message of a conversation. A string as content is short for one text part. */
export type ModelMessage =
  | (MessageParts & { readonly role: 'system'; readonly content: string })
  | (MessageParts & { readonly role: 'user'; readonly content: string | readonly UserPart[] })
  | (MessageParts & { readonly role: 'assistant'; readonly content: string | readonly AssistantPart[] })
  | (MessageParts & { readonly role: 'tool'; readonly content: readonly ToolResultPart[] });

/** A tool offered to the model. A model call never runs it: the caller does, and sends the result. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema;
  readonly provider?: ProviderData;
}

/** A tool that the provider runs during the model call, such as a web search. A call that offers one may act on the world. */
export interface ProviderTool {
  readonly name: string;
  /** The provider's name of the tool, such as `openai.web_search`. */
  readonly providerTool: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** One call of a model, as plain data. */
export interface ModelCall {
  /** Which model, as `provider:name` or a name that the configuration maps. */
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly (ModelTool | ProviderTool)[];
  /**
   * Whether the model must call a tool. `auto` (default): it decides. `none`: it must not. `required`: it must call some tool. `{ tool }`:
   * it must call this one.
   */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  readonly temperature?: number;
  /** The most tokens that the answer may have. */
  readonly tokensMax?: number;
  /** JSON Schema that the answer must fit. The adapter passes it to providers that support it. */
  readonly schema?: JsonSchema;
  /** Default: the provider's. The adapter says it to each provider in that one's words. */
  readonly reasoning?: ReasoningEffort;
  readonly provider?: ProviderData;
}

/** How much a model is to reason before it answers. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

/** Token counts of one call. A count that is zero or that the provider does not report is absent. */
export interface ModelUsage {
  /** All tokens read, cached ones included. */
  readonly inputTokens: number;
  /** All tokens written, reasoning included. */
  readonly outputTokens: number;
  /** Input tokens read from the provider's cache, and written into it (`cacheWriteTokens`). */
  readonly cachedTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Output tokens spent on reasoning. */
  readonly reasoningTokens?: number;
}

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** A model's answer: everything worth keeping of it, and nothing about the request or the transport. */
export interface ModelResponse {
  /** The parts in the order in which they came; {@link textOf} gives their text. */
  readonly content: readonly AssistantPart[];
  readonly finishReason: FinishReason;
  /** Name of the model that answered. */
  readonly model: string;
  readonly usage: ModelUsage;
  /** Price of the call, in the currency of the adapter's prices. Absent without prices. */
  readonly cost?: number;
  /** What the provider ignored of the request, in words. */
  readonly warnings?: readonly string[];
  /** The provider's id of the answer. */
  readonly id?: string;
  /** When the answer was made: epoch ms, by the provider's clock. */
  readonly at?: number;
  readonly provider?: ProviderData;
}

/** A piece of a streamed answer. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** A piece of the JSON text of a tool call's arguments. The first piece may be empty; it announces the tool. */
  | { readonly type: 'tool-arguments'; readonly id: string; readonly tool: string; readonly text: string };

/** A live event of a node that calls a model: one piece of the answer. */
export interface ModelDeltaEvent {
  readonly type: 'model-delta';
  /** Key of the call that the piece belongs to. It tells parallel calls apart. */
  readonly call: string;
  readonly delta: ModelDelta;
}

/** Texts that are to become vectors, as plain data. */
export interface EmbedCall {
  readonly model: string;
  readonly texts: readonly string[];
  /** How many numbers a vector is to have. Default: the model's own. */
  readonly dimensions?: number;
  readonly provider?: ProviderData;
}

/** One vector for each text, in the order of the texts. */
export interface EmbedResponse {
  readonly vectors: readonly (readonly number[])[];
  /** Name of the model that answered. */
  readonly model: string;
  readonly usage: ModelUsage;
  /** As that of a {@link ModelResponse}. */
  readonly cost?: number;
  readonly warnings?: readonly string[];
  readonly provider?: ProviderData;
}

/** Documents that are to be ordered by how well they answer a query, as plain data. */
export interface RerankCall {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  /** How many of the best to return. Default: all. */
  readonly top?: number;
  readonly provider?: ProviderData;
}

export interface RerankResponse {
  /** The best first. `index`: the document's place in the call; `score`: higher is better, in the model's own scale. */
  readonly ranking: readonly { readonly index: number; readonly score: number }[];
  readonly model: string;
  readonly usage: ModelUsage;
  readonly cost?: number;
  readonly warnings?: readonly string[];
  readonly provider?: ProviderData;
}

/** Speech that is to become text. */
export interface TranscribeCall {
  readonly model: string;
  readonly audio: Uint8Array;
  readonly provider?: ProviderData;
}

export interface TranscribeResponse {
  readonly text: string;
  /** Pieces of it, with the seconds at which each begins and ends, as far as the provider tells. */
  readonly segments: readonly { readonly text: string; readonly from: number; readonly to: number }[];
  /** As a code, such as `en`. */
  readonly language?: string;
  /** How long the audio is. */
  readonly seconds?: number;
  readonly model: string;
  readonly usage: ModelUsage;
  readonly cost?: number;
  readonly warnings?: readonly string[];
  readonly provider?: ProviderData;
}

/** Images that are to be made by a description, as plain data. */
export interface ImageCall {
  readonly model: string;
  readonly prompt: string;
  /** How many. Default 1. */
  readonly count?: number;
  /** Such as `1024x1024`. Default: the model's own. */
  readonly size?: string;
  readonly provider?: ProviderData;
}

export interface ImageResponse {
  readonly images: readonly { readonly data: Uint8Array; readonly mediaType: string }[];
  readonly model: string;
  readonly usage: ModelUsage;
  readonly cost?: number;
  readonly warnings?: readonly string[];
  readonly provider?: ProviderData;
}

/** How one call of a model is made. */
export interface ModelCallOptions {
  /** Default: the activation's key. If one activation makes several calls, pass a step's key for each. */
  readonly idempotencyKey?: string;
  /** Default: the attempt's signal. */
  readonly signal?: AbortSignal;
  /** The parent of the call's span in telemetry (E10.5). Default: the attempt's span. */
  readonly span?: Pick<TraceSpan, 'trace'> | undefined;
}

/** Models as a node's context offers them. A call is aborted when the attempt is. */
export interface ModelAccess {
  /**
   * Makes one call. Pieces of the answer are sent as live events of the node ({@link ModelDeltaEvent}).
   * @param options.onDelta - called with each piece of the answer, in place of live events of the node
   * @param options.onTold - called with each piece as it was sent as a live event: without secrets
   * @throws NodeFailure MODEL_UNAVAILABLE (may be retried), MODEL_REFUSED and MODEL_UNKNOWN (`applied: 'no'`)
   */
  generate(
    call: ModelCall,
    options?: ModelCallOptions & {
      readonly onDelta?: (delta: ModelDelta) => void;
      readonly onTold?: (delta: ModelDelta) => void;
    },
  ): Promise<ModelResponse>;
  /** Turns texts into vectors. @throws as `generate` */
  embed(call: EmbedCall, options?: ModelCallOptions): Promise<EmbedResponse>;
  /** Orders documents by a query. @throws as `generate` */
  rerank(call: RerankCall, options?: ModelCallOptions): Promise<RerankResponse>;
  /** Turns speech into text. @throws as `generate` */
  transcribe(call: TranscribeCall, options?: ModelCallOptions): Promise<TranscribeResponse>;
  /** Makes images. @throws as `generate` */
  generateImages(call: ImageCall, options?: ModelCallOptions): Promise<ImageResponse>;
  /** The price of a call with this usage; undefined if the model's prices are not known. */
  costOf?(model: string, usage: ModelUsage): number | undefined;
  /** The most tokens of an answer where a call names no bound; undefined: the provider decides. */
  tokensMaxOf?(model: string): number | undefined;
}

/** The text of an answer or a message: its text parts, joined. */
export function textOf(content: string | readonly (UserPart | AssistantPart)[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The piece of an answer that a run's live event carries; undefined for other events. */
export function modelDeltaOf(event: object): ModelDelta | undefined {
  const { detail } = event as { readonly detail?: Partial<ModelDeltaEvent> };
  return detail?.type === 'model-delta' ? detail.delta : undefined;
}
