/** Node's file calls, loaded when first needed: programs that never use them start sooner. */
import type * as FileCalls from 'node:fs/promises';

export function files(): Promise<typeof FileCalls> {
  return Promise.resolve(process.getBuiltinModule('node:fs/promises'));
}
