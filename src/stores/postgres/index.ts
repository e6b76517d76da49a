/** The entry point of the Postgres store. */

export { passwordFrom } from '../server-url.ts';
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from './postgres-store.ts';
export type { PgConnection, PostgresPool } from './database.ts';
export type { PostgresRole } from './layout.ts';
