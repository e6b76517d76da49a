/** Validates a value with the Standard Schema that a node's author gave. */
import type { StandardSchema } from '../../graph/graph.ts';

/** Returns the validated value, or why it does not fit: one line for each fault. */
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
