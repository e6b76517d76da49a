/** A model's answer as a value that fits a schema. */
import type { JsonSchema } from '../../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import { schemaFault } from '../../../schema/json-schema.ts';

/** A schema as data, or as JSON text. @throws Error it is neither */
export function answerSchema(given: unknown): JsonSchema {
  const schema: unknown = typeof given === 'string' ? JSON.parse(given) : given;
  if (!isPlainObject(schema)) throw new Error('response_schema is no JSON Schema');
  return schema;
}

export type Reading = { readonly value: unknown } | { readonly fault: string };

/** The JSON in an answer, a code fence around it aside. */
export function readAnswer(text: string, schema: JsonSchema): Reading {
  const fenced = /^\s*```[a-z]*\n([\s\S]*?)\n?\s*```\s*$/iu.exec(text);
  let value: unknown;
  try {
    value = JSON.parse(fenced?.[1] ?? text);
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` };
  }
  const fault = schemaFault(schema, value, 'answer');
  return fault === undefined ? { value } : { fault };
}
