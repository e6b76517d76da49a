/** Where a folder is, so that a copy of it is told from the original. */
import { statSync } from 'node:fs';
import { withErrors } from './journal.ts';

/**
 * The number of a file in its file system, and when it was made there, in nanoseconds: a copy has another number or another birth, while a
 * folder that is renamed, or a volume that comes up under another device after a restart of the machine, keeps both. The birth is 0 where the
 * system does not tell it: then it is not kept, or given as the time of the last change.
 */
export function locationOf(path: string, store: string): string {
  const { ino, birthtimeNs, ctimeNs } = withErrors(store, () => statSync(path, { bigint: true }));
  return `${ino}.${birthtimeNs < ctimeNs ? birthtimeNs : 0n}`;
}

/** Whether two locations are one. A birth that is not known may be any. */
export function isSameLocation(one: string, other: string): boolean {
  const [[number, birth], [otherNumber, otherBirth]] = [one.split('.'), other.split('.')];
  return number === otherNumber && (birth === otherBirth || birth === '0' || otherBirth === '0');
}
