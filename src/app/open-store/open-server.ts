/** Opens stores on servers for commands, with the password of the environment. Their code is loaded only then. */
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import type { PostgresRole, PostgresStore } from '../../stores/postgres/index.ts';
import type { RedisStore } from '../../stores/redis/index.ts';
import type { StorePlace } from './store-url.ts';

/** Where wake-ups are heard if a pooler stands before the server, as an option of `openPostgresStore`. */
export function listenOption(): { readonly listenUrl?: string } {
  const listenUrl = process.env['CAIRN_LISTEN_URL'];
  return listenUrl === undefined ? {} : { listenUrl };
}

async function openPostgres(url: string): Promise<PostgresStore> {
  const { openPostgresStore, passwordFrom } = await import('../../stores/postgres/index.ts');
  return openPostgresStore({ url, password: passwordFrom(process.env), ...listenOption() });
}

async function openRedis(url: string): Promise<RedisStore> {
  const { openRedisStore, passwordFrom } = await import('../../stores/redis/index.ts');
  return openRedisStore({ url, password: passwordFrom(process.env) });
}

/** @throws CONFIG_INVALID the URL; CONFIG_MISSING_PEER; STORE_UNAVAILABLE the server does not answer in time; STORE_VERSION_UNKNOWN */
export async function openServer({
  kind,
  url,
}: Extract<StorePlace, { url: string }>): Promise<Store & { blobs: BlobStore }> {
  const store = kind === 'redis' ? await openRedis(url) : await openPostgres(url);
  try {
    await store.ready();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Brings the tables to the newest layout, and grants a role of the database its rights.
 * @returns the version of the layout before and after
 * @throws as {@link openServer}; STORE_READ_ONLY this role may not; CONFIG_INVALID there is no role of that name
 */
export async function migrateStore(
  url: string,
  grant: { readonly role: PostgresRole; readonly name: string } | undefined,
): Promise<{ readonly name: string; readonly from: number; readonly to: number }> {
  const store = await openPostgres(url);
  try {
    const versions = await store.migrate();
    if (grant !== undefined) await store.grant(grant.name, grant.role);
    return { name: store.name, ...versions };
  } finally {
    await store.close();
  }
}
