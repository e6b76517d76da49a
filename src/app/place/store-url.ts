/** Parses store URLs: `sqlite:PATH`, `sqlite:///absolute/path`, `memory:`. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CairnError } from '../../errors.ts';

// Creates a store's folder so that only its owner can read it.

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

export type StorePlace =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'sqlite';
      /** Absolute path of the database. */
      readonly path: string;
      /** Absolute path of the folder of blobs. */
      readonly blobs: string;
      /** Whether it is the working folder's own store. Paths of graphs are then recorded relative to the folder. */
      readonly isDefault: boolean;
    };

/** Folder of the default store, inside the working folder. */
export const defaultFolder = '.cairn';

function sqlitePlace(path: string, isDefault: boolean): StorePlace {
  const isInDefaultFolder = path.endsWith(join(defaultFolder, 'cairn.db'));
  const blobs = isInDefaultFolder ? join(dirname(path), 'blobs') : `${path.replace(/\.(db|sqlite3?)$/, '')}.blobs`;
  return { kind: 'sqlite', path, blobs, isDefault };
}

/**
 * Parses a store URL. Undefined means the default: SQLite at `.cairn/cairn.db` in the working folder. A path without a scheme is a SQLite
 * database.
 *
 * @throws CONFIG_INVALID the scheme is unknown, the path is empty, or it is a folder
 */
export function parseStoreUrl(url: string | undefined, cwd: string): StorePlace {
  if (url === undefined) return sqlitePlace(join(cwd, defaultFolder, 'cairn.db'), true);
  const [, scheme, rest = ''] = /^(?:([a-z][a-z0-9+]+):)?(.*)$/s.exec(url) ?? [];
  if (scheme === 'memory') return { kind: 'memory' };
  if (scheme !== 'sqlite' && scheme !== undefined)
    throw new CairnError('CONFIG_INVALID', {
      path: '--store',
      reason: `stores of kind ${scheme} are not known; use sqlite:PATH`,
    });
  const path = rest.replace(/^\/\/(?=\/)/, '');
  if (path === '' || path.endsWith('/') || path.includes('\0'))
    throw new CairnError('CONFIG_INVALID', {
      path: '--store',
      reason: 'a store needs the path of a database: sqlite:PATH',
    });
  const file = resolve(cwd, path);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new CairnError('CONFIG_INVALID', { path: '--store', reason: `${path} is a folder; name a file in it` });
  return sqlitePlace(file, false);
}
