/** Blobs in memory, for engines whose store is in memory too. Survives nothing. */
import { createHash } from 'node:crypto';
import { CairnError } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';

interface Kept {
  readonly bytes: Uint8Array;
  readonly at: number;
}

/** @param now - epoch ms; ages of blobs are measured with it */
export function createMemoryBlobs(now: () => number = Date.now): BlobStore {
  const tenants = new Map<string, Map<string, Kept>>();
  const blobsOf = (tenant: string): Map<string, Kept> => {
    const found = tenants.get(tenant) ?? new Map<string, Kept>();
    tenants.set(tenant, found);
    return found;
  };
  return {
    name: 'memory:',
    put: async (tenant, bytes) => {
      const hash = createHash('sha256').update(bytes).digest('hex');
      const blobs = blobsOf(tenant);
      if (!blobs.has(hash)) blobs.set(hash, { bytes: Uint8Array.from(bytes), at: now() });
      return hash;
    },
    get: async (tenant, hash) => {
      const kept = tenants.get(tenant)?.get(hash);
      if (kept === undefined) throw new CairnError('BLOB_NOT_FOUND', { hash });
      return Uint8Array.from(kept.bytes);
    },
    has: async (tenant, hash) => tenants.get(tenant)?.has(hash) === true,
    collect: async (tenant, keep, olderThanMs) => {
      const blobs = blobsOf(tenant);
      const unneeded = [...blobs].filter(([hash, { at }]) => !keep.has(hash) && now() - at > olderThanMs);
      for (const [hash] of unneeded) blobs.delete(hash);
      return unneeded.length;
    },
  };
}
