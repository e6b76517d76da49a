/** The model's last word as a value: a text, or JSON that fits a schema. */
import { textOf, type ModelResponse } from '../graph/contracts/model-contract.ts';
import { checkAgainst, jsonSchemaOf, type AnySchema, type Checked } from '../schema/standard-schema.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';

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
  if (form === undefined) return { value: text };
  const fenced = /^\s*```[a-z]*\n([\s\S]*?)\n?\s*```\s*$/iu.exec(text);
  let value: unknown;
  try {
    value = JSON.parse(fenced?.[1] ?? text);
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` };
  }
  return checkAgainst(form.schema, value, 'answer');
}
