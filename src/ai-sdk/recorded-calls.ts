/** Converts a request of the SDK to one of the model port. */
import type { LanguageModel, Tool } from 'ai';
import type {
  AssistantPart,
  FilePart,
  ModelCall,
  ModelMessage,
  ModelTool,
  ProviderData,
  ProviderTool,
  TextPart,
  ToolResultPart,
} from '../graph/contracts/model-messages.ts';
import { isPlainObject } from '../graph/canonical.ts';
import { nestingFault } from '../state/values/nesting.ts';
import { answerCallsMax } from '../agents/modes/read-turn.ts';

// Types of the AI SDK's models, derived from its public types. Only types are imported, so nothing is loaded.

/** A model as the AI SDK's providers make it. */
export type SdkModel = Extract<LanguageModel, { readonly specificationVersion: 'v4' }>;
export type SdkCallOptions = Parameters<SdkModel['doGenerate']>[0];
export type SdkResult = Awaited<ReturnType<SdkModel['doGenerate']>>;
export type SdkStreamResult = Awaited<ReturnType<SdkModel['doStream']>>;
export type SdkStreamPart = SdkStreamResult['stream'] extends ReadableStream<infer Part> ? Part : never;
export type SdkContent = SdkResult['content'][number];
export type SdkMessage = SdkCallOptions['prompt'][number];
export type SdkUsage = SdkResult['usage'];
export type SdkToolCall = Extract<SdkContent, { readonly type: 'tool-call' }>;

/** The second argument of a tool's function. */
export type SdkToolOptions = Parameters<NonNullable<Tool['execute']>>[1];

type Options = { readonly providerOptions?: object | undefined };
type SdkAssistantPart = Extract<SdkMessage, { readonly role: 'assistant' }>['content'][number];
type SdkUserPart = Extract<SdkMessage, { readonly role: 'user' }>['content'][number];
type SdkFilePart = Extract<SdkUserPart, { readonly type: 'file' }>;
type SdkToolResult = Extract<SdkAssistantPart, { readonly type: 'tool-result' }>;

export function namedCall(model: string, options: SdkCallOptions): ModelCall {
  const {
    prompt,
    tools = [],
    toolChoice,
    temperature,
    maxOutputTokens,
    responseFormat,
    providerOptions,
    reasoning,
  } = options;
  const schema = responseFormat?.type === 'json' ? (responseFormat.schema ?? { type: 'object' }) : undefined;
  return {
    model,
    messages: prompt.map(messageOf),
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(toolChoice !== undefined && {
      toolChoice: toolChoice.type === 'tool' ? { tool: toolChoice.toolName } : toolChoice.type,
    }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { tokensMax: maxOutputTokens }),
    ...(schema !== undefined && { schema: schema as Readonly<Record<string, unknown>> }),
    ...(reasoning !== undefined && reasoning !== 'provider-default' && { reasoning }),
    ...providerOf({ providerOptions }),
  };
}

/** Warnings for settings that the model port does not have, so that they are not ignored silently. */
export function unheeded(options: SdkCallOptions): SdkResult['warnings'] {
  const settings = [
    'topP',
    'topK',
    'presencePenalty',
    'frequencyPenalty',
    'stopSequences',
    'seed',
  ] as const satisfies readonly (keyof SdkCallOptions)[];
  const present = settings.filter((setting) => options[setting] !== undefined);
  return present.map((feature) => ({ type: 'unsupported', feature }));
}

function providerOf({ providerOptions }: Options): { readonly provider?: ProviderData } {
  return providerOptions === undefined ? {} : { provider: providerOptions as ProviderData };
}

function toolOf(tool: NonNullable<SdkCallOptions['tools']>[number]): ModelTool | ProviderTool {
  if (tool.type === 'provider') return { name: tool.name, providerTool: tool.id, settings: tool.args };
  const { name, description, inputSchema } = tool;
  const schema = inputSchema as ModelTool['inputSchema'];
  return { name, inputSchema: schema, ...(description !== undefined && { description }), ...providerOf(tool) };
}

export function messageOf(message: SdkMessage): ModelMessage {
  const provider = providerOf(message);
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content, ...provider };
    case 'user':
      return { role: 'user', content: message.content.map(userPart), ...provider };
    case 'assistant':
      return { role: 'assistant', content: message.content.flatMap(assistantPart), ...provider };
    default: {
      const results = message.content.flatMap((part) => (part.type === 'tool-result' ? [toolResultOf(part)] : []));
      return { role: 'tool', content: results, ...provider };
    }
  }
}

