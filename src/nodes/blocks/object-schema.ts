/** Schemas of objects, in the two forms that a block may give them. */
import { CairnError } from '../../errors.ts';
import type { StandardSchema } from '../../graph/graph.ts';
import type { JsonSchema } from '../../graph/node-type.ts';
import { isPlainObject } from '../../state/values/plain.ts';

/** JSON Schema, or a Standard Schema that can tell its JSON Schema (Zod 4.2 and later). */
export type ObjectSchema = JsonSchema | StandardSchema;

export interface ObjectParts {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
}

interface TellsJsonSchema {
  readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: { readonly target: string }) => unknown>>;
}

/** @throws CONFIG_INVALID it is neither, or not one of an object */
export function readObjectSchema(schema: unknown, side: 'input' | 'output', place: string): ObjectParts {
  const json = isStandard(schema) ? tellJsonSchema(schema, side, place) : schema;
  if (!isPlainObject(json) || json['type'] !== 'object' || !isPlainObject(json['properties'] ?? {}))
    throw new CairnError('CONFIG_INVALID', {
      reason: `${place} must be the schema of an object: { type: 'object', properties: { … } }`,
    });
  const { properties = {}, required = [] } = json as Partial<ObjectParts>;
  return { properties, required };
}

function isStandard(schema: unknown): schema is StandardSchema {
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema;
}

function tellJsonSchema(schema: StandardSchema, side: 'input' | 'output', place: string): unknown {
  const standard = schema['~standard'] as StandardSchema['~standard'] & TellsJsonSchema;
  if (standard.jsonSchema === undefined)
    throw new CairnError('CONFIG_INVALID', {
      reason: `${place} cannot tell its JSON Schema: use Zod 4.2 or later, or write JSON Schema`,
    });
  return standard.jsonSchema[side]({ target: 'draft-2020-12' });
}
