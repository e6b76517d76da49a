/** The blob store that belongs to a store. It is kept as long as the store, and every interface finds it at the same place. */
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { parseStoreUrl } from './store-url.ts';

/** Blobs of stores in memory. Engines over the same store share them. */
const blobsInMemory = new WeakMap<Store, BlobStore>();

/** Opens the blobs beside a SQLite database, or in memory. @throws CONFIG_INVALID the store is of another kind */
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
