/** Our stores and the bare databases they are compared with. */
import { hash } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Store } from '../src/ports/store.ts';
import { growWal } from '../src/stores/sqlite/file/open-database.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../src/stores/sqlite/index.ts';

export type Synchronous = 'normal' | 'full';

/** A checkpoint as our store keeps it. */
export interface StoredRow {
  readonly seq: number;
  readonly at: number;
  readonly checksum: Uint8Array;
  readonly body: Uint8Array;
}

const files = ['', '-wal', '-shm'] as const;

export function removeDatabase(path: string): void {
  for (const suffix of files) rmSync(`${path}${suffix}`, { force: true });
}

/** A new and empty store of ours. */
export function createStore(folder: string, durability: Synchronous, options: Partial<SqliteStoreOptions> = {}): Store {
  const path = join(folder, 'ours.db');
  removeDatabase(path);
  return openSqliteStore({ path, durability, ...options });
}

/** What our store wrote, row by row, in the order of arrival; runs are not distinguished. */
export function readStoredRows(folder: string): readonly StoredRow[] {
  const db = new DatabaseSync(join(folder, 'ours.db'), { readOnly: true });
  try {
    return db
      .prepare('select seq, at, checksum, body from checkpoints order by id')
      .all() as unknown as readonly StoredRow[];
  } finally {
    db.close();
  }
}

/** Bytes of a database that is closed. */
export function databaseBytes(folder: string): number {
  return statSync(join(folder, 'ours.db')).size;
}

export interface FloorOptions {
  readonly synchronous: Synchronous;
  /** SQLite's own page size and log instead of ours. */
  readonly hasDefaults?: boolean;
  /** Pages in the log at which SQLite copies them into the database; 0: never. */
  readonly walAutoCheckpointPages?: number;
}

/** A bare database with our driver, page size, log and settings; what it writes is what we wrote, one commit a record. */
export class FloorDatabase {
  readonly db: DatabaseSync;
  readonly #insert: (row: StoredRow) => void;

  constructor(folder: string, options: FloorOptions) {
    const path = join(folder, 'floor.db');
    removeDatabase(path);
    const db = new DatabaseSync(path);
    this.db = db;
    if (options.hasDefaults !== true) db.exec('pragma page_size = 16384');
    db.exec('pragma journal_mode = wal; begin');
    db.exec('create table rows (seq integer primary key, at integer, checksum blob, body blob)');
    if (options.hasDefaults !== true) growWal(path);
    db.exec(`commit; pragma synchronous = ${options.synchronous}`);
    if (options.hasDefaults !== true) db.exec(`pragma wal_autocheckpoint = ${options.walAutoCheckpointPages ?? 256}`);
    const insert = db.prepare('insert into rows (seq, at, checksum, body) values (?, ?, ?, ?)');
    this.#insert = ({ seq, at, checksum, body }) => insert.run(seq, at, checksum, body);
  }

  insert(row: StoredRow): void {
    this.#insert(row);
  }

  close(): void {
    this.db.close();
  }
}

/** Milliseconds that a bare loop takes to insert rows, one commit each. */
export function timeFloor(folder: string, rows: readonly StoredRow[], options: FloorOptions): number {
  const floor = new FloorDatabase(folder, options);
  const startMs = performance.now();
  for (const row of rows) floor.insert(row);
  const took = performance.now() - startMs;
  floor.close();
  return took;
}

/** What integrity costs a bare reader or writer: one hash of the bytes. */
export function hashOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
