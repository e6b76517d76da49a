/** Runs what a node does before its effect. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

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
