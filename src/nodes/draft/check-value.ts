/** A value held against a Standard Schema, for nodes whose authors give one. */
import type { StandardSchema } from '../../graph/graph.ts';

/** What the schema makes of a value, or why it does not fit, a line for each place. */
export async function checkValue<Value>(
  schema: StandardSchema<Value>,
  given: unknown,
): Promise<
  | { readonly value: Value; readonly reasons?: undefined }
  | { readonly value?: undefined; readonly reasons: readonly string[] }
> {
  const result = await schema['~standard'].validate(given);
  if (result.issues === undefined) return { value: result.value };
  const reasons = result.issues.map(
    ({ message, path = [] }) =>
      `${path.map((key) => String(typeof key === 'object' ? key.key : key)).join('.')}: ${message}`,
  );
  return { reasons };
}
