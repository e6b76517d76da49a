/** Parses the JSON in a text that a model wrote, and validates it with a schema. */
import { checkAgainst, type AnySchema, type Checked } from './standard-schema.ts';

/** The value of an answer, with or without a code fence around it; or why it has none. */
export async function readAnswer(text: string, schema: AnySchema): Promise<Checked> {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text.trim()));
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` };
  }
  return checkAgainst(schema, value, 'answer');
}

const fence = '```';

/** The text in a code fence around all of it. */
function withoutFence(text: string): string {
  const opening = /^```[a-z]*\n/iu.exec(text)?.[0];
  if (opening === undefined || !text.endsWith(fence) || text.length < opening.length + fence.length) return text;
  return text.slice(opening.length, -fence.length);
}
