/** Creates a store's folder so that only its owner can read it. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { CairnError } from '../../errors.ts';

const refusals: readonly (string | undefined)[] = ['EROFS', 'EACCES', 'EPERM'];

/**
 * Creates missing folders from the outermost one. Node's own recursive mode can hang, or report a misleading error, if a folder cannot be
 * created.
 */
function makeMissing(folder: string): void {
  if (existsSync(folder)) return;
  makeMissing(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Creates the folder. @throws STORE_READ_ONLY creating is not permitted there; STORE_UNAVAILABLE it cannot be created */
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
