/** Opens the histories of a store, for programs that have no graph at hand. */
import type { ChoiceExplainer } from '../../graph/graph.ts';
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { parseStoreUrl } from './store-url.ts';
import { History } from '../../history/history.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import type { WritePlace } from '../../history/place/place.ts';
import { defaultTenant } from '../config/default-tenant.ts';
import { isWorkerDead, createSystemIds } from '../process/process-ids.ts';

// Loads the code that explains choices made by dialects, when a post-mortem is requested.

export async function openExplainer(): Promise<ChoiceExplainer> {
  return (await import('../../dialects/explain-choice.ts')).explainChoice;
}

// The blob store that belongs to a store. It lives as long as the store, and every interface finds it at the same place.

/** Blobs of stores in memory. Engines over the same store share them. */
const blobsInMemory = new WeakMap<Store, BlobStore>();

/**
 * The store's own blobs, those beside a SQLite database or in a folder of runs, or some in memory. @throws CONFIG_INVALID the store is of
 * another kind
 */
export function blobsBeside(store: Store): BlobStore {
  if (store.blobs !== undefined) return store.blobs;
  if (store.capabilities.durability === 'none') {
    const blobs = blobsInMemory.get(store) ?? createMemoryBlobs();
    blobsInMemory.set(store, blobs);
    return blobs;
  }
  const place = /^(?:sqlite|file):/u.test(store.name) ? parseStoreUrl(store.name, process.cwd()) : undefined;
  if (place?.kind === 'sqlite' || place?.kind === 'file') return createFileBlobs(place.blobs);
  throw new CairnError('CONFIG_INVALID', {
    path: 'blobs',
    reason: `a blob store is needed beside the store ${store.name}`,
  });
}

/** Options for opening histories. */
export interface HistoryOptions {
  /** Where large values are. Default: as for `compile`, beside a SQLite database or in memory. */
  readonly blobs?: BlobStore;
  /** Tenant of the runs. Default: `default`. */
  readonly tenant?: string;
  /**
   * Whether the beginning of a run's id or key is enough to name it, as on the command line. Default: no, because a program's ids may begin
   * alike.
   */
  readonly byPrefix?: boolean;
}

export const historyOptionNames: readonly (keyof HistoryOptions)[] = ['blobs', 'tenant', 'byPrefix'];

/** The place of a store's histories. @throws CONFIG_INVALID the store is of another kind and there is no blob store */
export function openPlace(store: Store, options: HistoryOptions = {}): WritePlace {
  const { blobs = blobsBeside(store), tenant = defaultTenant } = options;
  return { tenant, store, blobs, ids: createSystemIds(), isWorkerDead, now: Date.now, explainChoice: openExplainer };
}

/**
 * Opens the histories of all runs in a store, whichever graphs they have. The caller closes the store.
 * @throws CONFIG_INVALID the store is of another kind and there is no blob store
 */
export function openHistory(store: Store, options: HistoryOptions = {}): History {
  refuseUnknownKeys('openHistory', options, historyOptionNames);
  return new History(openPlace(store, options), { byPrefix: options.byPrefix ?? false });
}
