/** Makes the folder of a store, for the owner's eyes only. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { CairnError } from '../../errors.ts';

const refusals: readonly (string | undefined)[] = ['EROFS', 'EACCES', 'EPERM'];

/** From the outermost that is missing; Node's own recursion never ends, or reports another fault, where a folder cannot be made. */
function makeMissing(folder: string): void {
  if (existsSync(folder)) return;
  makeMissing(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** @throws STORE_READ_ONLY it may not be made there; STORE_UNAVAILABLE it cannot be made */
export function makeFolder(folder: string, store: string): void {
  try {
    makeMissing(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CairnError(
      refusals.includes(code) ? 'STORE_READ_ONLY' : 'STORE_UNAVAILABLE',
      { store, reason: message },
      { cause: error },
    );
  }
}
