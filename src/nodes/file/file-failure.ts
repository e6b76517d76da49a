/** Failures of work on files. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

/** What the operating system says, by its code. */
export function describeFileError(error: unknown, verb: string, path: string, applied: 'no' | 'unknown'): NodeFailure {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return new NodeFailure(`${path} could not be ${verb} (${code})`, { code, applied, data: { path } });
}

/** A file that is not what it has to be; nothing happened. */
export function fileFailure(code: string, path: string, reason: string): NodeFailure {
  return new NodeFailure(`${path} ${reason}`, { code, applied: 'no', data: { path } });
}
