/** The error for a file that was named and cannot be read as a graph. */
import { existsSync, statSync, type Stats } from 'node:fs';
import { CairnError } from '../../errors.ts';

export function unreadable(
  file: string,
  reason: string,
  more: { readonly line?: number; readonly hint?: string; readonly cause?: unknown } = {},
): CairnError {
  const { line, hint, cause } = more;
  const data = { file, reason, ...(line !== undefined && { line }), ...(hint !== undefined && { hint }) };
  return new CairnError('GRAPH_PARSE', data, { cause });
}

/** @param file - the path as the caller wrote it, for the error. @throws GRAPH_PARSE there is no file */
export function requireFile(path: string, file: string): Stats {
  if (!existsSync(path)) throw unreadable(file, 'there is no such file', { hint: 'Name another file.' });
  const stats = statSync(path);
  if (!stats.isFile()) throw unreadable(file, 'it is not a file');
  return stats;
}
