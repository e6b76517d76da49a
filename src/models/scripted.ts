/** A model with predefined answers, for tests and demos. */
import {
  type AssistantPart,
  textOf,
  type ModelMessage,
  type ModelResponse,
  type ModelUsage,
  type ToolCallPart,
} from '../graph/contracts/model-messages.ts';
import { hashText } from '../state/values/canonical-text.ts';
import { nestingFault } from '../state/values/nesting.ts';
import type { EmbedRequest, ModelRequest, Models, RerankRequest } from '../ports/model.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

// Streams an answer that is already complete, for callers that expect pieces.

/** Passes on an answer part by part. @param pieces - the text in pieces. Default: in one piece */
export function tellAnswer(
  content: readonly AssistantPart[],
  onDelta: ModelRequest['onDelta'],
  pieces?: readonly string[],
): void {
  if (onDelta === undefined) return;
  for (const part of content) {
    if (part.type === 'reasoning') onDelta({ type: 'reasoning', text: part.text });
    if (part.type === 'text') for (const text of pieces ?? [part.text]) onDelta({ type: 'text', text });
    if (part.type !== 'tool-call') continue;
    const { id, tool, input } = part;
    for (const text of ['', jsonOf(input)]) onDelta({ type: 'tool-arguments', id, tool, text });
  }
}

/** A value as JSON; nothing of one that is nested too deep to be written. */
function jsonOf(value: unknown): string {
  return nestingFault(value) === undefined ? (JSON.stringify(value) ?? '') : '';
}

/** A tool call in a scripted answer. */
export interface ScriptedCall {
  readonly tool: string;
  readonly input?: unknown;
  /** Id of the call. Default: made from the numbers of the answer and of the call in it, such as `call-2-1`. */
  readonly id?: string;
}

/** One answer: parts of a response, with short forms for texts and tool calls. */
export interface ScriptedTurn extends Partial<ModelResponse> {
  /** Reasoning, which comes before everything else. */
  readonly reasoning?: string;
  readonly text?: string;
  /** Tool calls, which come after the text. The finish reason is then `tool-calls`. */
  readonly calls?: readonly ScriptedCall[];
  /** The text in pieces, for callers that stream the answer. Default: in one piece. */
  readonly pieces?: readonly string[];
}

/** A text, an answer, or an error to throw. */
export type ScriptedAnswer = string | Error | ScriptedTurn;

/**
 * Answers in the order of the calls, or a function of the request and the number of earlier calls. If a conversation is resumed in a new
 * process, a list continues after its last answer found in the conversation, which is recognised by the ids of tool calls.
 */
