/** Opens the database file: who may read it, which journal, how long to wait for others. */

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
  /** For messages. */
  readonly store: string;
  readonly isReadOnly: boolean;
  readonly busyTimeoutMs: number;
  readonly walAutoCheckpointPages: number;
  /** Undefined: the file keeps the one it has, or gets a random one when it is made. */
  readonly identity: string | undefined;
}

/** An open database and the layout that its tables have: an older one only if it may not be changed. */
export interface OpenedDatabase {
  readonly db: DatabaseSync;
  readonly layout: number;
}

type Open = (path: string | URL, options?: DatabaseSyncOptions) => DatabaseSync;

/** Node 22 warns that its SQLite is experimental; the warning is ours to judge, not our users' to read. */
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

/** SQLite gives a new file the mode the umask allows; ours is the owner's alone, and -wal and -shm take after it. */
export function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Never opened if it exists: closing a file drops the locks that this process holds on it through SQLite.
  if (!existsSync(path)) closeSync(openSync(path, 'wx', 0o600));
}

/** A log-mode database in a folder that cannot be written to can be read only as one that nobody changes. */
function openImmutable(open: Open, path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return open(url, { readOnly: true });
}

function openReadOnly(open: Open, { path, store, busyTimeoutMs }: DatabaseOptions): OpenedDatabase {
  // The last close of another process, or its making of the tables, keeps readers out for a moment.
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

/** SQLite opens a file that it may not write to without a word, and cannot read one whose folder it may not write to. */
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
    // A short wait in the driver, which stops the whole process; the write queue waits the rest.
    db.exec(`pragma busy_timeout = ${Math.min(busyTimeoutMs, 10)}; pragma synchronous = normal`);
    db.exec(`pragma wal_autocheckpoint = ${walAutoCheckpointPages}`);
    return { db, layout: layoutVersion };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Written only where it is another one: most openings must not wait for who writes. */
function takeIdentity(db: DatabaseSync, identity: string): void {
  const kept = new StoreIdentity(createPrepare(db), layoutVersion);
  if (kept.read() !== identity) kept.write(identity);
}

/** @throws STORE_UNAVAILABLE, STORE_BUSY, STORE_CORRUPT, STORE_READ_ONLY, STORE_FULL, STORE_VERSION_UNKNOWN */
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
