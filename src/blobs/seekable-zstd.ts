/**
 * Compressed bytes of which a part is read without the rest: the seekable format of zstd. The bytes are cut into pieces, each of which
 * is a frame of its own with a checksum. A table at the end, in a frame that decompressors skip, has the size of each. So `zstd -d`
 * reads such a file whole, and whoever reads a part of it reads the table and the frames of that part.
 *
 * Node's own decompressors stop after the first frame, so the whole is read by the table too.
 */
import type * as Zlib from 'node:zlib';
import { unpackedBytesMax } from '../state/values/packed-size.ts';

/** Bytes of a piece before it is compressed. */
const pieceBytes = 256 * 1024;

/** First bytes of a frame that decompressors skip, and of that with a table. */
const tableMark = 0x184d2a5e;
/** Last bytes of a table. */
const endMark = 0x8f92eab1;
/** Of a frame that is skipped: its mark, and its size. */
const headBytes = 8;
/** Behind the entries: their number, a byte that says whether they have checksums, the mark. */
const endBytes = 9;
/** Of an entry without a checksum: the size of its frame, and of what is in it. */
const entryBytes = 8;
const checksumBytes = 4;
const checksumFlag = 0x80;

/** Reads exactly these bytes of what is packed, or fewer at its end. */
export type ReadPart = (offset: number, length: number) => Promise<Uint8Array>;

/** A frame of what is packed, and the piece in it. */
interface Frame {
  readonly packedAt: number;
  readonly packedBytes: number;
  readonly at: number;
  readonly bytes: number;
}

/** The bytes are not as `packPieces` made them. */
export class DamagedPiecesError extends Error {}

const zlib = (): typeof Zlib => process.getBuiltinModule('node:zlib');

/** Compresses bytes. */
export function packPieces(bytes: Uint8Array): Uint8Array {
  const { zstdCompressSync, constants } = zlib();
  const params = { [constants.ZSTD_c_checksumFlag]: 1 };
  const frames: Uint8Array[] = [];
  const count = Math.ceil(bytes.length / pieceBytes);
  const table = Buffer.alloc(headBytes + count * entryBytes + endBytes);
  table.writeUInt32LE(tableMark, 0);
  table.writeUInt32LE(table.length - headBytes, 4);
  for (let no = 0; no < count; no += 1) {
    const piece = bytes.subarray(no * pieceBytes, (no + 1) * pieceBytes);
    const frame = zstdCompressSync(piece, { params });
    table.writeUInt32LE(frame.length, headBytes + no * entryBytes);
    table.writeUInt32LE(piece.length, headBytes + no * entryBytes + 4);
    frames.push(frame);
  }
  table.writeUInt32LE(count, table.length - endBytes);
  table.writeUInt32LE(endMark, table.length - 4);
  return new Uint8Array(Buffer.concat([...frames, table]));
}

/**
 * What is packed, opened: its size, and a reader of its pieces.
 *
 * @param packedBytes - its size as it is packed
 * @throws DamagedPiecesError
 */
export async function openPieces(
  read: ReadPart,
  packedBytes: number,
): Promise<{
  readonly sizeBytes: number;
  /** The pieces from this byte on, before that one, in order; the first and last are cut. @throws DamagedPiecesError */
  readonly pieces: (from: number, to: number) => AsyncGenerator<Uint8Array>;
}> {
  const frames = await readTable(read, packedBytes);
  const last = frames.at(-1);
  return {
    sizeBytes: last === undefined ? 0 : last.at + last.bytes,
    pieces: async function* (from, to) {
      for (const frame of frames) {
        if (frame.at + frame.bytes <= from || frame.at >= to) continue;
        const piece = unpack(await read(frame.packedAt, frame.packedBytes), frame);
        yield new Uint8Array(piece.subarray(Math.max(0, from - frame.at), to - frame.at));
      }
    },
  };
}

/** Decompresses a frame, and holds its piece against its checksum. @throws DamagedPiecesError */
function unpack(packed: Uint8Array, { packedBytes, bytes }: Frame): Uint8Array {
  try {
    const piece = zlib().zstdDecompressSync(packed, { maxOutputLength: Math.max(1, bytes) });
    if (packed.length === packedBytes && piece.length === bytes) return piece;
  } catch (error) {
    throw new DamagedPiecesError('a piece is damaged', { cause: error });
  }
  throw new DamagedPiecesError('a piece is cut short');
}

/** Reads the table, and holds it against the size of the whole, so that what it says is neither outside nor a bomb. */
async function readTable(read: ReadPart, packedBytes: number): Promise<readonly Frame[]> {
  const end = Buffer.from(await read(Math.max(0, packedBytes - endBytes), endBytes));
  if (end.length !== endBytes || end.readUInt32LE(5) !== endMark) throw new DamagedPiecesError('there is no table');
  const count = end.readUInt32LE(0);
  const flags = end.readUInt8(4);
  if ((flags & ~checksumFlag) !== 0) throw new DamagedPiecesError('the table has flags that are not known');
  const sizeOfEntry = entryBytes + (flags === checksumFlag ? checksumBytes : 0);
  const tableBytes = headBytes + count * sizeOfEntry + endBytes;
  if (tableBytes > packedBytes) throw new DamagedPiecesError('the table is larger than the file');
  const table = Buffer.from(await read(packedBytes - tableBytes, tableBytes));
  if (
    table.length !== tableBytes ||
    table.readUInt32LE(0) !== tableMark ||
    table.readUInt32LE(4) !== tableBytes - headBytes
  )
    // prettier-ignore
    throw new DamagedPiecesError('the table is no frame');
  const frames: Frame[] = [];
  let [packedAt, at] = [0, 0];
  for (let no = 0; no < count; no += 1) {
    const frame = {
      packedAt,
      packedBytes: table.readUInt32LE(headBytes + no * sizeOfEntry),
      at,
      bytes: table.readUInt32LE(headBytes + no * sizeOfEntry + 4),
    };
    frames.push(frame);
    packedAt += frame.packedBytes;
    at += frame.bytes;
  }
  if (packedAt !== packedBytes - tableBytes) throw new DamagedPiecesError('the table is that of another file');
  if (at > unpackedBytesMax(packedBytes)) throw new DamagedPiecesError('it unpacks to too much');
  return frames;
}
