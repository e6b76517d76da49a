/** The block LLMCall: asks a language model, and validates its answer with a schema. */
import { setTimeout as sleep } from 'node:timers/promises';
import { cutOffFailure, isCutOff, refuseStopped } from '../../../graph/contracts/cut-off.ts';
import type { JsonSchema, TypedNodeContext, InputFault, Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { spendTokens } from '../../../graph/contracts/spend-counted.ts';
import {
  textOf,
  type ModelAccess,
  type ModelCall,
  type ModelMessage,
  type ModelResponse,
} from '../../../graph/contracts/model-messages.ts';
import { readAnswer } from '../../../schema/standard-schema.ts';
import { accessModels } from '../../../model-calls/model-access.ts';
import type { Models } from '../../../ports/model.ts';
import { schemaDefect } from '../../../schema/json-schema.ts';
import { isPlainObject } from '../../../state/values/plain-object.ts';
import {
  fieldsOf,
  literal,
  numberOption,
  optionFaults,
  outputField,
  readText,
  refuseInput,
  requireText,
  secondsOption,
  textField,
} from '../block-options.ts';

// Makes the calls of an LLMCall block: repeats a call after a temporary failure, and after an answer that does not fit the schema.

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
async function converse(models: ModelAccess, ctx: TypedNodeContext, conversation: Conversation): Promise<unknown> {
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

const maxRetries = numberOption('max_retries', 'Calls in all.', { default: 3, min: 1, max: 10 }, literal);
const retryDelay = secondsOption(
  'retry_delay',
  'Seconds before the second call if the first failed; twice that before the third, and so on.',
  { default: 2, min: 0, max: 600 },
);
const timeout = secondsOption('timeout', 'Seconds until a call is given up.', { default: 60, min: 0.01, max: 1_800 });
const ofProfile = { default: undefined };
const temperature = numberOption(
  'temperature',
  'Default: that of the profile or the model.',
  { default: 1, min: 0, max: 2, isWhole: false },
  ofProfile,
);
const maxTokens = numberOption(
  'max_tokens',
  'Tokens of the answer. Default: that of the profile or the model.',
  { default: 1, min: 1, max: 1_000_000 },
  ofProfile,
);
const bounds = [maxRetries, retryDelay, timeout];
const options = [...bounds, temperature, maxTokens];

/** The `LLMCall` of docs/spec/blocks.md. @param models - default: those of the engine that runs the block */
export function llmCallType(models: Models | undefined): NodeType {
  return {
    name: 'LLMCall',
    description: 'Asks a language model.',
    inputs: {
      prompt: textField('What is asked.', { isRequired: true }),
      system_instructions: textField('How the model is to behave.'),
      model: textField('The model as `provider:name`.'),
      provider: textField('The provider, where `model` does not name it.'),
      profile: textField('A model by the name that the configuration gives it.', { default: 'default' }),
      response_schema: {
        schema: { type: ['object', 'string'] },
        description: 'The JSON Schema that the answer must fit, or its text.',
      },
      validation_prompt_template: textField(
        'What the model is told of an answer that does not fit: {error}, {schema} and {response} stand for theirs.',
      ),
      ...fieldsOf(options),
    },
    outputs: {
      response: { schema: {}, description: 'The value that fits the schema, or without one `{ content }`.' },
      success: outputField('boolean', 'True: a call that gives no fitting answer fails the block.'),
      metadata: outputField(
        'object',
        'attempts, model, usage (input_tokens, output_tokens), finish_reason, and cost where prices are known.',
      ),
    },
    effect: 'external',
    idempotent: true,
    isModelCall: true,
    timeoutMs: longestMs,
    needs: (inputs, pending = []) => [{ kind: 'model', name: knownModel(inputs, pending) }],
    check: (inputs) => [...optionFaults(options, inputs), ...callFaults(inputs)],
    run: (ctx) =>
      converse(models === undefined ? ctx.models : accessModels(models, ctx), ctx, conversationOf(ctx.inputs)),
  };
}

/** Duration of all calls and the delays between them, at most. */
function longestMs(literals: Inputs): number | undefined {
  if (optionFaults(bounds, literals).length > 0) return undefined;
  const calls = maxRetries.read(literals);
  return calls * timeout.read(literals) + retryDelay.read(literals) * (2 ** (calls - 1) - 1) + 10_000;
}

function callFaults(inputs: Inputs): readonly InputFault[] {
  const { model, profile, provider, response_schema: schema } = inputs;
  const faults: InputFault[] = [];
  if (model !== undefined && profile !== undefined)
    faults.push({ input: 'profile', message: 'model and profile are both given', fix: 'give one of them' });
  if (provider !== undefined && profile !== undefined)
    faults.push({ input: 'provider', message: 'a profile names its provider', fix: 'leave provider out' });
  if (schema !== undefined) {
    const defect = defectOf(schema);
    if (defect !== undefined)
      faults.push({
        input: 'response_schema',
        message: defect,
        fix: 'give a JSON Schema in the subset of docs/spec/waits.md',
      });
  }
  return faults;
}

/** A schema from a value, or from JSON text. @throws Error it is neither */
function answerSchema(value: unknown): JsonSchema {
  const schema: unknown = typeof value === 'string' ? JSON.parse(value) : value;
  if (!isPlainObject(schema)) throw new Error('response_schema is no JSON Schema');
  return schema;
}

function defectOf(value: unknown): string | undefined {
  try {
    return schemaDefect(answerSchema(value));
  } catch (error) {
    return (error as Error).message;
  }
}

function conversationOf(inputs: Inputs): Conversation {
  const system = readText(inputs, 'system_instructions');
  const template = readText(inputs, 'validation_prompt_template');
  return {
    model: modelOf(inputs),
    prompt: requireText(inputs, 'prompt'),
    system: system === undefined || system === '' ? [] : [system],
    schema: inputs['response_schema'] === undefined ? undefined : answerSchema(inputs['response_schema']),
    ...(template !== undefined && { template }),
    settings: {
      ...(inputs['temperature'] !== undefined && { temperature: temperature.read(inputs) }),
      ...(inputs['max_tokens'] !== undefined && { tokensMax: maxTokens.read(inputs) }),
    },
    callsMax: maxRetries.read(inputs),
    delayMs: retryDelay.read(inputs),
    callMs: timeout.read(inputs),
  };
}

/** Name of the model that will be called; undefined while an input that determines it is not known. */
function knownModel(inputs: Inputs, pending: readonly string[]): string | undefined {
  const naming = ['model', 'provider', 'profile'];
  const isKnown = naming.every(
    (name) => !pending.includes(name) && ['string', 'undefined'].includes(typeof inputs[name]),
  );
  return isKnown && (inputs['model'] !== undefined || inputs['provider'] === undefined) ? modelOf(inputs) : undefined;
}

function modelOf(inputs: Inputs): string {
  const [model, provider] = [readText(inputs, 'model'), readText(inputs, 'provider')];
  if (model === undefined && provider !== undefined) throw refuseInput('model', 'is missing beside provider');
  if (model === undefined) return readText(inputs, 'profile') ?? 'default';
  return provider === undefined ? model : `${provider}:${model}`;
}
