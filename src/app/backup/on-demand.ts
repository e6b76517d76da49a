/** Backups for programs, loaded when one is made: few programs make any, and all of them start. */
import type { BackupOptions, BackupReport } from './back-up.ts';
import type { RestoreOptions, RestoreReport } from './restore.ts';

/**
 * @param store - the path or URL of a SQLite store
 * @param file - for the owner's eyes only; it has its name when it is whole and durable. A backup of that name is replaced, anything else refused
 * @throws CONFIG_INVALID it is no SQLite store, or the file is something else; STORE_*
 */
export async function backUp(store: string, file: string, options: BackupOptions = {}): Promise<BackupReport> {
  const made = await import('./back-up.ts');
  return made.backUp(store, file, options);
}

/**
 * All of it is verified before the store has its name: a restore that is cut off leaves no store.
 * @param file - what {@link backUp} made
 * @param store - the path or URL of the SQLite store
 * @throws CONFIG_INVALID a store is there; STORE_CORRUPT the file is no backup, or damaged; STORE_BUSY the store that is there is open; STORE_*
 */
export async function restore(file: string, store: string, options: RestoreOptions = {}): Promise<RestoreReport> {
  const made = await import('./restore.ts');
  return made.restore(file, store, options);
}
