/** What a node does before its effect. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

/** Whatever fails in `prepare` certainly had no effect, and the failure says so (X3): the attempt may be made again. */
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
