/** Reads a model's final answer: a text, or JSON that fits a schema. */
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { readAnswer, checkAgainst, jsonSchemaOf, type AnySchema, type Checked } from '../../schema/standard-schema.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { FinalAnswer } from '../modes/text-modes.ts';

/** The required form of a final answer. */
export interface FinalForm {
  readonly schema: AnySchema;
  readonly json: JsonSchema;
}

export function finalForm(schema: AnySchema, place: string): FinalForm {
  return { schema, json: jsonSchemaOf(schema, 'output', place) };
}

/** The value of a final answer, or why it has none. */
export async function readFinal(last: FinalAnswer, form: FinalForm | undefined): Promise<Checked> {
  if ('text' in last) return form === undefined ? { value: last.text } : readAnswer(last.text, form.schema);
  const { value } = last;
  if (form === undefined) return { value: typeof value === 'string' ? value : encodeValue(value) };
  const checked = await checkAgainst(form.schema, value, 'answer');
  // Models sometimes put JSON into a JSON string.
  return checked.fault !== undefined && typeof value === 'string' ? readAnswer(value, form.schema) : checked;
}
