/** Stored values to values: type tags revived, blobs read (C2, C5). */
import type { BlobStore } from '../../ports/blobs.ts';
import { BlobRef, decodeJson, reviveValue } from '../../state/values/codec.ts';
import { isPlainObject, setOwn } from '../../state/values/plain.ts';

/** What the text of a stored value holds if any type tag is in it. */
export const tagMarker = '"$":';

const decoder = new TextDecoder();

/** A blob's bytes: the JSON text of the value that stands there. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
export async function readBlobText(blobs: BlobStore, tenant: string, hash: string): Promise<string> {
  return decoder.decode(await blobs.get(tenant, hash));
}

/**
 * Revives a stored value in place and puts values in the place of the blobs it names; each place gets its own copy.
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

/** The hashes of all blobs a stored value names, those of its files included. */
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

/** The hash a stored value names if it is a blob. */
export function blobHash(stored: unknown): string | undefined {
  return hashOfTag('blob', stored);
}

/** The hash a stored value names if it is a file. Its bytes are never read for the state. */
function fileHash(stored: unknown): string | undefined {
  return hashOfTag('file', stored);
}

function hashOfTag(name: string, stored: unknown): string | undefined {
  if (typeof stored !== 'object' || stored === null || !Object.hasOwn(stored, '$')) return undefined;
  const { $: tag, hash } = stored as { readonly $: unknown; readonly hash?: unknown };
  return tag === name && typeof hash === 'string' ? hash : undefined;
}

/** Files inside a value that is kept as a blob. */
function listFiles(stored: object): readonly string[] {
  const { files } = stored as { readonly files?: readonly string[] };
  return files ?? [];
}

interface BlobPlace {
  readonly holder: object;
  readonly key: string;
  readonly blob: BlobRef;
}

/** Only whole values of the tree go to blobs, so they stand in objects and lists and nowhere else. */
function findBlobs(value: unknown, places: BlobPlace[]): void {
  if (!Array.isArray(value) && !isPlainObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (item instanceof BlobRef) places.push({ holder: value, key, blob: item });
    else if (typeof item === 'object' && item !== null) findBlobs(item, places);
  }
}
