/** The blobs of a store: kept as long as the store keeps runs, where every door looks for them. */
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { parseStoreUrl } from './store-url.ts';

/** Whoever opens a store in memory anew shares its blobs. */
const blobsInMemory = new WeakMap<Store, BlobStore>();

/** Beside a SQLite database, or in memory. @throws CONFIG_INVALID a store of another kind */
export function blobsBeside(store: Store): BlobStore {
  if (store.capabilities.durability === 'none') {
    const blobs = blobsInMemory.get(store) ?? createMemoryBlobs();
    blobsInMemory.set(store, blobs);
    return blobs;
  }
  const place = store.name.startsWith('sqlite:') ? parseStoreUrl(store.name, process.cwd()) : undefined;
  if (place?.kind === 'sqlite') return createFileBlobs(place.blobs);
  throw new CairnError('CONFIG_INVALID', {
    path: 'blobs',
    reason: `a blob store is needed beside the store ${store.name}`,
  });
}
