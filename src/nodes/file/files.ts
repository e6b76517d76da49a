/** Node's file functions, loaded on first use, so that programs that never need them start faster. */
import type * as FileCalls from 'node:fs/promises';

export function files(): Promise<typeof FileCalls> {
  return Promise.resolve(process.getBuiltinModule('node:fs/promises'));
}
