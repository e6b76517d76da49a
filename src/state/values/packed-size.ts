/**
 * How large compressed data may become. What is unpacked is checked only afterwards, so a few KiB that unpack to gigabytes must be
 * stopped on the way; and what would be stopped is not compressed in the first place.
 */

/** Up to this size, data may be compressed however well that works. 16 MiB */
const freeBytes = 16 * 1024 * 1024;
/** Beyond it, to at most this many times less. Text that people and models write is far below. */
const ratioMax = 1_000;
/** No JavaScript string is longer, so no text of a checkpoint is either. 512 MiB */
const bytesMax = 512 * 1024 * 1024;

/** The most bytes that this many compressed ones may unpack to. */
export function unpackedBytesMax(packedBytes: number): number {
  return Math.min(bytesMax, Math.max(freeBytes, packedBytes * ratioMax));
}
