/** A model with predefined answers, for tests and demos. */
import {
  type AssistantPart,
  textOf,
  type ModelMessage,
  type ModelResponse,
  type ToolCallPart,
} from '../graph/contracts/contracts.ts';
import type { ModelRequest, Models } from '../ports/model.ts';
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
    for (const text of ['', JSON.stringify(input)]) onDelta({ type: 'tool-arguments', id, tool, text });
  }
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
  readonly ScriptedAnswer[] | ((request: ModelRequest, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>);

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

export interface ScriptedModels extends Models {
  /** All requests received, in order. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Makes models that answer by a script. Four characters count as one token. Nothing is checked: as with real models, an answer may call
 * tools that were not offered.
 * @throws NodeFailure MODEL_REFUSED at a call for which the script has no answer
 */
export function createScriptedModels(script: Script): ScriptedModels {
  if (typeof script !== 'function') for (const answer of script) checkTurn(answer);
  const requests: ModelRequest[] = [];
  /** Number of answers given from the list, in this process or an earlier one. */
  let given = 0;
  const nextIndex = (request: ModelRequest): number => {
    if (typeof script === 'function') return requests.length - 1;
    given = Math.max(given, lastNumber(request.messages)) + 1;
    return given - 1;
  };
  return {
    requests,
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
  const { reasoning, text = turn.pieces?.join(''), calls = [], pieces: _, ...given } = turn;
  const content: readonly AssistantPart[] = given.content ?? [
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
    ...given,
    content,
  };
}

function ranOut(count: number): never {
  throw new NodeFailure(`the script has answers for ${count} calls only`, { code: 'MODEL_REFUSED', applied: 'no' });
}

/** Estimated tokens. Texts count by their characters, other parts by the length of their JSON. */
function tokensOf(messages: readonly ModelMessage[]): number {
  const characters = messages.reduce((sum, { content }) => {
    const others = typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text');
    return sum + textOf(content).length + others.reduce((more, part) => more + JSON.stringify(part).length, 0);
  }, 0);
  return Math.ceil(characters / 4);
}
