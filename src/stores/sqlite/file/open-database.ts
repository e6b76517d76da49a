/** Opens the database file with its permissions, journal mode and busy timeout. */

import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import { requireWhole } from './file-damage.ts';
import { growWal } from './grow-wal.ts';
import { createPrepare } from '../tables/prepare.ts';
import { checkLayout, createLayout, layoutVersion, readAsNewest } from '../tables/schema.ts';
import { isLogRefused, mapSqliteError } from '../sqlite-errors.ts';
import { StoreIdentity } from './store-identity.ts';

export interface DatabaseOptions {
  readonly path: string;
  /** Name of the store for messages. */
  readonly store: string;
  readonly isReadOnly: boolean;
  readonly busyTimeoutMs: number;
  readonly walAutoCheckpointPages: number;
  /** Undefined: the file keeps its identity, or gets a random one when it is created. */
  readonly identity: string | undefined;
}

/** An open database and the version of its table layout, which may be an older one only if the file cannot be changed. */
export interface OpenedDatabase {
  readonly db: DatabaseSync;
  readonly layout: number;
}

type Open = (path: string | URL, options?: DatabaseSyncOptions) => DatabaseSync;

/** Loads the driver without Node 22's warning that its SQLite is experimental, which users need not see. */
export function loadDriver(): Open {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    return (path, options = {}) => new DatabaseSync(path, options);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Creates the file readable by its owner only. SQLite would use the umask, and it gives -wal and -shm the same mode. */
export function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // An existing file must not be opened here: closing it would drop the locks that this process holds on it through SQLite.
  if (!existsSync(path)) closeSync(openSync(path, 'wx', 0o600));
}

/** Opens a database in WAL mode in a folder that is not writable. That works only if the file is declared immutable. */
function openImmutable(open: Open, path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return open(url, { readOnly: true });
}

function openReadOnly(open: Open, { path, store, busyTimeoutMs }: DatabaseOptions): OpenedDatabase {
  // Another process that closes the database or creates its tables may keep readers out for a moment.
  let db = open(path, { readOnly: true, timeout: busyTimeoutMs });
  try {
    db.prepare('pragma user_version').get();
  } catch (error) {
    db.close();
    if (!isLogRefused(error) || existsSync(`${path}-wal`)) throw error;
    db = openImmutable(open, path);
  }
  try {
    const layout = checkLayout(db, store);
    if (layout === 0) throw new CairnError('STORE_UNAVAILABLE', { store, reason: 'it is empty' });
    requireWhole(db, path, store);
    readAsNewest(db, layout);
    return { db, layout };
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Checks that the file can be written. SQLite itself opens a read-only file without an error, and cannot read one in a folder that is not
 * writable.
 */
function requireWritable(path: string, store: string): void {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new CairnError('STORE_READ_ONLY', { store, reason: (error as Error).message }, { cause: error });
  }
}

function openWritable(open: Open, options: DatabaseOptions): OpenedDatabase {
  const { path, store, busyTimeoutMs, walAutoCheckpointPages, identity } = options;
  createFile(path);
  const db = open(path);
  try {
    requireWritable(path, store);
    db.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    const layout = checkLayout(db, store);
    if (layout > 0) requireWhole(db, path, store);
    if (layout < layoutVersion) createLayout(db, store, () => growWal(path));
    if (identity !== undefined) takeIdentity(db, identity);
    // The driver waits only briefly, because waiting blocks the whole process. The write queue does the rest of the waiting.
    db.exec(`pragma busy_timeout = ${Math.min(busyTimeoutMs, 10)}; pragma synchronous = normal`);
    db.exec(`pragma wal_autocheckpoint = ${walAutoCheckpointPages}`);
    return { db, layout: layoutVersion };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Sets the identity. It is written only if it differs, so that most openings need not wait for writers. */
function takeIdentity(db: DatabaseSync, identity: string): void {
  const kept = new StoreIdentity(createPrepare(db), layoutVersion);
  if (kept.read() !== identity) kept.write(identity);
}

/** Opens the database. @throws STORE_UNAVAILABLE, STORE_BUSY, STORE_CORRUPT, STORE_READ_ONLY, STORE_FULL, STORE_VERSION_UNKNOWN */
export function openDatabase(options: DatabaseOptions): OpenedDatabase {
  try {
    const open = loadDriver();
    return options.isReadOnly ? openReadOnly(open, options) : openWritable(open, options);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) {
      throw new CairnError('STORE_UNAVAILABLE', { store: options.store, reason: error.message }, { cause: error });
    }
    throw mapSqliteError(error, options.store);
  }
}
