/** Blobs kept in this process, with the semantics of every other blob store. */

import { CairnError } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';
import { hashBlob } from './blob-hash.ts';

interface StoredBlob {
  readonly bytes: Uint8Array;
  storedAt: number;
}

/**
 * Creates a blob store in memory; it survives nothing.
 *
 * @param now - epoch ms; ages are measured with it. Default is the system's clock.
 */
export function createMemoryBlobs(now: () => number = Date.now): BlobStore {
  const tenants = new Map<string, Map<string, StoredBlob>>();
  const find = (tenant: string, hash: string): StoredBlob | undefined => tenants.get(tenant)?.get(hash);
  return {
    name: 'memory:',
    put: (tenant, bytes) => {
      const hash = hashBlob(bytes);
      const blobs = tenants.get(tenant) ?? new Map<string, StoredBlob>();
      tenants.set(tenant, blobs);
      const stored = blobs.get(hash);
      if (stored === undefined) blobs.set(hash, { bytes: new Uint8Array(bytes), storedAt: now() });
      else stored.storedAt = now();
      return Promise.resolve(hash);
    },
    get: (tenant, hash) => {
      const stored = find(tenant, hash);
      if (stored === undefined) return Promise.reject(new CairnError('BLOB_NOT_FOUND', { hash }));
      return Promise.resolve(new Uint8Array(stored.bytes));
    },
    has: (tenant, hash) => Promise.resolve(find(tenant, hash) !== undefined),
    touch: (tenant, hash) => {
      const stored = find(tenant, hash);
      if (stored !== undefined) stored.storedAt = now();
      return Promise.resolve(stored !== undefined);
    },
    collect: (tenant, keep, olderThanMs) => {
      const blobs = tenants.get(tenant);
      const old = [...(blobs ?? [])].filter(
        ([hash, { storedAt }]) => !keep.has(hash) && now() - storedAt > olderThanMs,
      );
      for (const [hash] of old) blobs?.delete(hash);
      return Promise.resolve(old.length);
    },
  };
}
