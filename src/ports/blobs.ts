/** The blob port: bytes stored once by content hash (C5). */
import type { Page, RunKey } from './store.ts';

/** A part of a blob. */
export interface BlobRange {
  /** The first byte. Default 0. */
  readonly offset?: number;
  /** How many bytes at most. Default: to the end. */
  readonly length?: number;
}

/** The tenant, and the run if they are put for one; a file may be there before the runs that are given it. */
export type BlobOwner = Pick<RunKey, 'tenant'> & Partial<Pick<RunKey, 'runId'>>;

/** A blob as a sweep finds it. */
export interface BlobRow {
  readonly hash: string;
  /** Since it was put last. */
  readonly ageMs: number;
}

/**
 * Bytes by their hash, inside a tenant. The hash is that of the bytes as they were put, in whatever form they are stored.
 * Every method may throw STORE_UNAVAILABLE.
 */
export interface BlobStore {
  /** For messages: a URL without secrets. */
  readonly name: string;
  /**
   * Stores bytes under their sha-256, 64 hex digits; durable before it resolves; bytes that are there are young again.
   * @param owner - for whom: inside a tenant the same bytes are stored once, unless a store keeps those of each run apart
   * @throws STORE_UNAVAILABLE, STORE_FULL, STORE_READ_ONLY
   */
  put(owner: BlobOwner, bytes: Uint8Array): Promise<string>;
  /** All bytes, or a part of them. Only the whole is held against its hash. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  get(tenant: string, hash: string, range?: BlobRange): Promise<Uint8Array>;
  /** The same piece by piece, for what need not fit into memory; damage is told at the end. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  stream(tenant: string, hash: string, range?: BlobRange): AsyncIterable<Uint8Array>;
  /** Whether the bytes of this hash are stored. */
  has(tenant: string, hash: string): Promise<boolean>;
  /** Whether the bytes are stored; if so their age begins anew, so that a collector spares them for whoever is about to name them. */
  touch(tenant: string, hash: string): Promise<boolean>;
  /** All blobs of a tenant, in order of hash, page by page (default: 1,000 a page); what dead processes left half done is put in order on the way. */
  sweep(tenant: string, query?: { readonly limit?: number; readonly cursor?: string }): Promise<Page<BlobRow>>;
  /** Removes a blob unless it was put again within the last `olderThanMs`; says whether it did. */
  remove(tenant: string, hash: string, olderThanMs: number): Promise<boolean>;
}
