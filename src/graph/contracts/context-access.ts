/** What a node's context gives access to: secrets, blobs, files, and what is on record of its visit. */
import type { FileRef } from '../file-ref.ts';

/** The record of a visit. It differs between an attempt that is repeated and one that is not, so nothing but a check may depend on it (P1). */
export interface VisitPast {
  /** The run is a fork: other calls than those on record are new ones. */
  readonly isFork: boolean;
  /** Steps by their names, in the order in which they were recorded. */
  steps(): readonly PastStep[];
}

/** A step on record. `started`: nothing is known of its end. */
export interface PastStep {
  readonly name: string;
  readonly status: 'started' | 'done' | 'failed';
  readonly output?: unknown;
}

/** Resolves secret references when an attempt starts. Values are never written; the run keeps the names, and a resume looks them up first. */
export interface SecretReader {
  /** @throws SECRET_MISSING the name is not set; SECRET_UNAVAILABLE the source of secrets failed */
  get(name: string): Promise<string>;
  /** Names and values of the secrets of 8 or more characters that the run has resolved so far, to be masked in what comes back from outside. */
  known?(): Iterable<readonly [name: string, value: string]>;
}

/** Bytes stored once by content hash, scoped to the run's tenant. */
export interface BlobAccess {
  put(bytes: Uint8Array): Promise<string>;
  get(hash: string): Promise<Uint8Array>;
}

/** Files as values: bytes are stored once, scoped to the run's tenant, and a reference stands for them wherever a value may stand. */
export interface FileAccess {
  /** @param about.type - media type. Default `application/octet-stream` */
  put(bytes: Uint8Array, about: { readonly name: string; readonly type?: string }): Promise<FileRef>;
  /** @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  get(file: FileRef): Promise<Uint8Array>;
}
