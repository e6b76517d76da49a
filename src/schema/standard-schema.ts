/** Schemas in the two forms that users give them: JSON Schema, or a Standard Schema such as Zod's, which can tell its JSON Schema. */
import { CairnError } from '../errors.ts';
import type { StandardSchema } from '../graph/graph.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import { isPlainObject } from '../state/values/plain.ts';
import { schemaFault } from './json-schema.ts';

/** JSON Schema, or a Standard Schema that can tell its JSON Schema (Zod 4.2 and later). */
export type AnySchema = JsonSchema | StandardSchema;

/** What a schema says its values are; of JSON Schema nothing is known. */
export type SchemaValue<Schema> = Schema extends StandardSchema<infer Value> ? Value : unknown;

interface TellsJsonSchema {
  readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: { readonly target: string }) => unknown>>;
}

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema;
}

/**
 * A schema as JSON Schema.
 * @param side - what goes into the schema's checks, or what comes out of them
 * @param place - for messages, such as `tool search: input`
 * @throws CONFIG_INVALID it is neither, or cannot tell its JSON Schema
 */
export function jsonSchemaOf(schema: unknown, side: 'input' | 'output', place: string): JsonSchema {
  const json = isStandardSchema(schema) ? tellJsonSchema(schema, side, place) : schema;
  if (isPlainObject(json)) return json;
  throw new CairnError('CONFIG_INVALID', { reason: `${place} must be a schema, such as { type: 'object' }` });
}

function tellJsonSchema(schema: StandardSchema, side: 'input' | 'output', place: string): unknown {
  const standard = schema['~standard'] as StandardSchema['~standard'] & TellsJsonSchema;
  if (standard.jsonSchema === undefined)
    throw new CairnError('CONFIG_INVALID', {
      reason: `${place} cannot tell its JSON Schema: use Zod 4.2 or later, or write JSON Schema`,
    });
  return standard.jsonSchema[side]({ target: 'draft-2020-12' });
}

/** A value that fits, as the schema gives it back, or what is wrong with it in words. */
export type Checked = { readonly value: unknown; readonly fault?: undefined } | { readonly fault: string };

/** Holds a value against a schema of either form. */
export async function checkAgainst(schema: AnySchema, value: unknown, name: string): Promise<Checked> {
  if (!isStandardSchema(schema)) {
    const fault = schemaFault(schema, value, name);
    return fault === undefined ? { value } : { fault };
  }
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value };
  const reasons = result.issues.map(({ message, path = [] }) =>
    [name, ...path.map((key) => String(typeof key === 'object' ? key.key : key))].join('.').concat(`: ${message}`),
  );
  return { fault: reasons.join('; ') };
}
