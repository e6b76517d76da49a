/**
 * The file of a backup: a copy of the database at one moment, with the blobs that it refers to in a table of their own. Until it is sealed
 * it is an ordinary store. A sealed file cannot be opened as a store, so that nobody uses it without its blobs.
 */
import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import { blobTable, openBackupBlobs, type BackupBlobs } from './backup-blobs.ts';
import { loadDriver } from './open-database.ts';
import { applicationId, checkLayout } from '../tables/schema.ts';
import { mapSqliteError } from '../sqlite-errors.ts';

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
      // Syncing is left to the caller, who syncs the complete file or deletes it.
      this.#db.exec('pragma synchronous = off; pragma journal_mode = memory');
      this.blobs = openBackupBlobs(this.#db, this.name);
    } catch (error) {
      throw CairnError.is(error) ? error : mapSqliteError(error, this.name);
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
