/**
 * Stored bodies: plain text, or compressed if that saves at least a tenth. A checksum always covers the plain text, so compression affects
 * only the size.
 */
import type * as Zlib from 'node:zlib';
import { unpackedBytesMax } from '../../state/values/packed-size.ts';
import { asBuffer } from './checksum.ts';

/** First bytes of zstd data. A plain body begins with a brace, so the two can be distinguished. */
const zstdMark = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Written before Brotli data, which has no mark of its own. */
const brotliMark = Buffer.from('B');
const smallQuality = 2;
const savedShare = 0.1;

let loaded: typeof Zlib | undefined;

/**
 * Loaded on first use, because most runs never have bodies that large. Kept, since asking Node for it each time costs as much as unpacking.
 */
const zlib = () => (loaded ??= process.getBuiltinModule('node:zlib'));

/** Compresses a large body with zstd. */
export function packLarge(text: Uint8Array): Uint8Array {
  return smaller(zlib().zstdCompressSync(text), text);
}

/**
 * Compresses a body of a few KiB with Brotli, which at that size takes half of zstd's time: about 20 µs to write and 13 µs to read 2 KiB.
 */
export function packSmall(text: Uint8Array): Uint8Array {
  const { brotliCompressSync, constants } = zlib();
  const packed = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: smallQuality } });
  return smaller(Buffer.concat([brotliMark, packed]), text);
}

function smaller(packed: Uint8Array, text: Uint8Array): Uint8Array {
  const isReadable = text.length <= unpackedBytesMax(packed.length);
  return isReadable && packed.length < text.length * (1 - savedShare) ? packed : text;
}

/** The plain text of a body, compressed or not. @throws Error it is damaged, or unpacks to more than anything that was packed here */
export function unpack(body: Uint8Array): Buffer {
  const bytes = asBuffer(body);
  const limit = { maxOutputLength: unpackedBytesMax(bytes.length) };
  if (bytes[0] === brotliMark[0]) return zlib().brotliDecompressSync(bytes.subarray(brotliMark.length), limit);
  return bytes.subarray(0, zstdMark.length).equals(zstdMark) ? zlib().zstdDecompressSync(bytes, limit) : bytes;
}
