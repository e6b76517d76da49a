/** The loop: the model is asked, its tools are called, and so on until it answers. The conversation is folded from what steps gave. */
import { textOf, type ModelMessage, type ModelResponse, type ToolCallPart } from '../graph/contracts/model-contract.ts';
import { NodeFailure, type NodeContext } from '../graph/contracts/node-contract.ts';
import { CairnError } from '../errors.ts';
import { cutHistory, type HistoryLimit } from './conversation.ts';
import { ModelSteps, type ModelSettings, type ModelStepOptions } from './model-step.ts';
import { resultPart, type Observation } from './observation.ts';
import { readFinal, type FinalForm } from './final-answer.ts';
import { ToolCalls } from './tool-calls.ts';
import type { ToolBox } from './tool-box.ts';

export interface LoopOptions {
  readonly settings: ModelSettings;
  readonly box: ToolBox;
  readonly allow: readonly string[] | true;
  readonly form: FinalForm | undefined;
  readonly loopsMax: number;
  readonly history: HistoryLimit;
  readonly steps: ModelStepOptions;
}

/** Calls in a row that cannot be made, after which the model is taken to be lost. */
const faultyCallsMax = 8;
/** Answers that do not fit the schema and are asked for again. */
const repairsMax = 2;

/**
 * Runs a conversation to its end.
 * @returns the final answer: a text, or a value that fits the schema
 * @throws AGENT_DIVERGED; NodeFailure AGENT_LOOPS_EXCEEDED, AGENT_LOST, OUTPUT_INVALID; what models and tools throw
 */
export async function converse(
  ctx: NodeContext,
  opening: readonly ModelMessage[],
  { settings, box, allow, form, loopsMax, history, steps }: LoopOptions,
): Promise<unknown> {
  const models = new ModelSteps(ctx, steps);
  const tools = new ToolCalls(ctx, box, allow);
  const messages = [...opening];
  let faulty = 0;
  let repairs = 0;
  for (let loop = 1; loop <= loopsMax; loop += 1) {
    const sent = cutHistory(messages, history);
    if (sent.length < messages.length)
      ctx.emit({ type: 'history-truncated', loop, left: messages.length - sent.length });
    const response = await models.call(settings, sent);
    messages.push({ role: 'assistant', content: response.content });
    const calls = callsOf(response);
    if (calls.length > 0) {
      const observations = await callTools(tools, calls);
      faulty = observations.isAllFaulty ? faulty + calls.length : 0;
      if (faulty > faultyCallsMax) throw lost(faulty, observations.results);
      messages.push({
        role: 'tool',
        content: calls.map((call, index) => resultPart(call, observations.results[index] as Observation)),
      });
      continue;
    }
    const answer = await readFinal(response, form);
    if (answer.fault === undefined) return answer.value;
    if (repairs === repairsMax) throw misfit(answer.fault, textOf(response.content));
    repairs += 1;
    messages.push({
      role: 'user',
      content: `The answer does not fit: ${answer.fault}\nAnswer again, with nothing but what fits.`,
    });
  }
  throw new NodeFailure(`the agent did not come to an end within ${loopsMax} loops`, {
    code: 'AGENT_LOOPS_EXCEEDED',
    data: { loops: loopsMax },
  });
}

/** Calls that the provider has made itself need nothing more. */
function callsOf({ content }: ModelResponse): readonly ToolCallPart[] {
  return content.filter((part): part is ToolCallPart => part.type === 'tool-call' && part.isProviderExecuted !== true);
}

/** Makes the calls of one answer side by side; results stand in the order of the calls. */
async function callTools(
  tools: ToolCalls,
  calls: readonly ToolCallPart[],
): Promise<{ readonly results: readonly Observation[]; readonly isAllFaulty: boolean }> {
  const faults = await Promise.all(calls.map((call) => tools.check(call)));
  const made = calls.map((call, index) => Promise.resolve(faults[index] ?? tools.make(call)));
  const settled = await Promise.allSettled(made);
  const failed = settled.filter((one) => one.status === 'rejected');
  // Ours before any other: it says that the attempt is over.
  const first = failed.find(({ reason }) => CairnError.is(reason)) ?? failed[0];
  if (first !== undefined) throw first.reason;
  const results = settled.map((one) => (one as PromiseFulfilledResult<Observation>).value);
  return { results, isAllFaulty: faults.every((fault) => fault !== undefined) };
}

function lost(count: number, results: readonly Observation[]): NodeFailure {
  return new NodeFailure(`the model made ${count} calls in a row that cannot be made`, {
    code: 'AGENT_LOST',
    data: { last: results.map(({ output }) => output) },
  });
}

function misfit(fault: string, text: string): NodeFailure {
  return new NodeFailure(`the answer does not fit after ${repairsMax} repairs: ${fault}`, {
    code: 'OUTPUT_INVALID',
    data: { text, fault },
  });
}
