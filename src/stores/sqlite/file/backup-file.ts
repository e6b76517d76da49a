/**
 * The file of a backup: a copy of the database as it was at one moment, with the blobs it names in a table of their own. Until it is
 * sealed it is a database like that it was copied from; a sealed one is no store any more, so that nobody opens it as one and misses the blobs.
 */
import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import { blobTable, openBackupBlobs, type BackupBlobs } from './backup-blobs.ts';
import { loadDriver } from './open-database.ts';
import { applicationId, checkLayout } from '../tables/schema.ts';
import { mapSqliteError } from '../sqlite-errors.ts';

/** 'Cabk': tells backups from stores. */
const backupId = 0x4361626b;

/** All pages in one step: a copy made in several would begin anew whenever another process has written. */
const allPages = 2 ** 31 - 1;

/** What a backup says of itself. */
export interface BackupLabel {
  /** Epoch ms. */
  readonly madeAt: number;
  /** What was wrong with the store already, as `CHECKPOINT CODE`. */
  readonly faults: readonly string[];
}

/** Copies a database, as it is now, while others write to it. @param to - not there yet; for the owner's eyes only. @throws STORE_* */
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
      // One file, with no log beside it.
      copy.exec(`pragma journal_mode = delete; ${blobTable};
        create table if not exists backup (one integer primary key, label text not null)`);
    } finally {
      copy.close();
    }
  } catch (error) {
    throw mapSqliteError(error, store);
  }
}

/** A backup that is being made, or taken apart. */
export class BackupFile {
  readonly #db: DatabaseSync;
  /** For messages. */
  readonly name: string;
  readonly blobs: BackupBlobs;

  /** @throws STORE_CORRUPT what is there is no backup (`isSealed`), or no store */
  constructor(path: string, isSealed: boolean) {
    this.name = `backup:${path}`;
    try {
      this.#db = loadDriver()(path);
      const id = Object.values(this.#db.prepare('pragma application_id').get() ?? {})[0];
      if (id !== (isSealed ? backupId : applicationId)) {
        this.#db.close();
        throw new CairnError('STORE_CORRUPT', { store: this.name, reason: 'it is no backup of a store' });
      }
      // Whoever makes the file syncs it once it is whole, and throws it away if it is not.
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

  /** Makes it a backup, whole from here on. */
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
