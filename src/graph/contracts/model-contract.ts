/** What nodes and language models say to each other: messages and their parts, one call, one answer. Everything here can be stored. */
import type { FileRef } from '../file-ref.ts';
import type { TraceSpan } from './trace-contract.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** What only the provider reads, by the provider's name: cache marks, signatures of reasoning. Handed back as it came. */
export type ProviderData = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface Part {
  readonly provider?: ProviderData;
}

export interface TextPart extends Part {
  readonly type: 'text';
  readonly text: string;
}

/** Bytes, a URL that the provider can read, or a stored file, whose bytes `ctx.models` fills in: so a conversation holds no bytes. */
export type MediaData = Uint8Array | string | FileRef;

export interface ImagePart extends Part {
  readonly type: 'image';
  readonly data: MediaData;
  /** `image/png`. Default: as the bytes say. */
  readonly mediaType?: string;
  /** For messages to people. */
  readonly name?: string;
}

export interface FilePart extends Part {
  readonly type: 'file';
  readonly data: MediaData;
  /** `application/pdf`. */
  readonly mediaType: string;
  readonly name?: string;
}

/** What a model thought before it answered. Some providers want it back, with its signature, beside the tool calls that came of it. */
export interface ReasoningPart extends Part {
  readonly type: 'reasoning';
  readonly text: string;
}

/** A tool that the model wants to be called. */
export interface ToolCallPart extends Part {
  readonly type: 'tool-call';
  /** The provider's, by which the result is matched to the call. */
  readonly id: string;
  readonly tool: string;
  /** The arguments; of a call that cannot be read, the text that came. */
  readonly input: unknown;
  /** Why the call cannot be made: no such tool was offered, or its arguments are no JSON. */
  readonly fault?: string;
  /** The provider called the tool itself, inside the model call; its result stands beside it. */
  readonly isProviderExecuted?: boolean;
}

export interface ToolResultPart extends Part {
  readonly type: 'tool-result';
  /** That of the call. */
  readonly id: string;
  readonly tool: string;
  /** A text, or any JSON value. */
  readonly output?: unknown;
  /** In place of `output`, for a provider that takes images and files. */
  readonly parts?: readonly (TextPart | ImagePart | FilePart)[];
  readonly isError?: boolean;
}

export type UserPart = TextPart | ImagePart | FilePart;
export type AssistantPart = TextPart | ReasoningPart | FilePart | ToolCallPart | ToolResultPart;

/** One message of a conversation; a string stands for one text part. */
export type ModelMessage =
  | (Part & { readonly role: 'system'; readonly content: string })
  | (Part & { readonly role: 'user'; readonly content: string | readonly UserPart[] })
  | (Part & { readonly role: 'assistant'; readonly content: string | readonly AssistantPart[] })
  | (Part & { readonly role: 'tool'; readonly content: readonly ToolResultPart[] });

/** A tool that the model may ask for. Who makes the call sees to it; a model call never runs one. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string;
  /** Of the arguments. */
  readonly inputSchema: JsonSchema;
  readonly provider?: ProviderData;
}

/** A tool that the provider runs inside the model call, such as a web search. A call that offers one may act on the world. */
export interface ProviderTool {
  readonly name: string;
  /** `openai.web_search`. */
  readonly providerTool: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** One call of a model, as plain data. */
export interface ModelCall {
  /** Which model, as `provider:name` or a name that the configuration maps. */
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly (ModelTool | ProviderTool)[];
  /** Default `auto`: the model decides. `required`: some tool; `{ tool }`: that one. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  readonly temperature?: number;
  /** Tokens of the answer. */
  readonly tokensMax?: number;
  /** JSON Schema that the answer must fit; the adapter asks the provider for it where it can. */
  readonly schema?: JsonSchema;
  readonly provider?: ProviderData;
}

/** Counts of one call. Kinds of which there were none, or of which the provider does not tell, are absent. */
export interface ModelUsage {
  /** All that were read, cached ones included. */
  readonly inputTokens: number;
  /** All that were written, reasoning included. */
  readonly outputTokens: number;
  /** Of the input: read from, and written into, the provider's cache. */
  readonly cachedTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Of the output. */
  readonly reasoningTokens?: number;
}

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** What a model answered: all of it that is worth keeping, and nothing of the request or the transport. */
export interface ModelResponse {
  /** In the order in which it came; {@link textOf} gives its text. */
  readonly content: readonly AssistantPart[];
  readonly finishReason: FinishReason;
  /** The model that answered. */
  readonly model: string;
  readonly usage: ModelUsage;
  /** In the currency of the prices that the adapter was given; absent without them. */
  readonly cost?: number;
  /** What the provider could not heed, in words. */
  readonly warnings?: readonly string[];
  /** The provider's id of the answer. */
  readonly id?: string;
  /** Epoch ms, by the provider's clock. */
  readonly at?: number;
  readonly provider?: ProviderData;
}

/** A piece of an answer as it comes. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** A piece of the JSON text of a tool call's arguments; the first may be empty, and names the tool. */
  | { readonly type: 'tool-arguments'; readonly id: string; readonly tool: string; readonly text: string };

/** A live event of a node that calls a model: a piece of the answer of the call under this key. */
export interface ModelDeltaEvent {
  readonly type: 'model-delta';
  /** The key of the call: pieces of calls that go on side by side are told apart by it. */
  readonly call: string;
  readonly delta: ModelDelta;
}

/** What a node's context offers: models by name, under the attempt's signal. */
export interface ModelAccess {
  /**
   * Makes one call. Pieces of the answer are live events of the node ({@link ModelDeltaEvent}).
   * @param options.idempotencyKey - default: that of the activation; give a step's where one activation makes several calls
   * @param options.signal - default: the attempt's
   * @param options.span - in which the call's own span is told (E10.5). Default: the attempt's
   * @throws NodeFailure MODEL_UNAVAILABLE (may be tried again), MODEL_REFUSED and MODEL_UNKNOWN (`applied: 'no'`)
   */
  generate(
    call: ModelCall,
    options?: {
      readonly idempotencyKey?: string;
      readonly signal?: AbortSignal;
      readonly span?: Pick<TraceSpan, 'trace'> | undefined;
    },
  ): Promise<ModelResponse>;
  /** What a call of a model costs that takes so much, where its price is known. */
  costOf?(model: string, usage: ModelUsage): number | undefined;
}

/** The text of an answer or a message, its text parts joined. */
export function textOf(content: string | readonly (UserPart | AssistantPart)[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The piece of an answer that a live event of a run brings, if it is such an event. */
export function modelDeltaOf(event: object): ModelDelta | undefined {
  const { detail } = event as { readonly detail?: Partial<ModelDeltaEvent> };
  return detail?.type === 'model-delta' ? detail.delta : undefined;
}
