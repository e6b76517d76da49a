/** The entry point of the Postgres store. */

export { openPostgresStore, passwordFrom, type PostgresStore, type PostgresStoreOptions } from './postgres-store.ts';
export type { PgConnection, PostgresPool } from './database.ts';
export type { PostgresRole } from './layout.ts';
