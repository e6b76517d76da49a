/** Ranges of blobs. */
import type { BlobRange } from '../ports/blobs.ts';

/** The part of the bytes in a range. */
export function cutRange(bytes: Uint8Array, { offset = 0, length = bytes.length }: BlobRange = {}): Uint8Array {
  return bytes.slice(offset, offset + length);
}
