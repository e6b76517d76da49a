/** The blob port: bytes stored once by content hash (C5). */

/** Bytes by their hash, inside a tenant. Every method may throw STORE_UNAVAILABLE. */
export interface BlobStore {
  /** For messages: a URL without secrets. */
  readonly name: string;
  /** Stores bytes under their sha-256, 64 hex digits; durable before it resolves; storing the same bytes again is free. @throws STORE_UNAVAILABLE, STORE_FULL, STORE_READ_ONLY */
  put(tenant: string, bytes: Uint8Array): Promise<string>;
  /** @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  get(tenant: string, hash: string): Promise<Uint8Array>;
  /** Whether the bytes of this hash are stored. */
  has(tenant: string, hash: string): Promise<boolean>;
  /** Whether the bytes are stored; if so their age begins anew, so that a collector spares them for whoever is about to name them. */
  touch(tenant: string, hash: string): Promise<boolean>;
  /** Removes blobs that are not in `keep` and are older than `olderThanMs`; returns how many (C5: at least a day). */
  collect(tenant: string, keep: ReadonlySet<string>, olderThanMs: number): Promise<number>;
}
