/**
 * The forms in which the bytes of a blob are kept in a file: as they are, compressed as one, or compressed in pieces, of which a part is
 * read without the rest. A form is told by what the name of the file ends with.
 */
import type { FileHandle } from 'node:fs/promises';
import { CairnError } from '../errors.ts';
import type { BlobRange } from '../ports/blobs.ts';
import { unpackedBytesMax } from '../state/values/packed-size.ts';
import { isBlobHash } from './blob-hash.ts';
import { DamagedPiecesError, openPieces, packPieces, type ReadPart } from './seekable-zstd.ts';

/** What the name of a file with bytes as they are ends with, behind the hash. */
export const asIs = '' as const;
/** The same for bytes that are compressed as one. Versions of before pieces wrote no other, and read no other. */
export const asOne = '.zst' as const;
/** The same for bytes that are compressed in pieces. */
const inPieces = '.seekable.zst';
type Form = typeof asIs | typeof inPieces | typeof asOne;
/** In the order in which they are looked for. */
export const forms: readonly Form[] = [asIs, inPieces, asOne];

/** The hash in the name of a file; undefined if it is no blob's. */
export function hashOfFile(file: string): string | undefined {
  const hash = file.slice(0, 64);
  return isBlobHash(hash) && forms.some((form) => file === hash + form) ? hash : undefined;
}

/** Blobs of at least this size are compressed. Smaller files take a block of the disk anyway. */
const compressedFromBytes = 16 * 1024;
/** Blobs of at least this size are compressed in pieces. A part of a smaller one is cut from the whole. */
const piecesFromBytes = 1024 * 1024;
/** Compressed bytes are stored only if they are smaller than this share of the original. */
const worthRatio = 0.9;

/** Compresses bytes; undefined if they are too few or would hardly become smaller. */
export function pack(bytes: Uint8Array): { readonly form: Form; readonly bytes: Uint8Array } | undefined {
  if (bytes.length < compressedFromBytes) return undefined;
  const form = bytes.length < piecesFromBytes ? asOne : inPieces;
  const packed = form === asOne ? process.getBuiltinModule('node:zlib').zstdCompressSync(bytes) : packPieces(bytes);
  const isReadable = bytes.length <= unpackedBytesMax(packed.length);
  return isReadable && packed.length <= bytes.length * worthRatio ? { form, bytes: packed } : undefined;
}

/** Decompresses bytes that were compressed as one. @throws errors of zlib */
export function decompress(bytes: Uint8Array): Uint8Array {
  const limit = { maxOutputLength: unpackedBytesMax(bytes.length) };
  return new Uint8Array(process.getBuiltinModule('node:zlib').zstdDecompressSync(bytes, limit));
}

/** An open file with a blob. */
export interface StoredFile {
  readonly file: FileHandle;
  readonly form: Form;
  /** Of the file. */
  readonly sizeBytes: number;
}

/**
 * Reads a blob, or a part of it, piece by piece. The whole is held against its hash.
 *
 * @param atOnce - all bytes may come as one piece, and a part of what is compressed as one is verified with all the rest
 * @throws BLOB_CORRUPT and errors of files
 */
export async function* readStored(
  stored: StoredFile,
  hash: string,
  range: BlobRange,
  atOnce: boolean,
): AsyncGenerator<Uint8Array> {
  try {
    yield* readers[stored.form](stored, hash, range, atOnce);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const isOfZlib = typeof code === 'string' && (code.startsWith('Z') || code === 'ERR_BUFFER_TOO_LARGE');
    if (!(error instanceof DamagedPiecesError) && !isOfZlib) throw error;
    throw new CairnError('BLOB_CORRUPT', { hash }, { cause: error });
  }
}

type Reader = (...args: Parameters<typeof readStored>) => AsyncGenerator<Uint8Array>;

const readers: Readonly<Record<Form, Reader>> = {
  [asIs]: async function* (stored, hash, range, atOnce) {
    const [from, to] = bounds(range, stored.sizeBytes);
    const pieces = readParts(stored, from, to, atOnce ? to - from : partBytes);
    yield* verified(pieces, hash, to - from === stored.sizeBytes);
  },
  [inPieces]: async function* (stored, hash, range) {
    const { sizeBytes, pieces } = await openPieces(partReader(stored), stored.sizeBytes);
    const [from, to] = bounds(range, sizeBytes);
    yield* verified(pieces(from, to), hash, to - from === sizeBytes);
  },
  [asOne]: async function* (stored, hash, { offset = 0, length = Infinity }, atOnce) {
    const packed = readParts(stored, 0, stored.sizeBytes, atOnce ? stored.sizeBytes : partBytes);
    let at = 0;
    for await (const piece of verified(atOnce ? unpackAtOnce(packed) : unpackParts(packed), hash, true)) {
      const part = piece.subarray(Math.max(0, offset - at), Math.max(0, offset + length - at));
      at += piece.length;
      if (at > unpackedBytesMax(stored.sizeBytes)) throw new CairnError('BLOB_CORRUPT', { hash });
      if (part.length > 0) yield part;
      if (at >= offset + length && !atOnce) return;
    }
  },
};

async function* unpackAtOnce(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const bytes of packed) yield decompress(bytes);
}

/** Errors of the file reach the reader. */
function unpackParts(packed: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const { pipeline } = process.getBuiltinModule('node:stream');
  return pipeline(packed, process.getBuiltinModule('node:zlib').createZstdDecompress(), () => undefined);
}

/** The first byte of a range and the one behind its last, in a blob of this size. */
function bounds({ offset = 0, length = Infinity }: BlobRange, sizeBytes: number): readonly [number, number] {
  const from = Math.min(offset, sizeBytes);
  return [from, Math.min(from + length, sizeBytes)];
}

/** Hands pieces on, and verifies the hash at their end if they are whole. @throws BLOB_CORRUPT */
async function* verified(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  hash: string,
  isWhole: boolean,
): AsyncGenerator<Uint8Array> {
  const sum = isWhole ? process.getBuiltinModule('node:crypto').createHash('sha256') : undefined;
  for await (const piece of pieces) {
    sum?.update(piece);
    yield piece;
  }
  if (sum !== undefined && sum.digest('hex') !== hash) throw new CairnError('BLOB_CORRUPT', { hash });
}

/** Bytes that are read of a file at once. */
const partBytes = 64 * 1024;

async function* readParts(stored: StoredFile, from: number, to: number, size: number): AsyncGenerator<Uint8Array> {
  const read = partReader(stored);
  for (let at = from; at < to; at += size) yield await read(at, Math.min(size, to - at));
}

function partReader({ file, sizeBytes }: StoredFile): ReadPart {
  return async (offset, length) => {
    const part = new Uint8Array(Math.max(0, Math.min(length, sizeBytes - offset)));
    let at = 0;
    while (at < part.length) {
      const { bytesRead } = await file.read(part, at, part.length - at, offset + at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    return part.subarray(0, at);
  };
}
