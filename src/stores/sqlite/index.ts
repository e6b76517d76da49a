/** The door of the SQLite store. */

export type { SqliteStoreOptions } from './sqlite-options.ts';
export { openSqliteStore } from './sqlite-store.ts';
