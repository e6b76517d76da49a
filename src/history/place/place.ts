/** Where histories are kept, as those who read and change them are given it. */
import type { BlobStore } from '../../ports/blobs.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Store } from '../../ports/store.ts';

/** Enough for what only lists. */
export interface ReadPlace {
  readonly tenant: string;
  readonly store: Store;
  /** Whether a worker of this name is known to have died; undefined: not known. */
  readonly isWorkerDead: (workerId: string) => boolean | undefined;
  /** Epoch ms, for ages. */
  readonly now: () => number;
}

/** Enough for what reads states: large values are blobs. */
export interface StatePlace extends ReadPlace {
  readonly blobs: BlobStore;
}

/** Enough for what changes histories: it is done as a worker that claims the run. */
export interface WritePlace extends StatePlace {
  /** Names the worker, and tells whether another has died. */
  readonly ids: Ids;
}
