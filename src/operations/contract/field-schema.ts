/** The JSON Schema of an input field, for the doors that speak JSON. */
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import type { Field, FieldType } from './operation.ts';

const shapes: Readonly<Record<FieldType, JsonSchema>> = {
  text: { type: 'string' },
  run: { type: 'string', minLength: 1 },
  checkpoint: { type: 'string', minLength: 1 },
  time: { type: 'string' },
  integer: { type: 'integer', minimum: 0 },
  flag: { type: 'boolean', default: false },
  value: {},
  texts: { type: 'array', items: { type: 'string' } },
  words: { type: 'array', items: { type: 'string' } },
  assignments: { type: 'object', additionalProperties: true },
  answer: {},
  answers: { type: 'object', additionalProperties: true },
};

export function fieldSchema({
  type,
  description,
  choices,
  default: value,
  min,
  max,
}: Omit<Field, 'default'> & { readonly default?: unknown }): JsonSchema {
  const about = {
    description,
    ...(value !== undefined && { default: value }),
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
  };
  if (choices === undefined) return { ...shapes[type], ...about };
  return type === 'texts' ? { type: 'array', items: { enum: choices }, ...about } : { enum: choices, ...about };
}
