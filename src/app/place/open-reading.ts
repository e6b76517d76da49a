/** Opens a store for commands that only read: nothing is created, nothing but the store is loaded. */
import { existsSync } from 'node:fs';
import { CairnError } from '../../errors.ts';
import type { ReadContext } from '../../operations/declare/operation.ts';
import type { Store } from '../../ports/store.ts';
import { openSqliteStore } from '../../stores/sqlite/index.ts';
import { findConfig, type ConfigChoice } from '../config/find-config.ts';
import { isWorkerDead } from '../process/process-name.ts';
import { parseStoreUrl, type StorePlace } from './store-url.ts';
import { defaultTenant } from '../config/default-tenant.ts';

export interface StoreChoice extends ConfigChoice {
  /** See {@link parseStoreUrl}; undefined: that of the configuration, else the default. */
  readonly storeUrl: string | undefined;
}

/** The store that is meant. A configuration is looked for only where none was named, and read only where there is one. */
export async function chooseStore(choice: StoreChoice): Promise<StorePlace> {
  const { storeUrl, cwd } = choice;
  if (storeUrl !== undefined || findConfig(choice) === undefined) return parseStoreUrl(storeUrl, cwd);
  const { readConfig } = await import('../config/read-config.ts');
  return parseStoreUrl((await readConfig(choice)).store, cwd);
}

/** A store whose making was cut off holds nothing yet. */
function isEmptyStore(error: unknown): boolean {
  return CairnError.is(error, 'STORE_UNAVAILABLE') && error.data['reason'] === 'it is empty';
}

/** The store of a place; undefined where no run was ever kept. @throws STORE_* as the store */
export function openIfThere(place: StorePlace): Store | undefined {
  if (place.kind === 'memory' || !existsSync(place.path)) return undefined;
  try {
    return openSqliteStore({ path: place.path, readOnly: true });
  } catch (error) {
    if (isEmptyStore(error)) return undefined;
    throw error;
  }
}

/** Where no run was ever kept, there is nothing to read: an empty store stands for the one that is not there. */
async function openToRead(place: StorePlace): Promise<Store> {
  const store = openIfThere(place);
  if (store !== undefined) return store;
  const { createMemoryStore } = await import('../../stores/memory/index.ts');
  return createMemoryStore();
}

/** @throws CONFIG_INVALID, STORE_* as the store */
export async function withReading<Result>(
  choice: StoreChoice,
  read: (context: ReadContext, place: StorePlace) => Promise<Result>,
): Promise<Result> {
  const place = await chooseStore(choice);
  const store = await openToRead(place);
  try {
    return await read({ tenant: defaultTenant, store, isWorkerDead, now: Date.now }, place);
  } finally {
    await store.close();
  }
}
