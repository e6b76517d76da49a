/** Decodes stored values: type tags are converted, and blobs are read (C2, C5). */
import type { BlobStore } from '../../ports/blobs.ts';
import { BlobRef, decodeJson, reviveValue } from '../../state/values/codec.ts';
import { isPlainObject, setOwn } from '../../state/values/plain.ts';

/** Occurs in the text of every stored value that contains a type tag. */
export const tagMarker = '"$":';

const decoder = new TextDecoder();

/** The content of a blob: the JSON text of a value. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
export async function readBlobText(blobs: BlobStore, tenant: string, hash: string): Promise<string> {
  return decoder.decode(await blobs.get(tenant, hash));
}

/**
 * Decodes a stored value in place, and replaces references to blobs by the blobs' values. Each place gets its own copy.
 * @throws VALUE_UNSTORABLE, BLOB_NOT_FOUND, BLOB_CORRUPT
 */
export async function resolveValues(blobs: BlobStore, tenant: string, stored: unknown): Promise<unknown> {
  const revived = reviveValue(stored);
  const places: BlobPlace[] = [];
  if (revived instanceof BlobRef) return decodeJson(await readBlobText(blobs, tenant, revived.hash));
  findBlobs(revived, places);
  const hashes = [...new Set(places.map(({ blob }) => blob.hash))];
  const texts = new Map(
    await Promise.all(hashes.map(async (hash) => [hash, await readBlobText(blobs, tenant, hash)] as const)),
  );
  for (const { holder, key, blob } of places) setOwn(holder, key, decodeJson(texts.get(blob.hash)!));
  return revived;
}

/** The hashes of all blobs that a stored value refers to, those of files included. */
export function listBlobs(stored: unknown, hashes: Set<string> = new Set()): Set<string> {
  if (typeof stored !== 'object' || stored === null) return hashes;
  if (Array.isArray(stored)) {
    for (const item of stored) listBlobs(item, hashes);
    return hashes;
  }
  const hash = blobHash(stored) ?? fileHash(stored);
  if (hash !== undefined) {
    for (const file of listFiles(stored)) hashes.add(file);
    return hashes.add(hash);
  }
  for (const value of Object.values(stored)) listBlobs(value, hashes);
  return hashes;
}

/** The hash, if a stored value is a reference to a blob. */
export function blobHash(stored: unknown): string | undefined {
  return hashOfTag('blob', stored);
}

/** The hash of what a stored value stands for, if that is kept apart: a large value, or a file. */
export function referenceHash(stored: unknown): string | undefined {
  return blobHash(stored) ?? fileHash(stored);
}

/** The hash, if a stored value is a reference to a file. The file's bytes are not part of the state. */
function fileHash(stored: unknown): string | undefined {
  return hashOfTag('file', stored);
}

function hashOfTag(name: string, stored: unknown): string | undefined {
  if (typeof stored !== 'object' || stored === null || !Object.hasOwn(stored, '$')) return undefined;
  const { $: tag, hash } = stored as { readonly $: unknown; readonly hash?: unknown };
  return tag === name && typeof hash === 'string' ? hash : undefined;
}

/** Hashes of files inside a value that is stored as a blob. */
function listFiles(stored: object): readonly string[] {
  const { files } = stored as { readonly files?: readonly string[] };
  return files ?? [];
}

interface BlobPlace {
  readonly holder: object;
  readonly key: string;
  readonly blob: BlobRef;
}

/** Finds references to blobs. They occur only in objects and lists, because only whole values of the tree are stored as blobs. */
function findBlobs(value: unknown, places: BlobPlace[]): void {
  if (!Array.isArray(value) && !isPlainObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (item instanceof BlobRef) places.push({ holder: value, key, blob: item });
    else if (typeof item === 'object' && item !== null) findBlobs(item, places);
  }
}
