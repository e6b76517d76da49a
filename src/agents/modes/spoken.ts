/** Shared by the modes that communicate in text: reading the model's text, describing tools, and making calls from parsed text. */
import type {
  ModelMessage,
  ModelResponse,
  ModelTool,
  ProviderTool,
  ToolCallPart,
} from '../../graph/contracts/model-contract.ts';
import { textOf } from '../../graph/contracts/model-contract.ts';
import { encodeValue } from '../../state/values/codec.ts';
import { readLooseJson } from './loose-json.ts';
import type { Mode, Offer, ToldResult } from './mode.ts';

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
  given: unknown,
  place: { readonly loop: number; readonly index: number },
): ToolCallPart {
  const call = { type: 'tool-call', id: `call-${place.loop}-${place.index + 1}`, tool } as const;
  if (typeof given !== 'string') return { ...call, input: given ?? {} };
  if (given.trim() === '') return { ...call, input: {} };
  const read = readLooseJson(given);
  return 'value' in read
    ? { ...call, input: read.value }
    : { ...call, input: given, fault: `of its input, ${read.fault}` };
}

/** A result as text. */
export function resultText({ output, isError }: ToldResult): string {
  const text = typeof output === 'string' ? output : encodeValue(output);
  return isError === true ? `Error: ${text}` : text;
}
