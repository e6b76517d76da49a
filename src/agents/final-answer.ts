/** The model's last word as a value: a text, or JSON that fits a schema. */
import { textOf, type ModelResponse } from '../graph/contracts/model-contract.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import { readAnswer } from '../schema/read-answer.ts';
import { jsonSchemaOf, type AnySchema, type Checked } from '../schema/standard-schema.ts';

/** The form of a final answer. */
export interface FinalForm {
  readonly schema: AnySchema;
  readonly json: JsonSchema;
}

export function finalForm(schema: AnySchema, place: string): FinalForm {
  return { schema, json: jsonSchemaOf(schema, 'output', place) };
}

/** What an answer gives, or why it gives nothing. */
export async function readFinal({ content }: ModelResponse, form: FinalForm | undefined): Promise<Checked> {
  const text = textOf(content);
  return form === undefined ? { value: text } : readAnswer(text, form.schema);
}
