/** The mode `xml`: tags in a text, with calls whose arguments are JSON, or the final answer. */
import type { ToolCallPart } from '../../graph/contracts/model-contract.ts';
import { isPlainObject } from '../../state/values/plain.ts';
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

export function xmlMode(offer: Offer): Mode {
  return {
    request: offeredByProvider(offer),
    guide: [
      'To use tools, answer with one or more of these, each with its input as JSON; you are told their results:',
      '<thought>why</thought>\n<call tool="NAME">{"…": "…"}</call>',
      `When you are done, answer with <answer>…</answer> and no calls.${describeAnswer(offer)}`,
      `Tools:\n${describeTools(ownTools(offer)) || '(none)'}`,
    ].join('\n'),
    read: (response, loop) => readTags(spokenText(response), loop),
    tell: (calls, results) => ({
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
    const kept = text.slice(0, last.index + last[0].length);
    return { message: spokenMessage(kept), calls: made.map((tag, index) => callOf(tag, { loop, index })) };
  }
  const message = spokenMessage(text);
  if (text === '') return { message, calls: [], fault: 'it is empty' };
  const isBegun = /<\/?(?:call|tool_call|thought|answer|final_answer)\b/iu.test(text);
  return isBegun
    ? { message, calls: [], fault: 'it has neither a call nor an answer in its tags' }
    : { message, calls: [], last: { text } };
}

function callOf(
  [, , attributes = '', body = '']: RegExpExecArray,
  place: Parameters<typeof spokenCall>[2],
): ToolCallPart {
  const named = /\b(?:tool|name)\s*=\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))/u.exec(attributes);
  const name = named?.[1] ?? named?.[2] ?? named?.[3];
  const text = body.replace(/^\s*<!\[CDATA\[([\s\S]*?)\]\]>\s*$/u, '$1');
  if (name !== undefined) return spokenCall(name.trim(), inputOf(text), place);
  const read = readLooseJson(text);
  if (!('value' in read) || !isPlainObject(read.value))
    return { ...spokenCall('', {}, place), input: text, fault: 'it names no tool' };
  const { name: tool = read.value['tool'], arguments: given = read.value['input'] } = read.value;
  return spokenCall(typeof tool === 'string' ? tool : '', given, place);
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** The text if it is JSON as it stands; otherwise with XML entities decoded. */
function inputOf(text: string): string {
  if ('value' in readLooseJson(text)) return text;
  const plain = text.replaceAll(/&(lt|gt|quot|apos|amp);/gu, (_, entity: string) => entities[entity] as string);
  return 'value' in readLooseJson(plain) ? plain : text;
}
