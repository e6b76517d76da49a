/** Schemas of objects, in the two forms that a block may give them. */
import { CairnError } from '../../errors.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { jsonSchemaOf } from '../../schema/standard-schema.ts';
import { isPlainObject } from '../../state/values/plain.ts';

export interface ObjectParts {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
}

/** @throws CONFIG_INVALID it is neither, or not one of an object */
export function readObjectSchema(schema: unknown, side: 'input' | 'output', place: string): ObjectParts {
  const json = jsonSchemaOf(schema, side, place);
  if (json['type'] !== 'object' || !isPlainObject(json['properties'] ?? {}))
    throw new CairnError('CONFIG_INVALID', {
      reason: `${place} must be the schema of an object: { type: 'object', properties: { … } }`,
    });
  const { properties = {}, required = [] } = json as Partial<ObjectParts>;
  return { properties, required };
}
