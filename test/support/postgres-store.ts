/** Postgres stores for tests: one server a test file, one schema, emptied between tests. */
import { openPostgresStore, type PostgresStore } from '../../src/stores/postgres/index.ts';
import { contentTables } from '../../src/stores/postgres/layout.ts';
import { startPostgres } from './postgres-server.ts';

/** A server to test with. */
export interface PostgresUnderTest {
  /** URL of a database, with its password. */
  readonly url: string;
  /** Runs statements in a connection of its own pool. */
  readonly run: (text: string) => Promise<readonly Record<string, unknown>[]>;
  /** Removes all rows, and sets the store's clock right. */
  readonly empty: () => Promise<void>;
  /** Advances the store's clock by this many milliseconds. */
  readonly advance: (byMs: number) => Promise<void>;
  /** Crashes the server and starts it again; absent for a server that somebody else started. */
  readonly crash?: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface TestPool {
  query(text: string): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
}

const clockText = (skewMs: number): string =>
  `create or replace function cairn.now_ms() returns bigint language sql stable parallel safe
  as $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint + ${skewMs} $$`;

/** Starts a server, or uses the one that CAIRN_TEST_POSTGRES names. @returns why there is none, if there is none */
export async function preparePostgres(): Promise<PostgresUnderTest | string> {
  const given = process.env.CAIRN_TEST_POSTGRES;
  const server = given === undefined ? await startPostgres() : undefined;
  if (typeof server === 'string') return server;
  const url = server?.url ?? given ?? '';
  const packageName = 'pg';
  const { default: pg } = (await import(packageName)) as {
    default: { Pool: new (settings: object) => TestPool };
  };
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  // A server that crashes ends its connections; an error that nobody hears would end the process.
  pool.on('error', () => undefined);
  const run = async (text: string): Promise<readonly Record<string, unknown>[]> => (await pool.query(text)).rows;
  const store = openPostgresStore({ url });
  await store.migrate();
  await store.close();
  let skewMs = 0;
  const setClock = async (ms: number): Promise<void> => {
    skewMs = ms;
    await run(clockText(ms));
  };
  return {
    url,
    run,
    advance: (byMs) => setClock(skewMs + byMs),
    empty: async () => {
      // Deleting is quicker than truncating where tables have few rows.
      await run(contentTables.map((table) => `delete from cairn.${table}`).join('; '));
      if (skewMs !== 0) await setClock(0);
    },
    ...(server !== undefined && { crash: server.crash }),
    stop: async () => {
      await pool.end();
      await server?.stop();
    },
  };
}

/** A store of its own on the server. */
export const openOn = (server: PostgresUnderTest): PostgresStore => openPostgresStore({ url: server.url });
