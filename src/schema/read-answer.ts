/** Parses the JSON in a text that a model wrote, and validates it with a schema. */
import { checkAgainst, type AnySchema, type Checked } from './standard-schema.ts';

/** The value of an answer, with or without a code fence around it; or why it has none. */
export async function readAnswer(text: string, schema: AnySchema): Promise<Checked> {
  const fenced = /^\s*```[a-z]*\n([\s\S]*?)\n?\s*```\s*$/iu.exec(text);
  let value: unknown;
  try {
    value = JSON.parse(fenced?.[1] ?? text);
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` };
  }
  return checkAgainst(schema, value, 'answer');
}
