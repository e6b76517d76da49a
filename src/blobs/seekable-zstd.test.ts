import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { zstdBomb } from '../../test/support/zstd-bomb.ts';
import { DamagedPiecesError, openPieces, packPieces, type ReadPart } from './seekable-zstd.ts';

/** Reads packed bytes, and counts what is read. */
function counted(packed: Uint8Array): { readonly read: ReadPart; readonly bytes: () => number } {
  let bytes = 0;
  const read: ReadPart = async (offset, length) => {
    const part = packed.subarray(offset, offset + length);
    bytes += part.length;
    return part;
  };
  return { read, bytes: () => bytes };
}

async function readRange(packed: Uint8Array, from: number, to: number): Promise<Buffer> {
  const found: Uint8Array[] = [];
  const { pieces } = await openPieces(counted(packed).read, packed.length);
  for await (const piece of pieces(from, to)) found.push(piece);
  return Buffer.concat(found);
}

/** Bytes that compress well, all pieces different. */
function numbers(sizeBytes: number): Buffer {
  const found = new Uint32Array(Math.ceil(sizeBytes / 4));
  for (let index = 0; index < found.length; index += 1) found[index] = index >> 2;
  return Buffer.from(found.buffer, 0, sizeBytes);
}

test('64 KiB in the middle of 64 MiB cost their pieces and the table', async () => {
  const bytes = numbers(64 * 1024 ** 2);
  const packed = packPieces(bytes);
  const { read, bytes: bytesRead } = counted(packed);
  const [from, to] = [bytes.length / 2 - 1_000, bytes.length / 2 + 64 * 1024 - 1_000];
  const found: Uint8Array[] = [];
  const { sizeBytes, pieces } = await openPieces(read, packed.length);
  for await (const piece of pieces(from, to)) found.push(piece);
  expect(sizeBytes).toBe(bytes.length);
  expect(Buffer.compare(Buffer.concat(found), bytes.subarray(from, to))).toBe(0);
  // Two pieces of 256, and 256 entries of 8 bytes.
  expect(bytesRead()).toBeLessThan((packed.length / 256) * 2.5 + 256 * 8 + 100);
});

test('any part of any bytes is that part', async () => {
  for (const size of [0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 1_000_000]) {
    const bytes = Buffer.concat([numbers(Math.floor(size / 2)), randomBytes(Math.ceil(size / 2))]);
    const packed = packPieces(bytes);
    for (const [from, to] of [0, 1, size - 1, size, 262_143, 262_144, 262_145].flatMap(
      (a) =>
        [
          [a, a + 1],
          [a, size],
          [0, a],
        ] as const,
    )) {
      // prettier-ignore
      const [first, last] = [Math.max(0, from), Math.max(0, to)];
      expect(Buffer.compare(await readRange(packed, first, last), bytes.subarray(first, last))).toBe(0);
    }
  }
});

test('what is packed is a file that zstd reads', (context) => {
  const bytes = numbers(1_000_000);
  const { error, stdout } = spawnSync('zstd', ['-dc'], { input: packPieces(bytes), maxBuffer: 8e6 });
  if (error !== undefined) {
    console.log(`the program zstd is not here: ${error.message}`);
    context.skip();
  }
  expect(Buffer.compare(stdout, bytes)).toBe(0);
});

/** A file of one frame, with a table that says what it likes. */
function withTable(frame: Uint8Array, sizes: readonly (readonly [number, number])[], count = sizes.length): Buffer {
  const table = Buffer.alloc(8 + sizes.length * 8 + 9);
  table.writeUInt32LE(0x184d2a5e, 0);
  table.writeUInt32LE(table.length - 8, 4);
  for (const [no, [packedBytes, bytes]] of sizes.entries()) {
    table.writeUInt32LE(packedBytes, 8 + no * 8);
    table.writeUInt32LE(bytes, 12 + no * 8);
  }
  table.writeUInt32LE(count, table.length - 9);
  table.writeUInt32LE(0x8f92eab1, table.length - 4);
  return Buffer.concat([frame, table]);
}

test('what would unpack to gigabytes is refused, whatever its table says', async () => {
  const bomb = zstdBomb(1.5 * 1024 ** 3);
  for (const sizes of [
    [[bomb.length, 1.5 * 1024 ** 3]],
    [[bomb.length, 100]],
    [
      [bomb.length, 1_000_000],
      [0, 4e9],
    ],
  ] as const)
    // prettier-ignore
    await expect(readRange(withTable(bomb, sizes), 0, 1e10)).rejects.toThrow(DamagedPiecesError);
});

test('a table that says more frames than it has, or other sizes than the file, is refused', async () => {
  const frame = packPieces(numbers(1_000)).subarray(0, -(8 + 8 + 9));
  expect((await readRange(withTable(frame, [[frame.length, 1_000]]), 0, 1e6)).length).toBe(1_000);
  for (const file of [
    withTable(frame, [[frame.length, 1_000]], 2),
    withTable(frame, [[frame.length, 1_000]], 2 ** 32 - 1),
    withTable(frame, [[frame.length, 1_000]], 0),
    withTable(frame, [[frame.length - 1, 1_000]]),
    withTable(frame, [[frame.length, 999]]),
    withTable(frame, [[frame.length, 1_001]]),
    withTable(frame, [
      [frame.length, 1_000],
      [10, 10],
    ]),
    frame,
  ])
    // prettier-ignore
    await expect(readRange(file, 0, 1e6)).rejects.toThrow(DamagedPiecesError);
});
