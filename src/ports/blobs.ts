/** The blob port: stores bytes, each content once, by its hash (C5). */

/** Which part of a blob to read. */
export interface BlobRange {
  /** The first byte. Default 0. */
  readonly offset?: number;
  /** How many bytes at most. Default: to the end. */
  readonly length?: number;
}

/** For whom a blob is stored: a tenant and, if it belongs to one, a run. A file may be stored before any run refers to it. */
export interface BlobOwner {
  readonly tenant: string;
  readonly runId?: string;
}

/** One page of a listing. */
export interface BlobPage {
  readonly rows: readonly BlobRow[];
  /** Pass it in the next query to get the page after this one; absent on the last page. */
  readonly cursor?: string;
}

/** One blob in a listing. */
export interface BlobRow {
  readonly hash: string;
  /** Milliseconds since it was last put. */
  readonly ageMs: number;
}

/**
 * Stores bytes by their hash, separately for each tenant. The hash is that of the bytes passed to `put`, however they are stored. Every
 * method may throw STORE_UNAVAILABLE.
 */
export interface BlobStore {
  /** URL of the store without secrets, for messages. */
  readonly name: string;
  /**
   * Stores bytes; they are durable when the promise resolves. Putting bytes that are there already resets their age.
   * @param owner - for whom. A store keeps the same bytes once per tenant, unless it separates the blobs of each run.
   * @returns the SHA-256 of the bytes, as 64 hex digits
   * @throws STORE_UNAVAILABLE, STORE_FULL, STORE_READ_ONLY
   */
  put(owner: BlobOwner, bytes: Uint8Array): Promise<string>;
  /** Reads all bytes or a part. Only a whole blob is verified against its hash. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  get(tenant: string, hash: string, range?: BlobRange): Promise<Uint8Array>;
  /**
   * Reads like `get`, piece by piece, for bytes that need not fit into memory. Damage is reported at the end. @throws BLOB_NOT_FOUND,
   * BLOB_CORRUPT
   */
  stream(tenant: string, hash: string, range?: BlobRange): AsyncIterable<Uint8Array>;
  /** Whether the bytes with this hash are stored. */
  has(tenant: string, hash: string): Promise<boolean>;
  /**
   * Whether the bytes are stored. If so, their age is reset, so that a clean-up spares them until whoever is about to refer to them has
   * done so.
   */
  touch(tenant: string, hash: string): Promise<boolean>;
  /** Lists a tenant's blobs in order of hash, page by page (default: 1,000 a page). Also removes half-written blobs of dead processes. */
  sweep(tenant: string, query?: { readonly limit?: number; readonly cursor?: string }): Promise<BlobPage>;
  /** Removes a blob, unless it was put or touched within the last `olderThanMs`. Returns whether it was removed. */
  remove(tenant: string, hash: string, olderThanMs: number): Promise<boolean>;
}