function userPart(part: SdkUserPart): TextPart | FilePart {
  return part.type === 'text' ? { type: 'text', text: part.text, ...providerOf(part) } : fileOf(part);
}

function fileOf(part: Pick<SdkFilePart, 'data' | 'mediaType' | 'filename' | 'providerOptions'>): FilePart {
  const { data, mediaType, filename } = part;
  const name = filename === undefined ? {} : { name: filename };
  return { type: 'file', data: dataOf(data), mediaType, ...name, ...providerOf(part) };
}

function dataOf(data: SdkFilePart['data']): Uint8Array | string {
  if (data.type === 'url') return data.url.href;
  if (data.type === 'data') return typeof data.data === 'string' ? Buffer.from(data.data, 'base64') : data.data;
  if (data.type === 'text') return new TextEncoder().encode(data.text);
  throw new TypeError(
    "a file that only its provider knows can be given to the provider's own model alone, not to one by name",
  );
}

function assistantPart(part: SdkAssistantPart): readonly AssistantPart[] {
  const provider = providerOf(part);
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text, ...provider }];
    case 'file':
      return [fileOf(part)];
    case 'tool-call': {
      const { toolCallId: id, toolName: tool, input, providerExecuted } = part;
      const executed = providerExecuted === true ? { isProviderExecuted: true } : {};
      return [{ type: 'tool-call', id, tool, input, ...executed, ...provider }];
    }
    case 'tool-result':
      return [toolResultOf(part)];
    default:
      return [];
  }
}

function toolResultOf(part: SdkToolResult): ToolResultPart {
  const { toolCallId: id, toolName: tool, output } = part;
  const own = { type: 'tool-result' as const, id, tool, ...providerOf(part) };
  switch (output.type) {
    case 'content': {
      const parts = output.value.flatMap((piece) =>
        piece.type === 'text' ? [userPart(piece)] : piece.type === 'file' ? [fileOf(piece)] : [],
      );
      return { ...own, parts };
    }
    case 'execution-denied':
      return { ...own, output: output.reason ?? 'this call was refused', isError: true };
    default:
      return { ...own, output: output.value, ...(output.type.startsWith('error') && { isError: true }) };
  }
}

// Copies the SDK's objects as plain values that can be hashed and stored. Properties that are undefined are omitted.

/** Copies data. Functions and symbols are omitted; bytes of any kind become a Uint8Array. */
export function plainCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (Array.isArray(value)) return value.map((item: unknown) => (isValue(item) ? plainCopy(item) : null));
  if (!isPlainObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (isValue(value[key])) copy[key] = plainCopy(value[key]);
  return copy;
}

/**
 * Whether `copy` equals what `plainCopy(value)` would give. Texts are mostly the same object as before, so this is much cheaper than
 * copying and hashing.
 */
export function isCopyOf(copy: unknown, value: unknown): boolean {
  if (copy === value) return true;
  if (typeof copy !== 'object' || copy === null || typeof value !== 'object' || value === null) return false;
  // Most objects are plain, and this check is cheaper than looking up an object's class.
  if (Object.getPrototypeOf(copy) === Object.prototype)
    return isCopyOfProperties(copy as Record<string, unknown>, value as Record<string, unknown>);
  if (Array.isArray(copy)) return Array.isArray(value) && isCopyOfList(copy, value);
  if (copy instanceof Uint8Array) return value instanceof Uint8Array && Buffer.compare(copy, value) === 0;
  if (copy instanceof URL) return value instanceof URL && copy.href === value.href;
  return copy instanceof Date && value instanceof Date && copy.getTime() === value.getTime();
}

function isCopyOfList(copy: readonly unknown[], value: readonly unknown[]): boolean {
  if (copy.length !== value.length) return false;
  for (let at = 0; at < copy.length; at += 1) if (!isCopyOf(copy[at], value[at])) return false;
  return true;
}

function isCopyOfProperties(
  copy: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
): boolean {
  let remaining = 0;
  for (const _ in copy) remaining += 1;
  // Runs for every part of every message in each turn, so it allocates neither key lists nor closures.
  for (const key in value) {
    const own = value[key];
    if (!isValue(own)) continue;
    if (!isCopyOf(copy[key], own)) return false;
    remaining -= 1;
  }
  return remaining === 0;
}

function isValue(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol';
}

// What is recorded of a model's answer, and how the answer is rebuilt from it. Requests, bodies and headers are never recorded.

/** An answer in the form in which it is recorded. */
export interface RecordedAnswer extends Pick<
  SdkResult,
  'content' | 'finishReason' | 'usage' | 'warnings' | 'providerMetadata' | 'structuredOutputText'
