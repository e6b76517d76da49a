/** `LLMCall` blocks: a call of a model, or one that says how it went. */
import { same } from '../../../schema/json-schema.ts';
import type { BlockView } from '../../yaml/expression/template.ts';
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import { joined } from '../outline/joined-text.ts';
import { chose } from '../outline/outline.ts';
import { longestCall, verdictSchema } from '../outline/verdict.ts';
import {
  completed,
  failed,
  literalOf,
  lost,
  textIn,
  type BlockEnd,
  type BlockReading,
  type Done,
} from './block-reading.ts';

export function readModel(block: BlockFile, reading: BlockReading): Done | undefined {
  const { inputs } = block;
  const prompt = textIn(block, 'prompt', reading);
  const system = inputs['system_instructions'] === undefined ? [] : textIn(block, 'system_instructions', reading);
  const model = modelOf(block, reading);
  if (prompt === undefined || system === undefined || model === undefined) return undefined;
  const verdict = inputs['response_schema'] === undefined ? undefined : labelsOf(inputs['response_schema']);
  noteCall(block, { hasSystem: system.length > 0, isVerdict: verdict !== undefined }, reading);
  const { max_retries: calls = 3, timeout = 60 } = inputs;
  return {
    work: {
      kind: 'model',
      prompt: system.length === 0 ? prompt : joined([...system, '\n\n', ...prompt]),
      model,
      ...(verdict !== undefined && { verdict }),
    },
    ends: verdict === undefined ? plainEnds(block) : verdictEnds(block, verdict),
    fields: verdict === undefined ? [] : ['response.outcome', 'response.preferred_label'],
    timeoutMs: Number(timeout) >= longestCall ? undefined : Number(timeout) * 1_000,
    attempts: Number(calls),
  };
}

function noteCall(
  { id, inputs, continuesOnError }: BlockFile,
  { hasSystem, isVerdict }: { readonly hasSystem: boolean; readonly isVerdict: boolean },
  reading: BlockReading,
): void {
  if (hasSystem)
    lost(
      reading,
      'PROMPT',
      `the system instructions of ${id} stand before its prompt`,
      'nothing, or set them in the profile',
    );
  for (const name of ['temperature', 'max_tokens', 'validation_prompt_template'])
    if (inputs[name] !== undefined)
      lost(reading, 'SETTING', `${name} of ${id} is not told`, 'set it in the profile of the model');
  if (inputs['response_schema'] !== undefined && !isVerdict)
    lost(reading, 'PROMPT', `the answer of ${id} is not held against its schema`, 'ask for the form in the prompt');
  if (isVerdict && !continuesOnError)
    lost(
      reading,
      'CONDITION',
      `a call of ${id} that fails goes the way of its verdict fail`,
      'nothing, or let that verdict end the run',
    );
}

function plainEnds({ continuesOnError }: BlockFile): readonly BlockEnd[] {
  return [
    { on: 'success', views: [completed({})], isFatal: false },
    { on: 'fail', views: [failed], isFatal: !continuesOnError },
  ];
}

/** The verdicts, each an answer with which the block completes. A call that fails goes the way of the verdict `fail`. */
function verdictEnds({ continuesOnError }: BlockFile, labels: readonly string[]): readonly BlockEnd[] {
  const answer = (response: object): BlockView => completed({ response });
  return [
    { on: 'success', views: [answer({ outcome: 'success' })], isFatal: false },
    { on: 'fail', views: [...(continuesOnError ? [failed] : []), answer({ outcome: 'fail' })], isFatal: false },
    ...labels.map((label) => ({
      on: chose(label),
      views: [answer({ outcome: 'success', preferred_label: label })],
      isFatal: false,
    })),
  ];
}

/** `provider:name`, or the name of a profile; undefined: it is computed. */
function modelOf({ inputs: { model, provider, profile } }: BlockFile, reading: BlockReading): string | undefined {
  const given = model === undefined ? (profile ?? 'default') : model;
  const name = literalOf(given, reading);
  const of = provider === undefined ? '' : literalOf(provider, reading);
  if (name === undefined || of === undefined) return undefined;
  return of === '' ? name : `${of}:${name}`;
}

/** The labels of a schema that asks how it went; undefined: it asks something else. */
function labelsOf(schema: unknown): readonly string[] | undefined {
  const { properties } = schema as {
    readonly properties?: { readonly preferred_label?: { readonly enum?: readonly string[] } };
  };
  const labels = properties?.preferred_label?.enum ?? [];
  return same(schema, verdictSchema(labels)) ? labels : undefined;
}
