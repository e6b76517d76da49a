/**
 * Bodies as they are kept: their text, or its compressed form where that saves a tenth. A checksum is always that of the text, so how a
 * body is packed changes nothing but its size.
 */
import { asBuffer } from './checksum.ts';

/** The first bytes of what zstd makes. A text begins with a brace. */
const zstdMark = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Stands before what Brotli makes, which has no mark of its own. */
const brotliMark = Buffer.from('B');
const smallQuality = 2;
const savedShare = 0.1;

/** Loaded when first needed: most runs never are so large. */
const zlib = () => process.getBuiltinModule('node:zlib');

/** For large bodies. */
export function packLarge(text: Uint8Array): Uint8Array {
  return smaller(zlib().zstdCompressSync(text), text);
}

/** For bodies of few KiB, on which Brotli takes half of zstd's time, to write and to read: some 20 and 13 µs for 2 KiB. */
export function packSmall(text: Uint8Array): Uint8Array {
  const { brotliCompressSync, constants } = zlib();
  const packed = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: smallQuality } });
  return smaller(Buffer.concat([brotliMark, packed]), text);
}

function smaller(packed: Uint8Array, text: Uint8Array): Uint8Array {
  return packed.length < text.length * (1 - savedShare) ? packed : text;
}

/** The text, also of a body that was never packed. @throws Error it is damaged */
export function unpack(body: Uint8Array): Buffer {
  const bytes = asBuffer(body);
  if (bytes[0] === brotliMark[0]) return zlib().brotliDecompressSync(bytes.subarray(brotliMark.length));
  return bytes.subarray(0, zstdMark.length).equals(zstdMark) ? zlib().zstdDecompressSync(bytes) : bytes;
}
