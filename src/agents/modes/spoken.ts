/** What the modes share that speak in texts: what the model said, how tools are described to it, and calls that are read from a text. */
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

/** What a model said, without what it thought aloud: open models write that into the text. */
export function spokenText({ content }: ModelResponse): string {
  return textOf(content)
    .replace(/<think>[\s\S]*?(?:<\/think>|$)/giu, '')
    .trim();
}

/** An answer as it stands in the conversation. Providers take no empty one. */
export function spokenMessage(text: string): ModelMessage {
  return { role: 'assistant', content: text === '' ? '(nothing)' : text };
}

/** The tools that the provider runs are the only ones a request offers. */
export function offeredByProvider({ tools }: Offer): Mode['request'] {
  const own = tools.filter((tool): tool is ProviderTool => 'providerTool' in tool);
  return own.length === 0 ? {} : { tools: own };
}

export function ownTools({ tools }: Offer): readonly ModelTool[] {
  return tools.filter((tool): tool is ModelTool => !('providerTool' in tool));
}

/** One line a tool: its name, what it is for, and the schema of its arguments. */
export function describeTools(tools: readonly ModelTool[]): string {
  return tools
    .map(
      ({ name, description = '', inputSchema }) => `- ${name}: ${description}\n  input: ${JSON.stringify(inputSchema)}`,
    )
    .join('\n');
}

/** What is said of a last word that must fit a schema. */
export function describeAnswer({ answer }: Offer): string {
  return answer === undefined ? '' : ` It is JSON that fits this schema: ${JSON.stringify(answer)}`;
}

/** A call as it was read, its arguments given as a value or as the text of one. Arguments that are no JSON are a fault of the call. */
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