> {
  readonly id: string;
  readonly modelId: string;
  /** Epoch ms, by the provider's clock if it reports the time. */
  readonly at: number;
}

/** Values for what a provider does not report. */
export interface AnswerDefaults {
  readonly id: string;
  readonly modelId: string;
  readonly at: number;
}

export function answerOf(result: SdkResult, defaults: AnswerDefaults): RecordedAnswer {
  const { content, finishReason, usage, warnings, providerMetadata, structuredOutputText, response = {} } = result;
  const { id = defaults.id, modelId = defaults.modelId, timestamp } = response;
  const at = timestamp?.getTime() ?? defaults.at;
  const saved = {
    content: distinctCalls(content).map(withoutDeepArguments),
    finishReason,
    usage,
    warnings,
    providerMetadata,
    structuredOutputText,
    id,
    modelId,
    at,
  };
  return plainCopy(saved) as RecordedAnswer;
}

/**
 * Arguments too deep to be recorded, or to be written as JSON, are replaced by a text that says so. It is no JSON, so the SDK tells the
 * model that its call is faulty.
 */
function withoutDeepArguments(part: SdkContent): SdkContent {
  if (part.type !== 'tool-call' || typeof part.input !== 'string') return part;
  const fault = nestingFault(parsedOrText(part.input));
  return fault === undefined ? part : { ...part, input: tooDeep(fault) };
}

/** What stands in place of arguments that are nested too deep. */
export function tooDeep(fault: string): string {
  return `The arguments cannot be used: ${fault}.`;
}

function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Gives each call of an answer an id of its own: some providers repeat one, and results are matched with calls by their ids. */
function distinctCalls(content: SdkResult['content']): SdkResult['content'] {
  const taken = new Set<string>();
  return content.map((part) => {
    if (part.type !== 'tool-call' || part.providerExecuted === true) return part;
    let toolCallId = part.toolCallId;
    for (let nth = 2; taken.has(toolCallId); nth += 1) toolCallId = `${part.toolCallId}-${nth}`;
    taken.add(toolCallId);
    return toolCallId === part.toolCallId ? part : { ...part, toolCallId };
  });
}

export function resultOf({ id, modelId, at, ...answer }: RecordedAnswer): SdkResult {
  return { ...answer, response: { id, modelId, timestamp: new Date(at) } };
}

/** The answer as stream parts, beginning with the content's part at index `from`. */
export function* partsOf(answer: RecordedAnswer, from = 0): Generator<SdkStreamPart> {
  const { content, finishReason, usage, providerMetadata, id, modelId, at } = answer;
  for (const [index, part] of content.entries()) if (index >= from) yield* partsOfContent(part, `recorded-${index}`);
  yield { type: 'response-metadata', id, modelId, timestamp: new Date(at) };
  yield { type: 'finish', finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) };
}

/** One part of an answer, as a stream tells it. */
export function* partsOfContent(part: SdkContent, id: string): Generator<SdkStreamPart> {
  if (part.type !== 'text' && part.type !== 'reasoning') {
    yield part;
    return;
  }
  const { type, text, providerMetadata } = part;
  yield { type: `${type}-start`, id, ...(providerMetadata !== undefined && { providerMetadata }) };
  if (text !== '') yield { type: `${type}-delta`, id, delta: text };
  const citations = part.type === 'text' ? part.citations : undefined;
  yield { type: `${type}-end`, id, ...(citations !== undefined && { citations }) };
}

// The tool calls that the models of a conversation requested. Each may be made once. Equal calls are distinguished by their order (A4).

/** A call that a model requested. */
export interface RequestedToolCall {
  /** Its number among the equal calls, counted from 1. */
  readonly ordinal: number;
  /** The arguments as the model gave them; undefined if they are no JSON. */
  readonly input: unknown;
  /** The key under which it is made, once that is chosen. */
  key?: string;
}

/** What a model was told of a call that was not made. */
export interface RefusedCall {
  readonly reason: string;
  /** By whoever was asked for approval. Absent: the call failed. */
  readonly isDenied?: true;
}

/** Calls that were not made, by their keys. */
export type RefusedCalls = Readonly<Record<string, RefusedCall>>;

export class RequestedCalls {
  /** Calls that are not made yet, by the provider's id. */
  readonly #calls = new Map<string, RequestedToolCall>();
  /** For each call, by the provider's id: its arguments as the model gave them; undefined if calls with other arguments share the id. */
  readonly #inputs = new Map<string, unknown>();
  /** Messages with the arguments as the models gave them, by the messages as the SDK sends them. */
  readonly #given = new WeakMap<object, object>();
  readonly #decided = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** For each call of an answer that makes too many: how many it makes. */
  readonly #tooMany = new Map<string, number>();
  /** Calls that were refused since the last call of a model, by their keys. */
  readonly #untold = new Map<string, RefusedCall>();
  /** Calls that were refused on record, by their keys. */
  readonly #refused = new Map<string, RefusedCall>();

