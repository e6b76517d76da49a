/** The mode `react`: lines of text with Thought, Action and Action Input, followed by an Observation; or a Final Answer. */
import type { ModelTool, ToolCallPart } from '../../graph/contracts/model-contract.ts';
import { readLooseJson } from './loose-json.ts';
import type { Mode, Offer, Turn } from './mode.ts';
import {
  describeAnswer,
  describeTools,
  offeredByProvider,
  ownTools,
  resultText,
  spokenCall,
  spokenMessage,
  spokenText,
} from './spoken.ts';

export function reactMode(offer: Offer): Mode {
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
    tell: (calls, results) => ({
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
    return { message: spokenMessage(acted), calls: callsOf(acted.slice(firstAction), loop, tools) };
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
function callsOf(text: string, loop: number, tools: readonly ModelTool[]): readonly ToolCallPart[] {
  const marks = [...text.matchAll(everyAction)];
  return marks.map(({ 0: word, index: at }, index) => {
    const part = text.slice(at + word.length, marks[index + 1]?.index);
    return callOf(part, { loop, index }, tools);
  });
}

function callOf(text: string, place: Parameters<typeof spokenCall>[2], tools: readonly ModelTool[]): ToolCallPart {
  const at = startOf(text, actionInput);
  const head = text.slice(0, at).trim().split('\n')[0] as string;
  const given = text.slice(at).replace(actionInput, '');
  const end = startOf(given, thought);
  // Some models write `Action: search({"q": "x"})`.
  const inline = at < text.length ? null : /^([\w-]+)\s*\(([\s\S]*)\)$/u.exec(text.trim());
  const name = (inline?.[1] ?? head).replaceAll(/[`*"'[\]]/gu, '').trim();
  return spokenCall(
    name,
    inputOf(
      (inline?.[2] ?? given.slice(0, end)).trim(),
      tools.find((tool) => tool.name === name),
    ),
    place,
  );
}

/** The arguments. Plain words become the value of the tool's only property, if it has exactly one. */
function inputOf(text: string, tool: ModelTool | undefined): unknown {
  const properties = Object.entries((tool?.inputSchema['properties'] ?? {}) as Readonly<Record<string, unknown>>);
  const [only] = properties;
  const isText = properties.length === 1 && (only?.[1] as { readonly type?: unknown } | undefined)?.type === 'string';
  const read = readLooseJson(text);
  const isObject = 'value' in read && typeof read.value === 'object';
  if (only === undefined || !isText || isObject || text === '') return text;
  return { [only[0]]: 'value' in read && typeof read.value === 'string' ? read.value : text };
}
