/** The mode `json`: each answer of the model is one JSON object that fits a schema, with tool calls or the final answer in it. */
import type { ToolCallPart } from '../../graph/contracts/model-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { readLooseJson } from './loose-json.ts';
import type { Mode, Offer, Turn } from './mode.ts';
import {
  describeTools,
  offeredByProvider,
  ownTools,
  resultText,
  spokenCall,
  spokenMessage,
  spokenText,
} from './spoken.ts';

/** Names of fields that models use for the same thing. The model is told the first of each list. */
const names = {
  calls: ['calls', 'tool_calls', 'actions'],
  tool: ['tool', 'name', 'action'],
  input: ['input', 'arguments', 'args', 'action_input', 'parameters'],
  answer: ['answer', 'final_answer'],
} as const;

export function jsonMode(offer: Offer): Mode {
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
    tell: (calls, results) => ({
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
  const said = pick(envelope, names.answer);
  if (said !== undefined && said !== null) return { message, calls, last: { value: said } };
  const isEnvelope = [...names.calls, ...names.answer, 'thought'].some((name) => Object.hasOwn(envelope, name));
  // Without the expected fields, the object is taken as the final answer itself.
  if (!isEnvelope) return { message, calls, last: answer === undefined ? { text } : { value: envelope } };
  return { message, calls, fault: 'it has neither calls nor an answer' };
}

function callsOf(envelope: Readonly<Record<string, unknown>>, loop: number): readonly ToolCallPart[] {
  const listed = pick(envelope, names.calls);
  const isCall = pick(envelope, names.tool) !== undefined && pick(envelope, names.input) !== undefined;
  const given = Array.isArray(listed)
    ? (listed as readonly unknown[])
    : isCall
      ? [envelope]
      : listed == null
        ? []
        : [listed];
  return given.map((one, index) => {
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
