/** Makes the calls of an LLMCall block: repeats a call after a temporary failure, and after an answer that does not fit the schema. */
import { setTimeout as sleep } from 'node:timers/promises';
import { cutOffFailure, isCutOff, refuseStopped } from '../../../graph/contracts/whole-answer.ts';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { spendTokens } from '../../../graph/contracts/spend-counted.ts';
import type { JsonSchema, TypedNodeContext } from '../../../graph/contracts/node-type.ts';
import {
  textOf,
  type ModelAccess,
  type ModelCall,
  type ModelMessage,
  type ModelResponse,
} from '../../../graph/contracts/model-contract.ts';
import { readAnswer } from '../../../schema/read-answer.ts';

export interface Conversation {
  readonly model: string;
  readonly prompt: string;
  readonly system: readonly string[];
  readonly schema: JsonSchema | undefined;
  readonly template?: string;
  readonly settings: Pick<ModelCall, 'temperature' | 'tokensMax'>;
  readonly callsMax: number;
  /** Delay before the second call, in milliseconds. It doubles with each further call. */
  readonly delayMs: number;
  readonly callMs: number;
}

const correction =
  'The answer does not fit: {error}.\nAnswer again, with nothing but JSON that fits this schema:\n{schema}';

/**
 * Makes the calls and returns the fields of the block.
 * @throws NodeFailure MODEL_OUTPUT_INVALID with the last answer in its data; the errors of the models
 */
export async function converse(
  models: ModelAccess,
  ctx: TypedNodeContext,
  conversation: Conversation,
): Promise<unknown> {
  const { schema, callsMax } = conversation;
  let messages = firstMessages(conversation);
  const usage = { input_tokens: 0, output_tokens: 0 };
  let cost: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    let response: ModelResponse;
    try {
      response = await callOnce(models, ctx, conversation, messages, attempt);
      refuseStopped(response);
    } catch (error) {
      if (attempt === callsMax || (error as Partial<NodeFailure>).code !== 'MODEL_UNAVAILABLE') throw error;
      const { retryAfterMs = 0 } = error as NodeFailure;
      const delayMs = Math.max(conversation.delayMs * 2 ** (attempt - 1), retryAfterMs);
      await sleep(delayMs, undefined, { signal: ctx.signal }).catch(() => ctx.signal.throwIfAborted());
      continue;
    }
    usage.input_tokens += response.usage.inputTokens;
    usage.output_tokens += response.usage.outputTokens;
    spendTokens(ctx, ctx, response.usage);
    if (response.cost !== undefined) cost = (cost ?? 0) + response.cost;
    const { model, finishReason } = response;
    const text = textOf(response.content);
    const metadata = {
      attempts: attempt,
      model,
      usage: { ...usage },
      finish_reason: finishReason,
      ...(cost !== undefined && { cost }),
    };
    ctx.emit({ type: 'model-call', ...metadata });
    const isCut = isCutOff(response);
    // What asks again names the schema: without one there is nothing to ask for but the same.
    if (isCut && (schema === undefined || attempt === callsMax))
      throw cutOffFailure(response, 'block', { data: { content: text, metadata }, applied: 'no' });
    if (schema === undefined) return { response: { content: text }, success: true, metadata };
    const reading = isCut ? { fault: 'it was cut off at the limit of its length' } : await readAnswer(text, schema);
    if (reading.fault === undefined) return { response: reading.value, success: true, metadata };
    if (attempt === callsMax) throw misfit(reading.fault, text, metadata);
    messages = messages.concat({ role: 'assistant', content: text }, correct(conversation, reading.fault, text));
  }
}

function firstMessages({ system, prompt, schema }: Conversation): readonly ModelMessage[] {
  const form =
    schema === undefined ? [] : [`Answer with nothing but JSON that fits this schema:\n${JSON.stringify(schema)}`];
  return [
    ...[...system, ...form].map((content): ModelMessage => ({ role: 'system', content })),
    { role: 'user', content: prompt },
  ];
}

async function callOnce(
  models: ModelAccess,
  ctx: TypedNodeContext,
  { model, schema, settings, callMs }: Conversation,
  messages: readonly ModelMessage[],
  attempt: number,
): Promise<ModelResponse> {
  const late = AbortSignal.timeout(callMs);
  try {
    return await models.generate(
      { model, messages, ...settings, ...(schema !== undefined && { schema }) },
      {
        // A repetition has the key of the call it repeats. A correction is another request, so it has another key.
        idempotencyKey: `${ctx.idempotencyKey}:${messages.length}`,
        signal: AbortSignal.any([ctx.signal, late]),
      },
    );
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (!late.aborted) throw error;
    const reason = `${model} gave no answer within ${callMs / 1_000} s (call ${attempt})`;
    throw new NodeFailure(reason, { code: 'MODEL_UNAVAILABLE', cause: error });
  }
}

function correct({ schema, template = correction }: Conversation, error: string, response: string): ModelMessage {
  const values: Readonly<Record<string, string>> = { error, response, schema: JSON.stringify(schema) };
  return {
    role: 'user',
    content: template.replaceAll(/\{(error|response|schema)\}/gu, (_, name: string) => values[name] ?? ''),
  };
}

function misfit(fault: string, content: string, metadata: { readonly attempts: number }): NodeFailure {
  const calls = metadata.attempts === 1 ? 'one call' : `${metadata.attempts} calls`;
  return new NodeFailure(`the answer does not fit after ${calls}: ${fault}`, {
    code: 'MODEL_OUTPUT_INVALID',
    // Nothing was changed outside, so that the run can go on with a changed file.
    applied: 'no',
    data: { content, error: fault, metadata },
  });
}
