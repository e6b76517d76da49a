/**
 * The file of a backup: a copy of the database at one moment, with the blobs that it refers to in a table of their own. Until it is sealed
 * it is an ordinary store. A sealed file cannot be opened as a store, so that nobody uses it without its blobs.
 */
import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import { mapSqliteError } from '../sqlite-errors.ts';
import { closeSync, openSync } from 'node:fs';
import { loadDriver } from './open-database.ts';
import { checkOf, type CheckedColumns } from '../tables/row-check.ts';
import { asBytes } from '../tables/run-rows.ts';
import { applicationId, checkLayout } from '../tables/schema.ts';

// The blobs of a backup, stored inside its file in pieces, because a blob may be larger than SQLite's largest value.

const pieceBytes = 4 * 1024 * 1024;

/** The blobs of a backup, readable through the blob port. */
export interface BackupBlobs extends BlobStore {
  /** Lists all of them. */
  readonly rows: () => readonly { readonly tenant: string; readonly hash: string }[];
  /** Adds a blob that is not there yet, piece by piece: all of it, or nothing. */
  readonly add: (tenant: string, hash: string, pieces: AsyncIterable<Uint8Array>) => Promise<void>;
}

const blobTable =
  'create table if not exists backup_blobs (tenant text not null, hash text not null, no integer not null, body blob not null, primary key (tenant, hash, no))';

function openBackupBlobs(db: DatabaseSync, name: string): BackupBlobs {
  const one = db.prepare('select body from backup_blobs where tenant = ? and hash = ? and no = ?');
  const all = db.prepare('select distinct tenant, hash from backup_blobs order by tenant, hash');
  const insert = db.prepare('insert into backup_blobs (tenant, hash, no, body) values (?, ?, ?, ?)');
  const pieceOf = (tenant: string, hash: string, no: number): Uint8Array | undefined =>
    one.get(tenant, hash, no)?.['body'] as Uint8Array | undefined;
  const add = async (tenant: string, hash: string, pieces: AsyncIterable<Uint8Array>): Promise<void> => {
    let no = 0;
    try {
      db.exec('begin');
      for await (const piece of pieces) {
        for (let from = 0; from < piece.length; from += pieceBytes) {
          insert.run(tenant, hash, no, piece.subarray(from, from + pieceBytes));
          no += 1;
        }
      }
      if (no === 0) insert.run(tenant, hash, 0, new Uint8Array());
      db.exec('commit');
    } catch (error) {
      if (db.isTransaction) db.exec('rollback');
      throw CairnError.is(error) ? error : mapSqliteError(error, name);
    }
  };
  async function* stream(tenant: string, hash: string): AsyncGenerator<Uint8Array> {
    for (let no = 0; ; no += 1) {
      const piece = pieceOf(tenant, hash, no);
      if (piece === undefined && no === 0) throw new CairnError('BLOB_NOT_FOUND', { hash });
      if (piece === undefined) return;
      yield piece;
    }
  }
  return {
    name,
    rows: () => all.all() as unknown as { readonly tenant: string; readonly hash: string }[],
    add,
    has: (tenant, hash) => Promise.resolve(pieceOf(tenant, hash, 0) !== undefined),
    touch: (tenant, hash) => Promise.resolve(pieceOf(tenant, hash, 0) !== undefined),
    put: () => Promise.reject(new CairnError('STORE_READ_ONLY', { store: name })),
    sweep: () => Promise.resolve({ rows: [] }),
    remove: () => Promise.resolve(false),
    stream,
    get: async (tenant, hash) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of stream(tenant, hash)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
  };
}

/** 'Cabk', the SQLite application id that marks a backup. */
const backupId = 0x4361626b;

/** Copy all pages in one step. A copy in several steps would start again whenever another process writes. */
const allPages = 2 ** 31 - 1;

/** What a backup says about itself. */
export interface BackupLabel {
  /** When it was made, in epoch ms. */
  readonly madeAt: number;
  /** Faults that the store had already, as `CHECKPOINT CODE`. */
  readonly faults: readonly string[];
}

