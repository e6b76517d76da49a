/** Blobs in memory, with the semantics of every other blob store. */

import { CairnError } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';
import { hashBlob, cutRange } from './blob-hash.ts';

interface StoredBlob {
  readonly bytes: Uint8Array;
  storedAt: number;
}

const pageSize = 1_000;
const pieceBytes = 64 * 1024;

/**
 * Makes a blob store in memory. Nothing survives the process.
 *
 * @param now - returns the time in epoch ms; ages are measured with it. Default: the system clock
 */
export function createMemoryBlobs(now: () => number = Date.now): BlobStore {
  const tenants = new Map<string, Map<string, StoredBlob>>();
  const find = (tenant: string, hash: string): StoredBlob | undefined => tenants.get(tenant)?.get(hash);
  const need = (tenant: string, hash: string): Uint8Array => {
    const stored = find(tenant, hash);
    if (stored === undefined) throw new CairnError('BLOB_NOT_FOUND', { hash, store: 'memory:' });
    return stored.bytes;
  };
  return {
    name: 'memory:',
    put: ({ tenant }, bytes) => {
      const hash = hashBlob(bytes);
      const blobs = tenants.get(tenant) ?? new Map<string, StoredBlob>();
      tenants.set(tenant, blobs);
      const stored = blobs.get(hash);
      if (stored === undefined) blobs.set(hash, { bytes: new Uint8Array(bytes), storedAt: now() });
      else stored.storedAt = now();
      return Promise.resolve(hash);
    },
    get: async (tenant, hash, range) => cutRange(need(tenant, hash), range),
    stream: async function* (tenant, hash, range) {
      const bytes = cutRange(need(tenant, hash), range);
      for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.slice(at, at + pieceBytes);
    },
    has: (tenant, hash) => Promise.resolve(find(tenant, hash) !== undefined),
    touch: (tenant, hash) => {
      const stored = find(tenant, hash);
      if (stored !== undefined) stored.storedAt = now();
      return Promise.resolve(stored !== undefined);
    },
    sweep: async (tenant, { limit = pageSize, cursor = '' } = {}) => {
      const found = [...(tenants.get(tenant)?.keys() ?? [])].filter((hash) => hash > cursor).sort();
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const rows = page.map((hash) => ({ hash, ageMs: now() - (find(tenant, hash)?.storedAt ?? 0) }));
      return { rows, ...(last !== undefined && found.length > limit ? { cursor: last } : {}) };
    },
    remove: async (tenant, hash, olderThanMs) => {
      const stored = find(tenant, hash);
      if (stored === undefined || now() - stored.storedAt <= olderThanMs) return false;
      return tenants.get(tenant)?.delete(hash) === true;
    },
  };
}
