/** How blobs are named: by the SHA-256 of their bytes, apart for each tenant. */
import type * as Crypto from 'node:crypto';
import type { BlobRange } from '../ports/blobs.ts';

let loaded: typeof Crypto | undefined;

/** The hash as 64 hex digits. The module is loaded on first use, because that takes longer than some commands. */
export function hashBlob(bytes: Uint8Array): string {
  loaded ??= process.getBuiltinModule('node:crypto');
  return loaded.hash('sha256', bytes, 'hex');
}

/** Whether a text has the form of a hash. Only such texts are used in file names. */
export function isBlobHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Folder name of a tenant: a simple name is used as it is, any other is replaced by its hash, which is never a simple name. */
export function tenantFolder(tenant: string): string {
  return /^[a-z0-9][a-z0-9_-]{0,62}$/.test(tenant) ? tenant : `~${hashBlob(new TextEncoder().encode(tenant))}`;
}

// Ranges of blobs.

/** The part of the bytes in a range. */
export function cutRange(bytes: Uint8Array, { offset = 0, length = bytes.length }: BlobRange = {}): Uint8Array {
  return bytes.slice(offset, offset + length);
}
