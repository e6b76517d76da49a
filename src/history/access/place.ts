/** What is known of the place where histories are kept. */
import type { Store } from '../../ports/store.ts';
import type { ChoiceExplainer } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Ids } from '../../ports/ids.ts';

/** A place for code that only lists runs. */
export interface ReadPlace {
  readonly tenant: string;
  readonly store: Store;
  /** Whether the worker with this id is known to be dead; undefined if not known. */
  readonly isWorkerDead: (workerId: string) => boolean | undefined;
  /** The current time in epoch ms, for computing ages. */
  readonly now: () => number;
}

/** A place for code that reads states: their large values are blobs. */
export interface StatePlace extends ReadPlace {
  readonly blobs: BlobStore;
  /** Loads what explains choices that a dialect compiled into graphs. Default: of those, only the edges taken are shown. */
  readonly explainChoice?: () => Promise<ChoiceExplainer>;
}

/** A place for code that changes histories. It acts as a worker and claims the run first. */
export interface WritePlace extends StatePlace {
  /** Id of that worker, and whether others are dead. */
  readonly ids: Ids;
}
