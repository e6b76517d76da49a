/** Failures of operations on files. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

/** Makes a failure from an error of the operating system, with its code. */
export function describeFileError(error: unknown, verb: string, path: string, applied: 'no' | 'unknown'): NodeFailure {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return new NodeFailure(`${path} could not be ${verb} (${code})`, { code, applied, data: { path } });
}

/** Makes a failure for a file that is not as required. It says that nothing happened. */
export function fileFailure(code: string, path: string, reason: string): NodeFailure {
  return new NodeFailure(`${path} ${reason}`, { code, applied: 'no', data: { path } });
}
