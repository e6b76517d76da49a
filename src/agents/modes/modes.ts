/** Makes a mode by its name. */
import {
  type ToolCallPart,
  textOf,
  type ToolResultPart,
  type ModelTool,
} from '../../graph/contracts/model-messages.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import {
  readLooseJson,
  type Mode,
  type Offer,
  type Turn,
  describeTools,
  offeredByProvider,
  ownTools,
  resultText,
  spokenCall,
  spokenMessage,
  spokenText,
  type ResultForModel,
  describeAnswer,
  type ModeName,
} from './text-modes.ts';

// The mode `json`: each answer of the model is one JSON object that fits a schema, with tool calls or the final answer in it.

/** Names of fields that models use for the same thing. The prompt names the first of each list. */
const names = {
  calls: ['calls', 'tool_calls', 'actions'],
  tool: ['tool', 'name', 'action'],
  input: ['input', 'arguments', 'args', 'action_input', 'parameters'],
  answer: ['answer', 'final_answer'],
} as const;

function jsonMode(offer: Offer): Mode {
  const schema = envelopeOf(offer);
  return {
    request: { ...offeredByProvider(offer), schema },
    guide: [
      'Answer with one JSON object and nothing else: {"thought": "…", "calls": [{"tool": "…", "input": {…}}], "answer": null}.',
      'To use tools, give one or more calls; you are told their results. When you are done, give no calls and your answer.',
      `It fits this schema: ${JSON.stringify(schema)}`,
      `Tools:\n${describeTools(ownTools(offer)) || '(none)'}`,
    ].join('\n'),
    read: (response, loop) => readEnvelope(spokenText(response), loop, offer),
    toMessage: (calls, results) => ({
      role: 'user',
      content: JSON.stringify({
        results: calls.map(({ tool }, index) => {
          const { output, isError } = results[index] ?? { output: null };
          return isError === true ? { tool, error: output } : { tool, result: resultValue(output) };
        }),
      }),
    }),
  };
}

/** A result as a JSON value, or as text if JSON cannot express it. */
function resultValue(output: unknown): unknown {
  return typeof output === 'string' ? output : (JSON.parse(resultText({ output })) as unknown);
}

function envelopeOf(offer: Offer): JsonSchema {
  const calls = ownTools(offer).map(({ name, inputSchema }) => ({
    type: 'object',
    required: ['tool', 'input'],
    additionalProperties: false,
    properties: { tool: { type: 'string', enum: [name] }, input: inputSchema },
  }));
  return {
    type: 'object',
    required: ['thought', 'calls', 'answer'],
    additionalProperties: false,
    properties: {
      thought: { type: 'string' },
      calls: { type: 'array', ...(calls.length === 0 ? { maxItems: 0 } : { items: { anyOf: calls } }) },
      answer: { anyOf: [{ type: 'null' }, offer.answer ?? { type: 'string' }] },
    },
  };
}

