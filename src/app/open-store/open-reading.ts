/** Opens a store for commands that only read. Nothing is created, and nothing but the store is loaded. */
import { existsSync } from 'node:fs';
import type { ReadContext } from '../../operations/contract/operation.ts';
import type { Store } from '../../ports/store.ts';
import { findConfig, type ConfigChoice } from '../config/find-config.ts';
import { isWorkerDead } from '../process/process-ids.ts';
import { chooseBlobs } from './open-blobs.ts';
import { kindOf, type StorePlace } from './store-kinds.ts';
import { choosePlace, parseStoreUrl } from './store-url.ts';
import { defaultTenant } from '../config/default-tenant.ts';

const nowhere: StorePlace = { kind: 'memory' };

export interface StoreChoice extends ConfigChoice {
  /** URL of the store, see {@link parseStoreUrl}; undefined means the configuration's, else the default. */
  readonly storeUrl: string | undefined;
  /** URL of its blobs, see `openStore`; undefined means the configuration's if no store is named, else beside the store. */
  readonly blobsUrl?: string | undefined;
}

/** A store, and the URL of its blobs if they are elsewhere than beside it. */
export interface ChosenPlaces {
  readonly place: StorePlace;
  readonly blobsUrl: string | undefined;
}

/** The chosen store with its blobs. A configuration is looked for only if no store was named. */
export async function choosePlaces(choice: StoreChoice): Promise<ChosenPlaces> {
  const { storeUrl, blobsUrl, cwd } = choice;
  const { data, code } = storeUrl === undefined ? findConfig(choice) : {};
  if (data === undefined && code === undefined) return { place: parseStoreUrl(storeUrl, cwd), blobsUrl };
  const { readConfig } = await import('../config/read-config.ts');
  const { store, blobs } = await readConfig(choice);
  return { place: choosePlace(undefined, store, cwd), blobsUrl: chooseBlobs(choice, blobs) };
}

/** The chosen store. */
export async function chooseStore(choice: StoreChoice): Promise<StorePlace> {
  return (await choosePlaces(choice)).place;
}

/** Path of the chosen store, if nothing is there. @throws CONFIG_INVALID, CODE_NOT_RUN */
export async function missingStore(choice: StoreChoice): Promise<string | undefined> {
  const place = await chooseStore(choice);
  return 'path' in place && !existsSync(place.path) ? place.path : undefined;
}

/** Opens the store for reading. If it does not exist, an empty one in memory takes its place. */
export async function openToRead(place: StorePlace): Promise<Store> {
  return (await kindOf(place).openToRead(place)) ?? kindOf(nowhere).open(nowhere);
}

/** Opens a store, calls a function with it, and closes it. @throws CONFIG_INVALID, STORE_* as the store */
export async function withReading<Result>(
  choice: StoreChoice,
  read: (context: ReadContext, blobsUrl: string | undefined) => Promise<Result>,
): Promise<Result> {
  const { place, blobsUrl } = await choosePlaces(choice);
  const store = await openToRead(place);
  try {
    return await read({ tenant: defaultTenant, store, isWorkerDead, now: Date.now }, blobsUrl);
  } finally {
    await store.close();
  }
}
