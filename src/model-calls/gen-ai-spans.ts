/** Spans of model calls, tool calls and agents, with the attributes of OpenTelemetry's conventions for generative AI (E10.5). */
import type {
  AssistantPart,
  EmbedCall,
  EmbedResponse,
  ModelMessage,
  ToolResultPart,
  UserPart,
  ModelCall,
  ModelResponse,
  RerankCall,
  RerankResponse,
} from '../graph/contracts/model-messages.ts';
import type { SpanAttributes, SpanParts, TraceSpan } from '../graph/contracts/trace-span.ts';
import { FileRef } from '../graph/file-ref.ts';
import { readableThrown } from '../errors.ts';

// Messages as the GenAI conventions of OpenTelemetry write them: JSON texts, without bytes.

/** Messages as the text of an attribute. */
function messagesText(messages: readonly ModelMessage[]): string {
  return JSON.stringify(messages.map(({ role, content }) => ({ role, parts: partsOf(content) })));
}

/** An answer as the text of an attribute. */
function answerText(content: readonly AssistantPart[], finishReason: string): string {
  return JSON.stringify([{ role: 'assistant', parts: partsOf(content), finish_reason: finishReason }]);
}

/** Any value as the text of an attribute; bytes show as their number. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, (_, part: unknown) => (part instanceof Uint8Array ? bytesText(part) : part)) ?? 'null';
}

function partsOf(content: ModelMessage['content']): readonly object[] {
  if (typeof content === 'string') return [{ type: 'text', content }];
  return content.map(partOf);
}

function partOf(part: UserPart | AssistantPart | ToolResultPart): object {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'tool-call':
      return { type: 'tool_call', id: part.id, name: part.tool, arguments: part.input };
    case 'tool-result':
      return { type: 'tool_call_response', id: part.id, response: part.parts?.map(partOf) ?? valueText(part.output) };
    default:
      return { type: 'uri', modality: part.type, mime_type: part.mediaType, uri: mediaText(part.data) };
  }
}

function mediaText(data: Uint8Array | string | FileRef): string {
  if (data instanceof FileRef) return `file:${data.name}`;
  return typeof data === 'string' ? data.slice(0, 200) : bytesText(data);
}

const bytesText = ({ byteLength }: Uint8Array): string => `[${byteLength} bytes]`;

/** A node's context, or a span within its attempt. */
export interface SpanSource {
  trace(name: string, parts?: SpanParts): TraceSpan | undefined;
}

/** Providers that the conventions know by another name than the AI SDK does. */
const wellKnown: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  gemini: 'gcp.gemini',
  'google-vertex': 'gcp.vertex_ai',
  vertex: 'gcp.vertex_ai',
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** @param model - `provider:model`, or a name of the configuration, of which the provider is not known here */
function modelAttributes(model: string): SpanAttributes {
  const colon = model.indexOf(':');
  if (colon <= 0) return { 'gen_ai.request.model': model };
  // The SDK names the interface, too: `openai.responses`.
  const [provider = ''] = model.slice(0, colon).split('.');
  return { 'gen_ai.provider.name': wellKnown[provider] ?? provider, 'gen_ai.request.model': model.slice(colon + 1) };
}

/** @param messages - read for contents alone */
export function beginChat(
  source: SpanSource,
  { model, tools = [], temperature, tokensMax, schema }: Omit<ModelCall, 'messages'>,
  messages: () => readonly ModelMessage[],
): TraceSpan | undefined {
  const about = modelAttributes(model);
  return source.trace(`chat ${String(about['gen_ai.request.model'])}`, {
    attributes: {
      'gen_ai.operation.name': 'chat',
      ...about,
      ...(schema !== undefined && { 'gen_ai.output.type': 'json' }),
      ...(temperature !== undefined && { 'gen_ai.request.temperature': temperature }),
      ...(tokensMax !== undefined && { 'gen_ai.request.max_tokens': tokensMax }),
    },
    contents: () => ({
      'gen_ai.input.messages': messagesText(messages()),
      ...(tools.length > 0 && { 'gen_ai.tool.definitions': valueText(tools) }),
    }),
  });
}

export function endChat(
  span: TraceSpan | undefined,
  response: Pick<ModelResponse, 'model' | 'id' | 'usage' | 'content'> & { readonly finishReason: string },
): void {
  const { model, id, finishReason, usage, content } = response;
  span?.end({
    attributes: {
      'gen_ai.response.model': model,
      ...(id !== undefined && { 'gen_ai.response.id': id }),
      'gen_ai.response.finish_reasons': [finishReason],
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    },
    contents: () => ({ 'gen_ai.output.messages': answerText(content, finishReason) }),
  });
}

