/** The entry point of the SQLite store. */

export { type SqliteStoreOptions, openSqliteMemories, type SqliteMemoriesOptions } from './sqlite-memories.ts';
export { BackupFile, copyDatabase, type BackupLabel } from './file/backup-file.ts';
export { openSqliteStore } from './sqlite-store.ts';
