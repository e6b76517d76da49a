/** Backup and restore for programs. The code is loaded on first use, because few programs need it. */
import type { BackupOptions, BackupReport } from './back-up.ts';
import type { RestoreOptions, RestoreReport } from './restore.ts';

/**
 * Makes a backup.
 * @param store - path or URL of a SQLite store
 * @param file - path of the backup, readable by its owner only. It gets its name when it is complete and durable. An existing backup of
 * this name is replaced; any other file is refused
 * @throws CONFIG_INVALID the store is not a SQLite store, or the file is something else; STORE_*
 */
export async function backUp(store: string, file: string, options: BackupOptions = {}): Promise<BackupReport> {
  const made = await import('./back-up.ts');
  return made.backUp(store, file, options);
}

/**
 * Restores a backup. Everything is verified before the store gets its name, so an interrupted restore leaves no store.
 * @param file - a backup made by {@link backUp}
 * @param store - path or URL of the SQLite store to create
 * @throws CONFIG_INVALID there is a store already; STORE_CORRUPT the file is damaged or not a backup; STORE_BUSY the existing store is
 * open; STORE_*
 */
export async function restore(file: string, store: string, options: RestoreOptions = {}): Promise<RestoreReport> {
  const made = await import('./restore.ts');
  return made.restore(file, store, options);
}
