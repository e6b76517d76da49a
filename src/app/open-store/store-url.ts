/**
 * Parses store URLs: `sqlite:PATH`, `sqlite:///absolute/path`, `file:FOLDER`, `memory:`, `postgres://USER@HOST/DATABASE`, `redis://HOST`.
 */
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
      readonly kind: 'postgres' | 'redis';
      /** May hold a password: not for messages. */
      readonly url: string;
    }
  | {
      readonly kind: 'file';
      /** Absolute path of the folder. */
      readonly path: string;
      /** Absolute path of the folder of blobs. */
      readonly blobs: string;
    }
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

/** @param name - as the caller wrote it. @throws CONFIG_INVALID it is no place for a database */
function sqlitePlace(path: string, isDefault: boolean, name: string): StorePlace {
  const found = statSync(path, { throwIfNoEntry: false });
  // A pipe, which an unpacked archive can hold, would wait for a writer.
  if (found?.isFile() === false) {
    const reason = found.isDirectory() ? `${name} is a folder; name a file in it` : `${name} is not a file`;
    throw new CairnError('CONFIG_INVALID', { path: '--store', reason });
  }
  const isInDefaultFolder = path.endsWith(join(defaultFolder, 'cairn.db'));
  const blobs = isInDefaultFolder ? join(dirname(path), 'blobs') : `${path.replace(/\.(db|sqlite3?)$/, '')}.blobs`;
  return { kind: 'sqlite', path, blobs, isDefault };
}

function filePlace(rest: string, cwd: string): StorePlace {
  const named = rest.replace(/^\/\/(?=\/)/, '');
  if (named === '' || named.includes('\0'))
    throw new CairnError('CONFIG_INVALID', {
      path: '--store',
      reason: 'a store needs the path of a folder: file:FOLDER',
    });
  const path = resolve(cwd, named);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    throw new CairnError('CONFIG_INVALID', { path: '--store', reason: `${named} is a file; name a folder` });
  return { kind: 'file', path, blobs: join(path, 'blobs') };
}

/**
 * Parses a store URL. Undefined means the default: SQLite at `.cairn/cairn.db` in the working folder. A path without a scheme is a SQLite
 * database.
 *
 * @throws CONFIG_INVALID the scheme is unknown, the path is empty, or it is a folder
 */
export function parseStoreUrl(url: string | undefined, cwd: string): StorePlace {
  if (url === undefined) {
    const name = join(defaultFolder, 'cairn.db');
    return sqlitePlace(join(cwd, name), true, name);
  }
  const [, scheme, rest = ''] = /^(?:([a-z][a-z0-9+]+):)?(.*)$/s.exec(url) ?? [];
  if (scheme === 'memory') return { kind: 'memory' };
  if (scheme === 'postgres' || scheme === 'postgresql') return { kind: 'postgres', url };
  if (scheme === 'redis' || scheme === 'rediss') return { kind: 'redis', url };
  if (scheme === 'file') return filePlace(rest, cwd);
  if (scheme !== 'sqlite' && scheme !== undefined)
    throw new CairnError('CONFIG_INVALID', {
      path: '--store',
      reason: `stores of kind ${scheme} are not known; use sqlite:PATH, file:FOLDER, postgres://USER@HOST/DATABASE or redis://HOST`,
    });
  const path = rest.replace(/^\/\/(?=\/)/, '');
  if (path === '' || path.endsWith('/') || path.includes('\0'))
    throw new CairnError('CONFIG_INVALID', {
      path: '--store',
      reason: 'a store needs the path of a database: sqlite:PATH',
    });
  const file = resolve(cwd, path);
  return sqlitePlace(file, false, path);
}

/**
 * Whether the place is the working folder's own: the default one, or what its configuration or CAIRN_STORE names. Another file, named on a
 * command line, may be anybody's: a backup that was sent, a store of an unpacked archive.
 */
export function isOwnPlace(place: StorePlace, configured: string | undefined, cwd: string): boolean {
  if (!('path' in place)) return place.kind === 'memory';
  const { CAIRN_STORE: named } = process.env;
  const own = [undefined, configured, named === '' ? undefined : named].map((url) => parseStoreUrl(url, cwd));
  return own.some((one) => one.kind === place.kind && one.path === place.path);
}

/**
 * The store that is named, else the configuration's. A configuration lies in a folder, whose author may be somebody else; so it names files
 * only, and no password of this user is sent where it says.
 *
 * @throws CONFIG_INVALID
 */
export function choosePlace(named: string | undefined, configured: string | undefined, cwd: string): StorePlace {
  const place = parseStoreUrl(named ?? configured, cwd);
  if (named !== undefined || !('url' in place)) return place;
  const reason = 'a configuration names stores of this machine only; name a server with --store or CAIRN_STORE';
  throw new CairnError('CONFIG_INVALID', { path: 'store', reason });
}
