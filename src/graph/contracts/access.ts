/** What a node's context gives access to outside of the run: secrets, blobs and files. */
import type { FileRef } from '../file-ref.ts';

/**
 * Resolves references to secrets when an attempt starts. Values are never written to the history. The run remembers the names, and a resume
 * resolves them before anything else.
 */
export interface SecretReader {
  /** @throws SECRET_MISSING the name is not set; SECRET_UNAVAILABLE the source of secrets failed */
  get(name: string): Promise<string>;
  /**
   * Names and values of the secrets that the run has resolved so far, of 8 or more characters, so that they can be masked in text from
   * outside.
   */
  known?(): Iterable<readonly [name: string, value: string]>;
}

/** Stores bytes by their content hash, each once per tenant. */
export interface BlobAccess {
  put(bytes: Uint8Array): Promise<string>;
  get(hash: string): Promise<Uint8Array>;
}

/** Stores files by their content hash, each once per tenant. The reference returned may stand anywhere in a value. */
export interface FileAccess {
  /** @param about.type - media type. Default `application/octet-stream` */
  put(bytes: Uint8Array, about: { readonly name: string; readonly type?: string }): Promise<FileRef>;
  /** @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  get(file: FileRef): Promise<Uint8Array>;
}
