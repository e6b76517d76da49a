/** A Postgres server to measure on, which waits for its disk as a server does, and stores of ours that count their statements. */
import type { Store } from '../src/ports/store.ts';
import { openPostgresStore, type PgConnection, type PostgresPool } from '../src/stores/postgres/index.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { NotMeasured } from './group.ts';

/** What is used of a pool of the package `pg`. */
interface PlainPool extends PostgresPool {
  query(
    statement: string | { name?: string; text: string; values?: readonly unknown[] },
    values?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[] }>;
}

/** A store, and how many statements it has sent. */
export interface CountedStore {
  readonly store: Store;
  statements: number;
  readonly close: () => Promise<void>;
}

export interface MeasuredServer {
  readonly url: string;
  /** For what is no statement of a store. */
  readonly pool: PlainPool;
  /** Opens a store over a pool of its own. */
  readonly open: (schema?: string) => CountedStore;
  /** Bytes that the server has written to its log so far. */
  readonly readWal: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

let databases = 0;

/** Calls a function with the URL of a database of its own, which is removed afterwards. */
export async function inOwnDatabase<T>({ url, pool }: MeasuredServer, use: (url: string) => Promise<T>): Promise<T> {
  const name = `own_${(databases += 1)}`;
  await pool.query(`create database ${name}`);
  const result = await use(Object.assign(new URL(url), { pathname: `/${name}` }).href);
  await pool.query(`drop database ${name} with (force)`);
  return result;
}

/** A page of the log is written whole the first time after each of the server's own checkpoints, so none of those comes meanwhile. */
const settings = ['max_wal_size=4GB', 'checkpoint_timeout=1h', 'autovacuum_naptime=5s'];

/**
 * Starts a server; CAIRN_BENCH_POSTGRES is the URL of another to measure on.
 * @param more - settings besides, for one that is started
 * @throws NotMeasured there is none
 */
export async function startServer(more: readonly string[] = []): Promise<MeasuredServer> {
  const named = process.env['CAIRN_BENCH_POSTGRES'];
  const server = named === undefined ? await startPostgres([...settings, ...more]) : undefined;
  if (typeof server === 'string') throw new NotMeasured(server);
  const url = server?.url ?? named ?? '';
  const packageName = 'pg';
  const { default: pg } = (await import(packageName)) as { default: { Pool: new (settings: object) => PlainPool } };
  const openPool = (): PlainPool => {
    const pool = new pg.Pool({ connectionString: url, max: 8 });
    // The server may end before the open connections of a failed measurement.
    pool.on('error', () => undefined);
    return pool;
  };
  const pool = openPool();
  return {
    url,
    pool,
    open: (schema = 'cairn') => openCounted(openPool(), schema),
    readWal: async () => {
      const { rows } = await pool.query(`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as bytes`);
      return Number(rows[0]?.['bytes']);
    },
    stop: async () => {
      await pool.end();
      await server?.stop();
    },
  };
}

function openCounted(pool: PostgresPool, schema: string): CountedStore {
  const counting = new WeakSet<PgConnection>();
  const counted: PostgresPool = {
    connect: async () => {
      const connection = await pool.connect();
      if (!counting.has(connection)) {
        counting.add(connection);
        const query = connection.query.bind(connection);
        connection.query = (statement) => {
          opened.statements += 1;
          return query(statement);
        };
      }
      return connection;
    },
    end: () => pool.end(),
    on: (event, listener) => pool.on(event, listener),
  };
  const store = openPostgresStore({ pool: counted, schema });
  const opened: CountedStore = {
    store,
    statements: 0,
    close: async () => {
      await store.close();
      await pool.end();
    },
  };
  return opened;
}

/** Rows of checkpoints as the store wrote them, the newest `count` in the order in which they came. */
export async function readRows(
  { pool }: MeasuredServer,
  count: number,
): Promise<readonly (readonly [run: unknown, seq: unknown, at: unknown, checksum: unknown, body: unknown])[]> {
  const { rows } = await pool.query(
    `select run, seq, at, checksum, body from cairn.checkpoints order by ctid desc limit ${count}`,
  );
  return rows.reverse().map((row) => [row['run'], row['seq'], row['at'], row['checksum'], row['body']] as const);
}

/** An empty table of the form of our checkpoints, for what is written without us. */
export async function makeFloorTable({ pool }: MeasuredServer): Promise<void> {
  await pool.query(`drop table if exists floor; create table floor (
    run bigint not null, seq bigint not null, at bigint not null, checksum bytea not null, body bytea not null,
    primary key (run, seq)); alter table floor alter column body set storage external`);
}
