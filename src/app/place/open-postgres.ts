/** Opens the Postgres store of a URL, with the password of the environment. Its code is loaded only then. */
import type { PostgresStore } from '../../stores/postgres/index.ts';

/** @throws CONFIG_INVALID the URL; CONFIG_MISSING_PEER; STORE_UNAVAILABLE the server does not answer in time; STORE_VERSION_UNKNOWN */
export async function openPostgres(url: string): Promise<PostgresStore> {
  const { openPostgresStore, passwordFrom } = await import('../../stores/postgres/index.ts');
  const listenUrl = process.env['CAIRN_LISTEN_URL'];
  const store = openPostgresStore({
    url,
    password: passwordFrom(process.env),
    ...(listenUrl !== undefined && { listenUrl }),
  });
  try {
    await store.ready();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}
