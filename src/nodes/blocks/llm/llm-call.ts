/** The block LLMCall: asks a language model, and validates its answer with a schema. */
import type { InputFault, Inputs, JsonSchema, NodeType } from '../../../graph/contracts/node-type.ts';
import { accessModels } from '../../../model-calls/model-access.ts';
import type { Models } from '../../../ports/model.ts';
import { schemaDefect } from '../../../schema/json-schema.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
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
} from '../fields.ts';
import { converse, type Conversation } from './llm-call-tries.ts';

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

/** A schema given as a value, or as JSON text. @throws Error it is neither */
function answerSchema(given: unknown): JsonSchema {
  const schema: unknown = typeof given === 'string' ? JSON.parse(given) : given;
  if (!isPlainObject(schema)) throw new Error('response_schema is no JSON Schema');
  return schema;
}

function defectOf(given: unknown): string | undefined {
  try {
    return schemaDefect(answerSchema(given));
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

/** Name of the model that will be asked; undefined while an input that determines it is not known. */
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
