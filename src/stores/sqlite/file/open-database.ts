/** Opens the database file with its permissions, journal mode and busy timeout. */
import {
  closeSync,
  openSync,
  readSync,
  statSync,
  writeSync,
  accessSync,
  constants,
  existsSync,
  mkdirSync,
} from 'node:fs';
import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import type { StoreSpace } from '../../../ports/store.ts';
import { type Prepare, type Statement, asBytes, readText, createPrepare } from '../tables/run-rows.ts';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkLayout, createLayout, layoutVersion, readAsNewest } from '../tables/schema.ts';
import { isLogRefused, mapSqliteError } from '../sqlite-errors.ts';

// Detects damage of the database file: quickly by its size, and page by page on request.

const fileHeaderBytes = 32;
const frameHeaderBytes = 24;

/** The most faults that are reported. */
const reportedMax = 20;

/**
 * Compares the file's size with the database's number of pages. A page that is missing from the file must be in the log: the last commits
 * before a kill are only there, and also pages that an interrupted copy of the log had not reached.
 *
 * This check is needed because SQLite reads missing parts of a last page as zeros, so that rows would disappear silently.
 *
 * @throws STORE_CORRUPT the file was cut
 */
function requireWhole(db: DatabaseSync, path: string, store: string): void {
  // During a read transaction, no page that it sees leaves the log before it is in the file.
  db.exec('begin');
  try {
    const pages = readCount(db, 'page_count');
    const pageBytes = readCount(db, 'page_size');
    const { size } = statSync(path);
    if (size >= pages * pageBytes) return;
    const first = Math.floor(size / pageBytes) + 1;
    const logged = listLoggedPages(`${path}-wal`, pageBytes);
    const missing = Array.from({ length: pages - first + 1 }, (_, index) => first + index);
    const lost = missing.filter((page) => !logged.has(page));
    if (lost.length === 0) return;
    const reason = `its file was cut: it has ${size} bytes where ${pages * pageBytes} belong`;
    throw new CairnError('STORE_CORRUPT', { store, reason });
  } finally {
    db.exec('rollback');
  }
}

function readCount(db: DatabaseSync, pragma: string): number {
  return Number(Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0]);
}

/** The pages in the log. Frames of an earlier use of the log have other salts. See https://www.sqlite.org/fileformat.html#walformat */
function listLoggedPages(path: string, pageBytes: number): ReadonlySet<number> {
  const pages = new Set<number>();
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < fileHeaderBytes) return pages;
  // Open the log, not the database: closing a database file would drop the locks that this process holds on it.
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(fileHeaderBytes);
    readSync(file, header, 0, fileHeaderBytes, 0);
    const frame = Buffer.alloc(frameHeaderBytes);
    for (let at = fileHeaderBytes; at + frameHeaderBytes + pageBytes <= size; at += frameHeaderBytes + pageBytes) {
      readSync(file, frame, 0, frameHeaderBytes, at);
      if (header.compare(frame, 8, 16, 16, 24) !== 0) break;
      pages.add(frame.readUInt32BE(0));
    }
    return pages;
  } finally {
    closeSync(file);
  }
}

/** Checks every page, and searches for histories without a run. Returns one line for each fault. */
export function findDamage(db: DatabaseSync): readonly string[] {
  const rows = db.prepare(`pragma quick_check(${reportedMax})`).all();
  return [...rows.map((row) => String(Object.values(row)[0])).filter((line) => line !== 'ok'), ...findLostRuns(db)];
}

/**
 * Finds checkpoints whose run is lost. A run's id is only in its row; without it, the run cannot be found although its checkpoints are
 * there.
 */
/** The size of the file's pages, and of those that removed rows have freed. */
export function readSpace(db: DatabaseSync): StoreSpace {
  const pageBytes = readCount(db, 'page_size');
  return { sizeBytes: pageBytes * readCount(db, 'page_count'), freeBytes: pageBytes * readCount(db, 'freelist_count') };
}

function findLostRuns(db: DatabaseSync): readonly string[] {
  const lost = db.prepare(
    `select run, count(*) as count from checkpoints where run not in (select no from runs) group by run limit ${reportedMax}`,
  );
  return lost
    .all()
    .map(({ run, count }) => `${Number(count)} checkpoints are there of run number ${Number(run)}, whose row is gone`);
}

// Grows the write-ahead log to its full size at once, so that syncing a commit need not extend the file.

/** 256 pages of 16 KiB, after which SQLite copies the log into the database and starts it again. */
const walBytes: number = 4 * 1024 * 1024;

/**
 * Appends zeros to the log up to its full size. SQLite reads the log up to the first frame with a wrong checksum, which zeros have.
 *
 * Must be called inside of a write transaction, while no other process can append. A log that cannot be grown is only slower.
 */
export function growWal(databasePath: string): void {
  const path = `${databasePath}-wal`;
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined || size >= walBytes) return;
  let file: number | undefined;
  try {
    file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(walBytes - size), 0, walBytes - size, size);
  } catch {
    // The disk is full. If that matters, the next commit reports it.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

// The identity of the store's data, stored in its file and copied with it.

export class StoreIdentity {
  readonly #select: Statement | undefined;
  readonly #update: Statement;

  /** @param layout - version of the file's tables; the first versions had no identity */
  constructor(prepare: Prepare, layout: number) {
    this.#select = layout < 3 ? undefined : prepare(`select ${asBytes('identity')} from store where one = 1`);
    this.#update = prepare('update store set identity = ? where one = 1');
  }

  read(): string {
    const row = this.#select?.().get() as { readonly identity: Uint8Array } | undefined;
    return row === undefined ? '' : readText(row.identity);
  }

  write(identity: string): void {
    this.#update().run(identity);
  }
}

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
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // Another process may have created it meanwhile. A link that leads nowhere is refused.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !existsSync(path)) throw error;
  }
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
  const stored = new StoreIdentity(createPrepare(db), layoutVersion);
  if (stored.read() !== identity) stored.write(identity);
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
