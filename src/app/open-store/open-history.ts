/** Opens the histories of a store, for programs that have no graph at hand. */
import type { ChoiceExplainer } from '../../graph/graph.ts';
import type { Store } from '../../ports/store.ts';
import { blobsOf, type BlobsSetting } from './open-blobs.ts';
import { History } from '../../history/history.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import type { WritePlace } from '../../history/access/place.ts';
import { defaultTenant } from '../config/default-tenant.ts';
import { isWorkerDead, createSystemIds } from '../process/process-ids.ts';

// Loads the code that explains choices made by dialects, when a post-mortem is requested.

export async function openExplainer(): Promise<ChoiceExplainer> {
  return (await import('../../dialects/explain-choice.ts')).explainChoice;
}

/** Options for opening histories. */
export interface HistoryOptions {
  /** Where large values are: a blob store, or a URL as for `openStore`. Default: as for `compile`, with the store. */
  readonly blobs?: BlobsSetting;
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
  const { tenant = defaultTenant } = options;
  const blobs = blobsOf(store, options.blobs);
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
