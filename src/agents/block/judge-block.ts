/** The `Judge` block: a verdict of a model, by a schema, compared with a threshold. */
import type { Inputs, NodeType } from '../../graph/contracts/node-type.ts';
import { boundedBy } from '../../graph/contracts/cut-off.ts';
import {
  fieldsOf,
  inputFault,
  numberOption,
  optionFaults,
  outputField,
  readText,
  requireText,
  textField,
} from '../../nodes/blocks/block-options.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { callOptions, modelField, schemaField, schemaOf, settingsOf, checkSchema } from './agent-block-tools.ts';

const threshold = numberOption('threshold', 'The least score that passes.', {
  default: 0.5,
  min: -1_000_000,
  max: 1_000_000,
  isWhole: false,
});
const options = [threshold, ...callOptions];

export const judgeBlock: NodeType = {
  name: 'Judge',
  description: 'Lets a language model judge something, and says whether it passes.',
  inputs: {
    prompt: textField('What is judged.', { isRequired: true }),
    rubric: textField('By what it is judged.', { isRequired: true }),
    model: modelField,
    verdict_schema: schemaField(
      'The JSON Schema of the verdict, an object with a field `score`. Default: `score` from 0 to 1, and `reason`.',
    ),
    ...fieldsOf(options),
  },
  outputs: {
    passed: outputField('boolean', 'Whether the score reaches the threshold.'),
    score: outputField('number', 'The score; true counts as 1 and false as 0.'),
    verdict: outputField('object', 'All that the model says, as the schema has it.'),
  },
  // Its calls are steps, which are bought once.
  effect: 'pure',
  isComposed: true,
  limitsItsCalls: true,
  needs: (inputs, pending = []) => [
    { kind: 'model', name: pending.includes('model') ? undefined : (readText(inputs, 'model') ?? 'default') },
  ],
  check: (inputs) => [...optionFaults(options, inputs), ...inputFault('verdict_schema', () => checkVerdict(inputs))],
  run: async (ctx) => {
    // Most files have no judge: what works for one is loaded when it is needed.
    const { judgeNode } = await import('../answers/judge-node.ts');
    const { inputs } = ctx;
    const schema = schemaOf(inputs, 'verdict_schema');
    const judge = judgeNode({
      model: readText(inputs, 'model') ?? 'default',
      prompt: requireText(inputs, 'prompt'),
      rubric: requireText(inputs, 'rubric'),
      threshold: threshold.read(inputs),
      settings: settingsOf(inputs),
      ...(ctx.limit !== undefined && { calls: { limit: ctx.limit } }),
      ...(schema !== undefined && { schema }),
    });
    return boundedBy('block', async () => judge.implementation.run(ctx));
  },
};

function checkVerdict(inputs: Inputs): void {
  checkSchema(inputs, 'verdict_schema');
  const properties = schemaOf(inputs, 'verdict_schema')?.['properties'];
  if (inputs['verdict_schema'] !== undefined && !(isPlainObject(properties) && 'score' in properties))
    throw new Error('it has no field score, which says what a verdict is worth');
}
