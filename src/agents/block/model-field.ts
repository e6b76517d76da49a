/** The field in which a block names the model of its calls. */
import type { InputField, Inputs, Need } from '../../graph/contracts/node-type.ts';
import { readText, textField } from '../../nodes/blocks/block-options.ts';

/** The model that a block names, where the configuration has no name for it. */
export const modelNeed = (inputs: Inputs, pending: readonly string[] = [], name = 'model'): Need => ({
  kind: 'model',
  name: pending.includes(name) ? undefined : readText(inputs, name),
});

export const modelField: InputField = textField(
  'A model as `provider:name`, or by the name that the configuration gives it.',
  {
    isRequired: true,
  },
);