export function endFailed(span: TraceSpan | undefined, thrown: unknown): void {
  const { code, name } = (readableThrown(thrown) ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  span?.end({ error: typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error' });
}

/** The span of one call of a model, which its end completes. */
export interface ModelSpan<Response> {
  end(response: Response): void;
  fail(thrown: unknown): void;
}

/** @param messages - read for contents alone */
export function chatSpan(
  source: SpanSource,
  call: Omit<ModelCall, 'messages'>,
  messages: () => readonly ModelMessage[],
): ModelSpan<ModelResponse> {
  const span = beginChat(source, call, messages);
  return { end: (response) => endChat(span, response), fail: (thrown) => endFailed(span, thrown) };
}

/** Vectors are no content: they show as their number of dimensions. */
export function embedSpan(source: SpanSource, { model, texts, dimensions }: EmbedCall): ModelSpan<EmbedResponse> {
  const span = beginOther(source, 'embeddings', model, () => ({ 'gen_ai.input.messages': valueText(texts) }));
  return {
    end: ({ vectors: [first], ...response }) => {
      const count = first?.length ?? dimensions;
      endOther(span, response, count === undefined ? {} : { 'gen_ai.embeddings.dimension.count': count });
    },
    fail: (thrown) => endFailed(span, thrown),
  };
}

/** The conventions know no operation of this kind; its name is that of the call. */
export function rerankSpan(source: SpanSource, { model, query, documents }: RerankCall): ModelSpan<RerankResponse> {
  const span = beginOther(source, 'rerank', model, () => ({
    'gen_ai.input.messages': valueText({ query, documents }),
  }));
  return { end: (response) => endOther(span, response, {}), fail: (thrown) => endFailed(span, thrown) };
}

/** A call that makes or reads media. The conventions know no operation of these kinds; its name is that of the call. */
export function mediaSpan<Response extends Pick<EmbedResponse, 'model' | 'usage'>>(
  source: SpanSource,
  operation: 'transcribe' | 'generate_images',
  { model, prompt = '' }: { readonly model: string; readonly prompt?: string },
): ModelSpan<Response> {
  const span = beginOther(source, operation, model, () => ({ 'gen_ai.input.messages': valueText(prompt) }));
  return { end: (response) => endOther(span, response, {}), fail: (thrown) => endFailed(span, thrown) };
}

function beginOther(
  source: SpanSource,
  operation: string,
  model: string,
  contents: () => SpanAttributes,
): TraceSpan | undefined {
  const about = modelAttributes(model);
  const attributes = { 'gen_ai.operation.name': operation, ...about };
  return source.trace(`${operation} ${String(about['gen_ai.request.model'])}`, { attributes, contents });
}

function endOther(
  span: TraceSpan | undefined,
  { model, usage }: Pick<EmbedResponse, 'model' | 'usage'>,
  more: SpanAttributes,
): void {
  const answerAttributes = { 'gen_ai.response.model': model, 'gen_ai.usage.input_tokens': usage.inputTokens, ...more };
  span?.end({ attributes: answerAttributes });
}

/** A call of a tool, as its spans tell of it. */
export interface TracedTool {
  readonly name: string;
  /** The provider's id of the call. */
  readonly call: string;
  readonly args: unknown;
}

/** Runs a tool inside its span. */
export async function traceTool<T>(
  source: SpanSource,
  { name, call, args }: TracedTool,
  run: (span: TraceSpan | undefined) => Promise<T> | T,
): Promise<T> {
  const span = source.trace(`execute_tool ${name}`, {
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': call,
      'gen_ai.tool.type': 'function',
    },
    contents: () => ({ 'gen_ai.tool.call.arguments': valueText(args) }),
  });
  try {
    const result = await run(span);
    span?.end({ contents: () => ({ 'gen_ai.tool.call.result': valueText(result) }) });
    return result;
  } catch (error) {
    endFailed(span, error);
    throw error;
  }
}

/** Runs an agent's loop inside its span. */
export async function traceAgent<T>(
  source: SpanSource,
  { name, model }: { readonly name: string; readonly model: string },
  run: (span: TraceSpan | undefined) => Promise<T>,
): Promise<T> {
  const span = source.trace(`invoke_agent ${name}`, {
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name, ...modelAttributes(model) },
  });
  try {
    const answer = await run(span);
    span?.end();
    return answer;
  } catch (error) {
    endFailed(span, error);
    throw error;
  }
}
