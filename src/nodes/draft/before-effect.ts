/** What a node does before its effect, and what it says if that fails. */
import { validateStandard } from '../../schema/standard-schema.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { StandardSchema } from '../../graph/graph.ts';

/** If `prepare` fails, the effect certainly did not happen, and the failure says so (X3), so that the attempt may be retried. */
export async function beforeEffect<T>(prepare: () => T | Promise<T>): Promise<T> {
  try {
    return await prepare();
  } catch (error) {
    if (error instanceof NodeFailure && error.applied === 'no') throw error;
    const { code, data, message } = error as {
      readonly code?: unknown;
      readonly data?: unknown;
      readonly message?: unknown;
    };
    throw new NodeFailure(String(message ?? error), {
      applied: 'no',
      code: typeof code === 'string' ? code : 'ARGUMENT_INVALID',
      data,
      cause: error,
    });
  }
}

/** Returns the validated value, or why it does not fit: one line for each fault. */
export async function checkValue<Value>(
  schema: StandardSchema<Value>,
  raw: unknown,
): Promise<
  | { readonly value: Value; readonly reasons?: undefined }
  | { readonly value?: undefined; readonly reasons: readonly string[] }
> {
  const { value, faults } = await validateStandard(schema, raw);
  return faults === undefined
    ? { value }
    : { reasons: faults.map(({ path, message }) => `${path.join('.')}: ${message}`) };
}