function readEnvelope(text: string, loop: number, { answer }: Offer): Turn {
  const message = spokenMessage(text);
  if (text === '') return { message, calls: [], fault: 'it is empty' };
  const read = readLooseJson(text);
  // An answer that begins like JSON but cannot be parsed is a fault. Any other text counts as the final answer.
  if ('fault' in read) {
    const isBegun = /^(?:```[a-z]*\s*)?[[{]/iu.test(text);
    return isBegun ? { message, calls: [], fault: read.fault } : { message, calls: [], last: { text } };
  }
  if (!isPlainObject(read.value))
    return { message, calls: [], last: answer === undefined ? { text } : { value: read.value } };
  const envelope = read.value;
  const calls = callsOf(envelope, loop);
  if (calls.length > 0) return { message, calls };
  const answered = pick(envelope, names.answer);
  if (answered !== undefined && answered !== null) return { message, calls, last: { value: answered } };
  const isEnvelope = [...names.calls, ...names.answer, 'thought'].some((name) => Object.hasOwn(envelope, name));
  // Without the expected fields, the object is taken as the final answer itself.
  if (!isEnvelope) return { message, calls, last: answer === undefined ? { text } : { value: envelope } };
  return { message, calls, fault: 'it has neither calls nor an answer' };
}

function callsOf(envelope: Readonly<Record<string, unknown>>, loop: number): readonly ToolCallPart[] {
  const listed = pick(envelope, names.calls);
  const isCall = pick(envelope, names.tool) !== undefined && pick(envelope, names.input) !== undefined;
  const listedCalls = Array.isArray(listed)
    ? (listed as readonly unknown[])
    : isCall
      ? [envelope]
      : listed == null
        ? []
        : [listed];
  return listedCalls.map((one, index) => {
    const call = isPlainObject(one) ? one : {};
    const named = isPlainObject(call['function']) ? call['function'] : call;
    const tool = pick(named, names.tool);
    return spokenCall(typeof tool === 'string' ? tool : '', pick(named, names.input), { loop, index });
  });
}

function pick(from: Readonly<Record<string, unknown>>, keys: readonly string[]): unknown {
  const key = keys.find((name) => Object.hasOwn(from, name));
  return key === undefined ? undefined : from[key];
}

// The mode `native`: the provider's own tool calls. The request lists the tools, and the answer contains the calls.

const nothing: ResultForModel = { output: null };

function nativeMode({ tools, answer }: Offer): Mode {
  return {
    request: { ...(tools.length > 0 && { tools }), ...(answer !== undefined && { schema: answer }) },
    guide: undefined,
    read: ({ content }) => {
      // Calls that the provider has made itself need no further work.
      const calls = content.filter(
        (part): part is ToolCallPart => part.type === 'tool-call' && part.isProviderExecuted !== true,
      );
      const message = { role: 'assistant', content: content.length === 0 ? '(nothing)' : content } as const;
      if (calls.length > 0) return { message, calls };
      const text = textOf(content);
      // A model with tools sometimes returns an empty answer by mistake. Without tools, an empty answer may be meant.
      const isSilent = tools.length > 0 && text.trim() === '';
      return isSilent ? { message, calls, fault: 'it is empty' } : { message, calls, last: { text } };
    },
    toMessage: (calls, results) => ({
      role: 'tool',
      content: calls.map(({ id, tool }, index): ToolResultPart => {
        const { output, parts, isError } = results[index] ?? nothing;
        return {
          type: 'tool-result',
          id,
          tool,
          output,
          ...(parts !== undefined && { parts }),
          ...(isError === true && { isError }),
        };
      }),
    }),
  };
}

// The mode `react`: lines of text with Thought, Action and Action Input, followed by an Observation; or a Final Answer.

function reactMode(offer: Offer): Mode {
  const tools = ownTools(offer);
  return {
    request: offeredByProvider(offer),
    guide: [
      'To use a tool, answer in this form and stop there; you are told what it gave as an Observation:',
      'Thought: why\nAction: the name of one tool\nAction Input: its input as JSON',
      `For several at once, give several pairs of Action and Action Input. When you are done, answer in this form:`,
      `Thought: why\nFinal Answer: your answer.${describeAnswer(offer)}`,
      `Tools:\n${describeTools(tools) || '(none)'}`,
    ].join('\n'),
    read: (response, loop) => readLines(spokenText(response), loop, tools),
    toMessage: (calls, results) => ({
      role: 'user',
      content: calls
        .map(({ tool }, index) => {
          const name = calls.length === 1 ? '' : ` (${tool})`;
          return `Observation${name}: ${resultText(results[index] ?? { output: null })}`;
        })
        .join('\n'),
    }),
  };
}

/** Matches a keyword at the beginning of a line, bold or not. */
const mark = (words: string): RegExp => new RegExp(String.raw`^[ \t>*_#-]*(?:${words})[ \t*_]*:[ \t*_]*`, 'imu');
const observation = mark(String.raw`Observation(?:\s*\([^)\n]*\))?`);
const finalAnswer = mark('Final[ _]?Answer');
const action = mark('Action');
const everyAction = new RegExp(action, 'gimu');
const actionInput = mark('Action[ _]?Input');
const thought = mark('Thought');

function readLines(whole: string, loop: number, tools: readonly ModelTool[]): Turn {
  // Drop everything from the first Observation on: the model made it up, since no tool was called yet.
  const seen = whole.slice(0, startOf(whole, observation)).trim();
  const firstAction = startOf(seen, action);
  const firstAnswer = startOf(seen, finalAnswer);
  if (firstAnswer < firstAction) {
    const text = seen.slice(firstAnswer).replace(finalAnswer, '').trim();
    return { message: spokenMessage(seen), calls: [], last: { text } };
  }
  if (firstAction < seen.length) {
    const acted = seen.slice(0, firstAnswer).trim();
    return { message: spokenMessage(acted), calls: actionCallsOf(acted.slice(firstAction), loop, tools) };
  }
  const message = spokenMessage(seen);
  if (seen === '') return { message, calls: [], fault: 'it is empty' };
  const isBegun = thought.test(seen) || actionInput.test(seen);
  return isBegun
    ? { message, calls: [], fault: 'it has neither an Action nor a Final Answer' }
    : { message, calls: [], last: { text: seen } };
}

function startOf(text: string, pattern: RegExp): number {
  const at = text.search(pattern);
  return at < 0 ? text.length : at;
}

/** The calls in a text that begins with an Action. */
function actionCallsOf(text: string, loop: number, tools: readonly ModelTool[]): readonly ToolCallPart[] {
  const marks = [...text.matchAll(everyAction)];
  return marks.map(({ 0: word, index: at }, index) => {
    const part = text.slice(at + word.length, marks[index + 1]?.index);
    return actionCallOf(part, { loop, index }, tools);
  });
}

function actionCallOf(
  text: string,
  place: Parameters<typeof spokenCall>[2],
  tools: readonly ModelTool[],
): ToolCallPart {
  const at = startOf(text, actionInput);
  const head = text.slice(0, at).trim().split('\n')[0] as string;
  const input = text.slice(at).replace(actionInput, '');
  const end = startOf(input, thought);
  // Some models write `Action: search({"q": "x"})`.
  const inline = at < text.length ? null : /^([\w-]+)\s*\(([\s\S]*)\)$/u.exec(text.trim());
  const name = (inline?.[1] ?? head).replaceAll(/[`*"'[\]]/gu, '').trim();
  return spokenCall(
    name,
    actionInputOf(
      (inline?.[2] ?? input.slice(0, end)).trim(),
      tools.find((tool) => tool.name === name),
    ),
    place,
  );
}

/** The arguments. Plain words become the value of the tool's only property, if it has exactly one. */
function actionInputOf(text: string, tool: ModelTool | undefined): unknown {
  const properties = Object.entries((tool?.inputSchema['properties'] ?? {}) as Readonly<Record<string, unknown>>);
  const [only] = properties;
  const isText = properties.length === 1 && (only?.[1] as { readonly type?: unknown } | undefined)?.type === 'string';
  const read = readLooseJson(text);
  const isObject = 'value' in read && typeof read.value === 'object';
  if (only === undefined || !isText || isObject || text === '') return text;
  return { [only[0]]: 'value' in read && typeof read.value === 'string' ? read.value : text };
}

// The mode `xml`: tags in a text, with calls whose arguments are JSON, or the final answer.

function xmlMode(offer: Offer): Mode {
  return {
    request: offeredByProvider(offer),
    guide: [
      'To use tools, answer with one or more of these, each with its input as JSON; you are told their results:',
      '<thought>why</thought>\n<call tool="NAME">{"…": "…"}</call>',
      `When you are done, answer with <answer>…</answer> and no calls.${describeAnswer(offer)}`,
      `Tools:\n${describeTools(ownTools(offer)) || '(none)'}`,
    ].join('\n'),
    read: (response, loop) => readTags(spokenText(response), loop),
    toMessage: (calls, results) => ({
      role: 'user',
      content: calls
        // Escapes tags, so that a result cannot end its own tag.
        .map(({ tool }, index) => {
          const text = resultText(results[index] ?? { output: null }).replaceAll(/<(?=\/?result\b)/giu, '&lt;');
          return `<result tool="${tool.replaceAll(/[^\w-]/gu, '')}">${text}</result>`;
        })
        .join('\n'),
    }),
  };
}

const answerTag = /<(answer|final_answer)>([\s\S]*?)(?:<\/\1\s*>|$)/iu;
/**
 * Matches calls. Some open models were trained to write `tool_call` with name and arguments in its JSON. A tag without an end extends to
 * the end of the text.
 */
const callTag = /<(call|tool_call)\b([^<>]*)>([\s\S]*?)(?:<\/\1\s*>|$)/giu;

function readTags(text: string, loop: number): Turn {
  const answer = answerTag.exec(text);
  const calls = [...text.matchAll(callTag)];
  const first = calls[0]?.index ?? Infinity;
  // Only what comes first counts: text after the first calls was written without knowing their results.
  if (answer !== null && answer.index < first)
    return { message: spokenMessage(text), calls: [], last: { text: (answer[2] as string).trim() } };
  const made = answer === null ? calls : calls.filter(({ index }) => index < answer.index);
  const last = made.at(-1);
  if (last !== undefined) {
    const upToLastCall = text.slice(0, last.index + last[0].length);
    return {
      message: spokenMessage(upToLastCall),
      calls: made.map((tag, index) => taggedCallOf(tag, { loop, index })),
    };
  }
  const message = spokenMessage(text);
  if (text === '') return { message, calls: [], fault: 'it is empty' };
  const isBegun = /<\/?(?:call|tool_call|thought|answer|final_answer)\b/iu.test(text);
  return isBegun
    ? { message, calls: [], fault: 'it has neither a call nor an answer in its tags' }
    : { message, calls: [], last: { text } };
}

function taggedCallOf(
  [, , attributes = '', body = '']: RegExpExecArray,
  place: Parameters<typeof spokenCall>[2],
): ToolCallPart {
  const named = /\b(?:tool|name)\s*=\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))/u.exec(attributes);
  const name = named?.[1] ?? named?.[2] ?? named?.[3];
  const text = body.replace(/^\s*<!\[CDATA\[([\s\S]*?)\]\]>\s*$/u, '$1');
  if (name !== undefined) return spokenCall(name.trim(), taggedInputOf(text), place);
  const read = readLooseJson(text);
  if (!('value' in read) || !isPlainObject(read.value))
    return { ...spokenCall('', {}, place), input: text, fault: 'it names no tool' };
  const { name: tool = read.value['tool'], arguments: input = read.value['input'] } = read.value;
  return spokenCall(typeof tool === 'string' ? tool : '', input, place);
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** The text if it is JSON as it stands; otherwise with XML entities decoded. */
function taggedInputOf(text: string): string {
  if ('value' in readLooseJson(text)) return text;
  const plain = text.replaceAll(/&(lt|gt|quot|apos|amp);/gu, (_, entity: string) => entities[entity] as string);
  return 'value' in readLooseJson(plain) ? plain : text;
}

const modes: Readonly<Record<ModeName, (offer: Offer) => Mode>> = {
  native: nativeMode,
  json: jsonMode,
  xml: xmlMode,
  react: reactMode,
};

export const modeNames: readonly ModeName[] = ['native', 'json', 'xml', 'react'];

export function createMode(name: ModeName, offer: Offer): Mode {
  return modes[name](offer);
}
