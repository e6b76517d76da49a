/**
 * What stores on servers do alike with what is stored beside runs: blobs, which they read in pieces, and memories, which they search page
 * by page.
 */
import { createHash } from 'node:crypto';
import { CairnError } from '../errors.ts';
import type { BlobRange } from '../ports/blobs.ts';
import { readLimit, type Memories, type MemoryEntry } from '../ports/memories.ts';

/** A blob in pieces of equal size; only the last one may be shorter. */
export interface StoredBlob {
  readonly hash: string;
  readonly sizeBytes: number;
  readonly pieceBytes: number;
  /** Reads the piece of this number; the first is 0. Undefined: it is not there. */
  readonly readPiece: (no: number) => Promise<Uint8Array | undefined>;
}

/** Reads a blob piece by piece. A whole one is compared with its hash at the end. @throws BLOB_CORRUPT */
export async function* readPieces(
  { hash, sizeBytes, pieceBytes, readPiece }: StoredBlob,
  range: BlobRange = {},
): AsyncGenerator<Uint8Array> {
  const from = Math.min(range.offset ?? 0, sizeBytes);
  const to = Math.min(from + (range.length ?? sizeBytes), sizeBytes);
  const sum = from === 0 && to === sizeBytes ? createHash('sha256') : undefined;
  const end = from < to ? Math.ceil(to / pieceBytes) : 0;
  for (let no = Math.floor(from / pieceBytes); no < end; no += 1) {
    const piece = await readPiece(no);
    if (piece === undefined) throw new CairnError('BLOB_CORRUPT', { hash });
    sum?.update(piece);
    const start = no * pieceBytes;
    yield new Uint8Array(piece.subarray(Math.max(0, from - start), to - start));
  }
  if (sum !== undefined && sum.digest('hex') !== hash) throw new CairnError('BLOB_CORRUPT', { hash });
}

export async function joinPieces(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return new Uint8Array(Buffer.concat(all));
}

/**
 * The newest entries that match, in order from oldest to newest. Texts are compared here, so that letter case is that of every store.
 * @param pages - all entries, newest first. No more pages are read than are needed
 */
export async function findNewest(
  pages: AsyncIterable<readonly MemoryEntry[]>,
  { text = '', limit = readLimit }: Parameters<Memories['read']>[1] = {},
): Promise<readonly MemoryEntry[]> {
  const found: MemoryEntry[] = [];
  if (limit <= 0) return found;
  const sought = text.toLowerCase();
  for await (const page of pages) {
    const matching = page.filter(({ content }) => content.toLowerCase().includes(sought));
    found.push(...matching.slice(0, limit - found.length));
    if (found.length >= limit) break;
  }
  return found.reverse();
}