  note({ content }: RecordedAnswer): void {
    const calls = content.filter((part) => part.type === 'tool-call');
    const own = calls.filter(({ providerExecuted }) => providerExecuted !== true);
    if (own.length > answerCallsMax) for (const { toolCallId } of own) this.#tooMany.set(toolCallId, own.length);
    for (const part of calls) {
      const call = `${part.toolName} ${part.input}`;
      const ordinal = (this.#counts.get(call) ?? 0) + 1;
      this.#counts.set(call, ordinal);
      const id = part.toolCallId;
      const input = argumentsOf(part.input);
      this.#calls.set(id, { ordinal, input });
      const isShared = this.#inputs.has(id) && !isCopyOf(this.#inputs.get(id), input);
      this.#inputs.set(id, isShared ? undefined : input);
    }
  }

  /** The call with this id; undefined if no model of the conversation requested it, or it was made. */
  callOf(id: string): RequestedToolCall | undefined {
    return this.#calls.get(id);
  }

  /** Calls that were not made, though the conversation goes on behind their results: the SDK refused them, with these words. */
  *unmade(
    messages: readonly SdkMessage[],
  ): Generator<readonly [tool: string, call: RequestedToolCall, refused: RefusedCall]> {
    if (this.#calls.size === 0) return;
    for (const { role, content } of messages) {
      if (role !== 'tool') continue;
      for (const part of content) {
        if (part.type !== 'tool-result') continue;
        const call = this.take(part.toolCallId);
        if (call !== undefined) yield [part.toolName, call, refusedBy(part.output)];
      }
    }
  }

  /** A message with the arguments of its tool calls as the models gave them. The SDK sends what the tools' schemas made of them. */
  asGiven(message: object): object {
    let given = this.#given.get(message);
    if (given === undefined) this.#given.set(message, (given = this.#withGivenInputs(message)));
    return given;
  }

  #withGivenInputs(message: object): object {
    const { role, content } = message as Partial<SdkMessage>;
    if (role !== 'assistant' || !Array.isArray(content)) return message;
    let isOther = false;
    const parts = (content as readonly SdkAssistantPart[]).map((part) => {
      const input = part.type === 'tool-call' ? this.#inputs.get(part.toolCallId) : undefined;
      if (input === undefined || isCopyOf(input, (part as { readonly input?: unknown }).input)) return part;
      isOther = true;
      return { ...part, input };
    });
    return isOther ? { ...message, content: parts } : message;
  }

  /** Why this call is not made, if its answer makes too many: none of them is (A5). */
  refusalOf(id: string): string | undefined {
    const count = this.#tooMany.get(id);
    if (count === undefined) return undefined;
    return `not made: the answer makes ${count} calls, and ${answerCallsMax} at most are made of one; make fewer at a time`;
  }

  /** Notes that a call was refused: what is told with the next call of a model, and stands for good. */
  refuse(key: string, refused: RefusedCall): void {
    this.#untold.set(key, refused);
  }

  /** The refusals that no call of a model has told yet, by the keys of the calls. */
  takeRefused(): RefusedCalls {
    const refused = Object.fromEntries(this.#untold);
    this.#untold.clear();
    return refused;
  }

  /** Takes in what is on record: such a call is not made, whatever its tool is now. */
  noteRecorded(refused: RefusedCalls): void {
    for (const [key, call] of Object.entries(refused)) this.#refused.set(key, call);
  }

  recordedRefusal(key: string): RefusedCall | undefined {
    return this.#refused.get(key);
  }

  /** Notes that whether to ask a person about this call was decided already, outside of the tool. */
  decide(id: string): void {
    this.#decided.add(id);
  }

  isDecided(id: string): boolean {
    return this.#decided.has(id);
  }

  /** Marks the call as made, so that it cannot be made again. */
  take(id: string): RequestedToolCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }
}

function refusedBy(output: unknown): RefusedCall {
  const {
    type,
    value,
    reason = '',
  } = output as Readonly<Partial<Record<'type' | 'reason', string>>> & { readonly value?: unknown };
  if (type === 'execution-denied') return { reason, isDenied: true };
  return { reason: typeof value === 'string' ? value : JSON.stringify(value ?? null) };
}

/** The arguments in a model's text. The SDK reads an empty text as no arguments. */
export function argumentsOf(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