/**
 * Copies a database in its current state while others write to it. @param to - a file that does not exist yet; readable by its owner only.
 * @throws STORE_*
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const store = `sqlite:${from}`;
  try {
    closeSync(openSync(to, 'wx', 0o600));
    const source = loadDriver()(from, { readOnly: true, timeout: 5_000 });
    try {
      if (checkLayout(source, store) === 0) throw new CairnError('STORE_UNAVAILABLE', { store, reason: 'it is empty' });
      await process.getBuiltinModule('node:sqlite').backup(source, to, { rate: allPages });
    } finally {
      source.close();
    }
    const copy = loadDriver()(to);
    try {
      // Without WAL the copy is a single file.
      copy.exec(`pragma journal_mode = delete; ${blobTable};
        create table if not exists backup (one integer primary key, label text not null)`);
    } finally {
      copy.close();
    }
  } catch (error) {
    throw mapSqliteError(error, store);
  }
}

const rowsAtOnce = 500;
const checkedTexts = ['tenant', 'run_id', 'key', 'graph_id', 'parent_run', 'queue', 'queue_key'];

/** A backup that is being made or restored. */
export class BackupFile {
  readonly #db: DatabaseSync;
  /** Name for messages. */
  readonly name: string;
  readonly blobs: BackupBlobs;

  /** @throws STORE_CORRUPT the file is not a backup (`isSealed`), or not a store */
  constructor(path: string, isSealed: boolean) {
    this.name = `backup:${path}`;
    try {
      this.#db = loadDriver()(path);
      const id = Object.values(this.#db.prepare('pragma application_id').get() ?? {})[0];
      if (id !== (isSealed ? backupId : applicationId)) {
        this.#db.close();
        throw new CairnError('STORE_CORRUPT', { store: this.name, reason: 'it is no backup of a store' });
      }
      // The caller syncs the complete file, or deletes it.
      this.#db.exec('pragma synchronous = off; pragma journal_mode = memory');
      this.blobs = openBackupBlobs(this.#db, this.name);
    } catch (error) {
      throw CairnError.is(error) ? error : mapSqliteError(error, this.name);
    }
  }

  /**
   * Changes the meta of every run of a store that nobody else has open. What is damaged stays recognisable as that.
   *
   * @param change - the new meta; undefined to leave it
   */
  static changeMetas(path: string, change: (meta: Uint8Array) => Uint8Array | undefined): void {
    const name = `sqlite:${path}`;
    const db = loadDriver()(path);
    try {
      const read = db.prepare(
        `select no, created_at, parent_seq, priority, due, meta, check_value, ${checkedTexts.map(asBytes).join(', ')}
         from runs where (tenant, run_id) > (cast(? as text), cast(? as text)) order by runs.tenant, runs.run_id limit ${rowsAtOnce}`,
      );
      const write = db.prepare(
        'update runs set meta = ?, check_value = ? where tenant = cast(? as text) and run_id = cast(? as text)',
      );
      db.exec('begin immediate');
      let last: readonly [Uint8Array, Uint8Array] = [new Uint8Array(), new Uint8Array()];
      for (;;) {
        const rows = read.all(...last) as unknown as (CheckedColumns & { readonly check_value: number | null })[];
        for (const row of rows) {
          const meta = change(row.meta);
          const isWhole = row.check_value !== null && row.check_value === checkOf(row);
          if (meta !== undefined)
            write.run(meta, isWhole ? checkOf({ ...row, meta }) : row.check_value, row.tenant, row.run_id);
        }
        const end = rows.at(-1);
        if (end === undefined) break;
        last = [end.tenant, end.run_id];
      }
      db.exec('commit');
    } catch (error) {
      throw mapSqliteError(error, name);
    } finally {
      db.close();
    }
  }

  tenants(): readonly string[] {
    return this.#db
      .prepare('select distinct tenant from runs order by tenant')
      .all()
      .map((row) => String(row['tenant']));
  }

  label(): BackupLabel {
    return JSON.parse(String(this.#db.prepare('select label from backup').get()?.['label'])) as BackupLabel;
  }

  /** Seals the file, which makes it a backup. */
  seal(label: BackupLabel): void {
    this.#do(() => {
      this.#db.prepare('insert or replace into backup (one, label) values (1, ?)').run(JSON.stringify(label));
      this.#db.exec(`pragma application_id = ${backupId}`);
    });
  }

  /** Makes it a store again, without the blobs. */
  unseal(): void {
    this.#do(() => {
      this.#db.exec('drop table backup_blobs; drop table backup; vacuum');
      this.#db.exec(`pragma application_id = ${applicationId}; pragma journal_mode = wal`);
    });
  }

  close(): void {
    this.#db.close();
  }

  #do(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw mapSqliteError(error, this.name);
    }
  }
}
