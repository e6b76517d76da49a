/** Reads the two kinds of object schema that a block may have: JSON Schema, and Standard Schema. */
import { CairnError } from '../../errors.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { jsonSchemaOf } from '../../schema/standard-schema.ts';
import { isPlainObject } from '../../state/values/plain.ts';

export interface ObjectParts {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
}

/** Reads a schema. @throws CONFIG_INVALID it is of neither kind, or not one of an object */
export function readObjectSchema(schema: unknown, side: 'input' | 'output', place: string): ObjectParts {
  const json = jsonSchemaOf(schema, side, place);
  if (json['type'] !== 'object' || !isPlainObject(json['properties'] ?? {}))
    throw new CairnError('CONFIG_INVALID', {
      reason: `${place} must be the schema of an object: { type: 'object', properties: { … } }`,
    });
  const { properties = {}, required = [] } = json as Partial<ObjectParts>;
  return { properties, required };
}
