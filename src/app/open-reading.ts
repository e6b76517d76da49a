/** Opens a store for commands that only read: nothing is created, nothing but the store is loaded. */
import { existsSync } from 'node:fs';
import type { ReadContext } from '../operations/operation.ts';
import type { Store } from '../ports/store.ts';
import { openSqliteStore } from '../stores/sqlite/index.ts';
import { isWorkerDead } from './process-name.ts';
import { parseStoreUrl, type StorePlace } from './store-url.ts';

export const defaultTenant = 'default';

export interface StoreChoice {
  /** See {@link parseStoreUrl}; undefined: the default. */
  readonly storeUrl: string | undefined;
  readonly cwd: string;
}

/** Where no run was ever kept, there is nothing to read: an empty store stands for the one that is not there. */
async function openToRead(place: StorePlace): Promise<Store> {
  if (place.kind === 'sqlite' && existsSync(place.path)) return openSqliteStore({ path: place.path, readOnly: true });
  const { createMemoryStore } = await import('../stores/memory/index.ts');
  return createMemoryStore();
}

/** @throws CONFIG_INVALID, STORE_* as the store */
export async function withReading<Result>(
  { storeUrl, cwd }: StoreChoice,
  read: (context: ReadContext, place: StorePlace) => Promise<Result>,
): Promise<Result> {
  const place = parseStoreUrl(storeUrl, cwd);
  const store = await openToRead(place);
  try {
    return await read({ tenant: defaultTenant, store, isWorkerDead, now: Date.now }, place);
  } finally {
    await store.close();
  }
}