export type Script =
  | readonly ScriptedAnswer[]
  | ((request: ModelRequest, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>);

const turnNames = Object.keys({
  reasoning: true,
  text: true,
  calls: true,
  pieces: true,
  content: true,
  finishReason: true,
  model: true,
  usage: true,
  cost: true,
  warnings: true,
  id: true,
  at: true,
  provider: true,
} satisfies Record<keyof ScriptedTurn, true>);

export interface ScriptedModels extends Required<
  Pick<Models, 'generate' | 'embed' | 'rerank' | 'transcribe' | 'generateImages'>
> {
  /** All requests for answers that were received, in order. */
  readonly requests: readonly ModelRequest[];
  /** All requests for vectors. */
  readonly embedded: readonly EmbedRequest[];
  /** All requests to rank documents. */
  readonly reranked: readonly RerankRequest[];
}

export interface ScriptedOptions {
  /**
   * The vector of a text. Default: 64 numbers that count its words, so that texts with the same words are near each other.
   * @param dimensions - how many numbers the call wants, if it says so
   */
  readonly embed?: (text: string, dimensions?: number) => readonly number[];
  /** How well a document answers a query; higher is better. Default: the share of the query's words that the document has. */
  readonly rerank?: (query: string, document: string) => number;
  /** What is heard. Default: the bytes as UTF-8 text. */
  readonly transcribe?: (audio: Uint8Array) => string;
  /** The bytes of an image in PNG. Default: the first bytes of a PNG, and the prompt. */
  readonly image?: (prompt: string) => Uint8Array;
}

/**
 * Makes models that answer by a script. Four characters count as one token. Nothing is checked: as with real models, an answer may call
 * tools that were not offered.
 * @throws NodeFailure MODEL_REFUSED at a call for which the script has no answer
 */
export function createScriptedModels(script: Script, options: ScriptedOptions = {}): ScriptedModels {
  refuseUnknownKeys('createScriptedModels', options, ['embed', 'rerank', 'transcribe', 'image']);
  const { embed = vectorOfWords, rerank = shareOfWords, transcribe = textOfBytes, image = pngOf } = options;
  if (typeof script !== 'function') for (const answer of script) checkTurn(answer);
  const requests: ModelRequest[] = [];
  const embedded: EmbedRequest[] = [];
  const reranked: RerankRequest[] = [];
  /** Number of answers used of the list, in this process or an earlier one. */
  let count = 0;
  const nextIndex = (request: ModelRequest): number => {
    if (typeof script === 'function') return requests.length - 1;
    count = Math.max(count, lastNumber(request.messages)) + 1;
    return count - 1;
  };
  return {
    requests,
    embedded,
    reranked,
    async embed(request) {
      request.signal.throwIfAborted();
      embedded.push(request);
      const { model, texts, dimensions } = request;
      const vectors = texts.map((text) => embed(text, dimensions));
      return Promise.resolve({ vectors, model, usage: usageOf(texts) });
    },
    async rerank(request) {
      request.signal.throwIfAborted();
      reranked.push(request);
      const { model, query, documents, top = documents.length } = request;
      const scored = documents.map((document, index) => ({ index, score: rerank(query, document) }));
      const ranking = scored.toSorted((one, other) => other.score - one.score).slice(0, top);
      return Promise.resolve({ ranking, model, usage: usageOf([query, ...documents]) });
    },
    async transcribe({ model, audio, signal }) {
      signal.throwIfAborted();
      return Promise.resolve({ text: transcribe(audio), segments: [], model, usage: usageOf([]) });
    },
    async generateImages({ model, prompt, count = 1, signal }) {
      signal.throwIfAborted();
      const images = Array.from({ length: count }, () => ({ data: image(prompt), mediaType: 'image/png' }));
      return Promise.resolve({ images, model, usage: usageOf([prompt]) });
    },
    async generate(request) {
      request.signal.throwIfAborted();
      requests.push(request);
      const index = nextIndex(request);
      const answer = typeof script === 'function' ? await script(request, index) : (script[index] ?? ranOut(index));
      checkTurn(answer);
      if (answer instanceof Error) throw answer;
      const turn = typeof answer === 'string' ? { text: answer } : answer;
      const response = responseOf(turn, request, index + 1);
      tellAnswer(response.content, request.onDelta, turn.pieces);
      return response;
    },
  };
}

function checkTurn(answer: ScriptedAnswer): void {
  if (typeof answer === 'string' || answer instanceof Error) return;
  refuseUnknownKeys('a scripted answer', answer, turnNames);
  for (const call of answer.calls ?? []) refuseUnknownKeys('a scripted call', call, ['tool', 'input', 'id']);
}

/** The number of the last scripted answer in a conversation that called tools; 0 if there is none. */
function lastNumber(messages: readonly ModelMessage[]): number {
  const ids = messages.flatMap(({ role, content }) =>
    role !== 'assistant' || typeof content === 'string' ? [] : content.map((part) => ('id' in part ? part.id : '')),
  );
  return Math.max(0, ...ids.map((id) => Number(/^call-(\d{1,9})-\d+$/.exec(id ?? '')?.[1] ?? 0)));
}

function responseOf(turn: ScriptedTurn, request: ModelRequest, number: number): ModelResponse {
  const { reasoning, text = turn.pieces?.join(''), calls = [], pieces: _, ...rest } = turn;
  const content: readonly AssistantPart[] = rest.content ?? [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ tool, input = {}, id }, call): ToolCallPart => {
      return { type: 'tool-call', id: id ?? `call-${number}-${call + 1}`, tool, input };
    }),
  ];
  return {
    model: request.model,
    finishReason: content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop',
    usage: { inputTokens: tokensOf(request.messages), outputTokens: tokensOf([{ role: 'assistant', content }]) },
    ...rest,
    content,
  };
}

function ranOut(count: number): never {
  throw new NodeFailure(`the script has answers for ${count} calls only`, { code: 'MODEL_REFUSED', applied: 'no' });
}

const usageOf = (texts: readonly string[]): ModelUsage => ({
  inputTokens: Math.ceil(texts.join('').length / 4),
  outputTokens: 0,
});

const textOfBytes = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const pngOf = (prompt: string): Uint8Array =>
  new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...new TextEncoder().encode(prompt)]);

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Counts words by a hash of each, and scales the counts to a vector of length 1. */
function vectorOfWords(text: string, dimensions = 64): readonly number[] {
  const counts = Array.from({ length: dimensions }, () => 0);
  for (const word of wordsOf(text)) {
    const place = parseInt(hashText(word).slice(0, 8), 36) % dimensions;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const length = Math.hypot(...counts) || 1;
  return counts.map((count) => count / length);
}

function shareOfWords(query: string, document: string): number {
  const [wanted, found] = [new Set(wordsOf(query)), new Set(wordsOf(document))];
  return wanted.size === 0 ? 0 : [...wanted].filter((word) => found.has(word)).length / wanted.size;
}

/** Estimated tokens. Texts count by their characters, other parts by the length of their JSON. */
function tokensOf(messages: readonly ModelMessage[]): number {
  const characters = messages.reduce((sum, { content }) => {
    const others = typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text');
    return sum + textOf(content).length + others.reduce((more, part) => more + jsonOf(part).length, 0);
  }, 0);
  return Math.ceil(characters / 4);
}
