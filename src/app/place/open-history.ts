/** Opens the histories of a store, for programs that have no graph at hand. */
import { History } from '../../history/history.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import type { WritePlace } from '../../history/place/place.ts';
import { openExplainer } from './open-explainer.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { blobsBeside } from './blobs-beside.ts';
import { defaultTenant } from '../config/default-tenant.ts';
import { isWorkerDead } from '../process/process-name.ts';
import { createSystemIds } from '../process/system-ids.ts';

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

/** The place of a store's histories. @throws CONFIG_INVALID the store is of another kind and no blob store is given */
export function openPlace(store: Store, options: HistoryOptions = {}): WritePlace {
  const { blobs = blobsBeside(store), tenant = defaultTenant } = options;
  return { tenant, store, blobs, ids: createSystemIds(), isWorkerDead, now: Date.now, explainChoice: openExplainer };
}

/**
 * Opens the histories of all runs in a store, whichever graphs they have. The caller closes the store.
 * @throws CONFIG_INVALID the store is of another kind and no blob store is given
 */
export function openHistory(store: Store, options: HistoryOptions = {}): History {
  refuseUnknownKeys('openHistory', options, historyOptionNames);
  return new History(openPlace(store, options), { byPrefix: options.byPrefix ?? false });
}
