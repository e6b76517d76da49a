/** The histories of a store, for programs that have no graph at hand. */
import { History } from '../../history/history.ts';
import type { WritePlace } from '../../history/place/place.ts';
import { openExplainer } from './open-explainer.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { blobsBeside } from './blobs-beside.ts';
import { defaultTenant } from '../config/default-tenant.ts';
import { isWorkerDead } from '../process/process-name.ts';
import { createSystemIds } from '../process/system-ids.ts';

/** What may be said of the place that a history is kept in. */
export interface HistoryOptions {
  /** Where large values are. Default: as for `compile`, beside a SQLite database or in memory. */
  readonly blobs?: BlobStore;
  /** Whose runs. Default: `default`. */
  readonly tenant?: string;
  /** Whether the beginning of a run's id or key names it, as on the command line. Default: not, since those of a program's runs may begin alike. */
  readonly byPrefix?: boolean;
}

/** Where the histories of a store are kept. @throws CONFIG_INVALID a store of another kind without a blob store */
export function openPlace(store: Store, options: HistoryOptions = {}): WritePlace {
  const { blobs = blobsBeside(store), tenant = defaultTenant } = options;
  return { tenant, store, blobs, ids: createSystemIds(), isWorkerDead, now: Date.now, explainChoice: openExplainer };
}

/**
 * The history of every run in a store, whichever graph it has. The store stays the caller's, who closes it.
 * @throws CONFIG_INVALID a store of another kind without a blob store
 */
export function openHistory(store: Store, options: HistoryOptions = {}): History {
  return new History(openPlace(store, options), { byPrefix: options.byPrefix ?? false });
}
