/** The door of the SQLite store. */

export { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';
