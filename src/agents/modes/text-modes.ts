/** Shared by the modes that communicate in text: reading the model's text, describing tools, and making calls from parsed text. */
import {
  type ModelCall,
  type ModelMessage,
  type ModelResponse,
  type ModelTool,
  type ProviderTool,
  type ToolCallPart,
  type ToolResultPart,
  textOf,
} from '../../graph/contracts/model-messages.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { encodeValue } from '../../state/values/encode.ts';

// Parses JSON as models write it: in a code fence, inside other text, with line ends inside strings, with trailing commas.

/** The value of a text, or why it has none. */
export type LooseJson = { readonly value: unknown } | { readonly fault: string };

/** Finds and parses the JSON in a text. Only text around it and unambiguous mistakes are corrected. */
export function readLooseJson(text: string): LooseJson {
  const exact = parse(text);
  if ('value' in exact) return exact;
  const fenced = /```[a-z]*[ \t]*\r?\n([\s\S]*?)```/iu.exec(text)?.[1];
  for (const part of [fenced, valueIn(text)]) {
    if (part === undefined) continue;
    const strict = parse(part);
    const read = 'value' in strict ? strict : parse(mend(part));
    if ('value' in read) return read;
  }
  return exact;
}

function parse(text: string): LooseJson {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` };
  }
}

// An answer may have many megabytes, so what follows makes no object for a character, and leaps over strings.
const codes = { quote: 0x22, comma: 0x2c, backslash: 0x5c } as const;
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** The text of the first complete object or list. */
function valueIn(text: string): string | undefined {
  const start = text.search(/[[{]/u);
  if (start < 0) return undefined;
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) at = endOfString(text, at);
    else if (opening.has(code)) depth += 1;
    else if (closing.has(code) && (depth -= 1) === 0) return text.slice(start, at + 1);
  }
  return undefined;
}

/** Escapes line ends inside strings, and removes trailing commas. */
function mend(text: string): string {
  const closes = /\s*[}\]]/uy;
  const mended: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      const end = endOfString(text, at);
      mended.push(text.slice(from, at), withoutLineEnds(text.slice(at, end)));
      from = at = end;
    } else if (code === codes.comma) {
      closes.lastIndex = at + 1;
      if (!closes.test(text)) continue;
      mended.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return mended.join('') + text.slice(from);
}

/** The place of the quote that ends a string; the text's length if none does. @param start - the place of the quote that begins it */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === codes.backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

function withoutLineEnds(text: string): string {
  if (!/[\n\r\t]/u.test(text)) return text;
  return text
    .replaceAll(/\n/gu, String.raw`\n`)
    .replaceAll(/\r/gu, String.raw`\r`)
    .replaceAll(/\t/gu, String.raw`\t`);
}

// How the agent loop and a model communicate: what a request contains, and how an answer is read. The rest of the loop is the same in every
// mode.

/**
 * `native`: the provider's own tool calls. The others are for models without those: JSON that fits a schema (`json`), tags in a text
 * (`xml`), lines of a text (`react`).
 */
export type ModeName = 'native' | 'json' | 'xml' | 'react';

/** The tools that the model may call, and the form of its final answer. */
export interface Offer {
  readonly tools: readonly (ModelTool | ProviderTool)[];
  /** JSON Schema of the final answer; undefined if it is a text. */
  readonly answer: JsonSchema | undefined;
}

/** The model's final answer. `value` is set if the mode has parsed it; it may still be a text that contains the requested JSON. */
export type FinalAnswer = { readonly text: string } | { readonly value: unknown };

/** An answer of a model as the loop sees it: tool calls, or a final answer, or a fault. */
export interface Turn {
  /** The answer as it stays in the conversation, without results that the model invented. */
  readonly message: ModelMessage;
  readonly calls: readonly ToolCallPart[];
  readonly last?: FinalAnswer;
  /** Why the answer cannot be used, as the model gets it. */
  readonly fault?: string;
  /** The text that the model gets in place of a fault, in full. */
  readonly correction?: string;
  /** Whether the answer was cut off, so that nothing of it is taken. */
  readonly isCut?: true;
}

/** The result of a call in the form that the model gets. */
export interface ResultForModel {
  readonly output: unknown;
  /** The result with images, for providers that accept them. */
  readonly parts?: NonNullable<ToolResultPart['parts']>;
  readonly isError?: true;
}

export interface Mode {
  /** What each request contains in addition to model, messages and settings. */
  readonly request: Pick<ModelCall, 'tools' | 'schema'>;
  /** What the system message says about tools and answer format; undefined if the provider tells the model. */
  readonly guide: string | undefined;
  /** Reads an answer. @param loop - used to number calls, in modes where the model gives them no id */
  readonly read: (response: ModelResponse, loop: number) => Turn;
  /** Makes the message with the results, in the order of the calls. */
  readonly toMessage: (calls: readonly ToolCallPart[], results: readonly ResultForModel[]) => ModelMessage;
}

/** The text of an answer without its reasoning, which open models write into the text. */
export function spokenText({ content }: ModelResponse): string {
  return textOf(content)
    .replace(/<think>[\s\S]*?(?:<\/think>|$)/giu, '')
    .trim();
}

/** An answer as a message of the conversation. Providers accept no empty message. */
export function spokenMessage(text: string): ModelMessage {
  return { role: 'assistant', content: text === '' ? '(nothing)' : text };
}

/** The part of a request that offers tools: only those that the provider runs. */
export function offeredByProvider({ tools }: Offer): Mode['request'] {
  const own = tools.filter((tool): tool is ProviderTool => 'providerTool' in tool);
  return own.length === 0 ? {} : { tools: own };
}

export function ownTools({ tools }: Offer): readonly ModelTool[] {
  return tools.filter((tool): tool is ModelTool => !('providerTool' in tool));
}

/** One line for each tool: name, purpose, and schema of the arguments. */
export function describeTools(tools: readonly ModelTool[]): string {
  return tools
    .map(
      ({ name, description = '', inputSchema }) => `- ${name}: ${description}\n  input: ${JSON.stringify(inputSchema)}`,
    )
    .join('\n');
}

/** Instruction for a final answer that must fit a schema; empty for a text. */
export function describeAnswer({ answer }: Offer): string {
  return answer === undefined ? '' : ` It is JSON that fits this schema: ${JSON.stringify(answer)}`;
}

/** Makes a call from parsed text. The arguments are a value, or a JSON text. If they are not JSON, the call has a fault. */
export function spokenCall(
  tool: string,
  input: unknown,
  place: { readonly loop: number; readonly index: number },
): ToolCallPart {
  const call = { type: 'tool-call', id: `call-${place.loop}-${place.index + 1}`, tool } as const;
  if (typeof input !== 'string') return { ...call, input: input ?? {} };
  if (input.trim() === '') return { ...call, input: {} };
  const read = readLooseJson(input);
  return 'value' in read
    ? { ...call, input: read.value }
    : { ...call, input: input, fault: `of its input, ${read.fault}` };
}

/** A result as text. */
export function resultText({ output, isError }: ResultForModel): string {
  const text = typeof output === 'string' ? output : encodeValue(output);
  return isError === true ? `Error: ${text}` : text;
}
