import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { zstdBomb } from '../../test/support/zstd-bomb.ts';
import { blobSuite } from '../testing/blob-suite.ts';
import { hashBlob } from './blob-hash.ts';
import { createFileBlobs } from './file-blobs.ts';

let folder = '';
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'cairn-blobs-')), 'blobs');
});
afterEach(() => rmSync(dirname(folder), { recursive: true, force: true }));

describe('blobs in files', () => {
  blobSuite({
    test,
    create: () => {
      let aheadMs = 0;
      return {
        blobs: createFileBlobs(folder, () => Date.now() + aheadMs),
        advance: (byMs) => {
          aheadMs += byMs;
        },
      };
    },
  });
});

const acme = { tenant: 'acme', runId: 'run' };
const hello = new TextEncoder().encode('hello');

/** Where a blob of tenant `acme` is. */
const fileOf = (hash: string): string => join(folder, 'acme', hash.slice(0, 2), hash);

test('S5 blobs and their folders are the owner\u2019s alone', async () => {
  const hash = await createFileBlobs(folder).put(acme, hello);
  const modeOf = (path: string): number => statSync(path).mode & 0o777;
  expect([modeOf(fileOf(hash)), modeOf(dirname(fileOf(hash))), modeOf(folder)]).toEqual([0o600, 0o700, 0o700]);
});

test('C6 a damaged blob is BLOB_CORRUPT: a bit flipped, cut short, or grown', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, hello);
  for (const damaged of ['hellp', 'hell', 'hello!', '']) {
    writeFileSync(fileOf(hash), damaged);
    await expect(blobs.get('acme', hash)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  }
});

test('C6 a blob that was cut short is written whole when it is put again', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, hello);
  writeFileSync(fileOf(hash), 'hel');
  await blobs.put(acme, hello);
  expect(readFileSync(fileOf(hash), 'utf8')).toBe('hello');
});

test('S3 nothing half written is left by a put, and what a dead process left is collected', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, hello);
  expect(readdirSync(dirname(fileOf(hash)))).toEqual([hash]);
  const [young, old] = [`${fileOf(hash)}.1-1-1.part`, `${fileOf(hash)}.2-2-2.part`];
  writeFileSync(young, 'x');
  writeFileSync(old, 'x');
  utimesSync(old, 0, 0);
  expect((await blobs.sweep('acme')).rows.map((row) => row.hash)).toEqual([hash]);
  expect(readdirSync(dirname(fileOf(hash))).sort()).toEqual([hash, young.slice(dirname(young).length + 1)]);
});

test('S3 puts of the same bytes by many at once leave one whole blob', async () => {
  const [one, two] = [createFileBlobs(folder), createFileBlobs(folder)];
  const bytes = new Uint8Array(500_000).fill(3);
  const hashes = await Promise.all(Array.from({ length: 8 }, (_, index) => (index % 2 ? one : two).put(acme, bytes)));
  expect(new Set(hashes).size).toBe(1);
  expect((await one.get('acme', hashes[0] ?? '')).length).toBe(500_000);
});

test('P6 a folder that cannot be made is STORE_UNAVAILABLE, and a missing one holds nothing', async () => {
  mkdirSync(dirname(folder), { recursive: true });
  const blobs = createFileBlobs(folder);
  expect(await blobs.has('acme', '0'.repeat(64))).toBe(false);
  writeFileSync(folder, 'a file in its place');
  await expect(blobs.put(acme, hello)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(blobs.get('acme', '0'.repeat(64))).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
});

const text = new TextEncoder().encode('the same words again and again. '.repeat(4_000));
const noise = randomBytes(100_000);

test('C5 large bytes are kept compressed where that makes them smaller, under the hash of what was put', async () => {
  const blobs = createFileBlobs(folder);
  const [words, random, small] = [
    await blobs.put(acme, text),
    await blobs.put(acme, noise),
    await blobs.put(acme, hello),
  ];
  expect(existsSync(fileOf(words))).toBe(false);
  expect(statSync(`${fileOf(words)}.zst`).size).toBeLessThan(text.length / 10);
  expect([random, small].map((hash) => statSync(fileOf(hash)).size)).toEqual([noise.length, hello.length]);
  expect(Buffer.compare(await blobs.get('acme', words), text)).toBe(0);
  await blobs.put(acme, text);
  expect(readdirSync(dirname(fileOf(words))).filter((name) => name.startsWith(words))).toEqual([`${words}.zst`]);
});

test('C7 bytes that were kept uncompressed are read, swept and removed, and not kept twice', async () => {
  const old = Date.now() / 1000 - 100_000;
  const hash = hashBlob(text);
  mkdirSync(dirname(fileOf(hash)), { recursive: true });
  writeFileSync(fileOf(hash), text);
  utimesSync(fileOf(hash), old, old);
  const blobs = createFileBlobs(folder);
  expect(Buffer.compare(await blobs.get('acme', hash), text)).toBe(0);
  expect((await blobs.sweep('acme')).rows).toMatchObject([{ hash }]);
  await blobs.put(acme, text);
  expect(readdirSync(dirname(fileOf(hash)))).toEqual([hash]);
  utimesSync(fileOf(hash), old, old);
  expect(await blobs.remove('acme', hash, 60_000)).toBe(true);
  expect(readdirSync(dirname(fileOf(hash)))).toEqual([]);
});

test('C6 a compressed blob of a few KiB that unpacks to gigabytes is BLOB_CORRUPT, and large plain bytes are kept as they are', async () => {
  const blobs = createFileBlobs(folder);
  const words = Buffer.from('the quick brown fox '.repeat(2_000));
  const hash = await blobs.put({ tenant: 'acme' }, words);
  writeFileSync(`${fileOf(hash)}.zst`, zstdBomb(1.5 * 1024 ** 3));
  const corrupt = expect.objectContaining({ code: 'BLOB_CORRUPT' });
  await expect(blobs.get('acme', hash)).rejects.toThrow(corrupt);
  const reading = (async () => {
    let sizeBytes = 0;
    for await (const piece of blobs.stream('acme', hash)) sizeBytes += piece.length;
    return sizeBytes;
  })();
  await expect(reading).rejects.toThrow(corrupt);
  const zeros = new Uint8Array(40 * 1024 ** 2);
  expect((await blobs.get('t', await blobs.put({ tenant: 't' }, zeros))).length).toBe(zeros.length);
});

test('C6 a damaged compressed blob is BLOB_CORRUPT, whole, in part and as a stream, and mended when it is put again', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, text);
  const path = `${fileOf(hash)}.zst`;
  const sound = readFileSync(path);
  const flipped = Buffer.from(sound).fill(0x5a, sound.length - 8);
  for (const damaged of [flipped, sound.subarray(0, sound.length - 9), zstdCompressSync(hello), Buffer.alloc(0)]) {
    writeFileSync(path, damaged);
    const drain = async (): Promise<void> => {
      for await (const piece of blobs.stream('acme', hash)) expect(piece.length).toBeGreaterThan(0);
    };
    const part = { offset: 5, length: 2 };
    for (const read of [() => blobs.get('acme', hash), () => blobs.get('acme', hash, part), drain])
      await expect(read()).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  }
  await blobs.put(acme, text);
  expect(Buffer.compare(await blobs.get('acme', hash), text)).toBe(0);
});

test('C5 a blob that somebody died over removing is back after a sweep', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, hello);
  renameSync(fileOf(hash), `${fileOf(hash)}.gone`);
  utimesSync(`${fileOf(hash)}.gone`, 0, 0);
  await blobs.sweep('acme');
  expect(Buffer.compare(await blobs.get('acme', hash), hello)).toBe(0);
});

/** Some MiB that compress well, all different. */
const numbers = new TextEncoder().encode(Array.from({ length: 600_000 }, (_, index) => `${index}, `).join(''));

/** Where a blob of tenant `acme` is that is kept in pieces. */
const piecesOf = (hash: string): string => `${fileOf(hash)}.seekable.zst`;

test('C5 a part of a large compressed blob is read from its pieces alone: all else of the file may be damaged', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, numbers);
  expect(readdirSync(dirname(fileOf(hash)))).toEqual([`${hash}.seekable.zst`]);
  const file = readFileSync(piecesOf(hash));
  expect(file.length).toBeLessThan(numbers.length / 3);
  const half = Math.floor(file.length / 2);
  writeFileSync(piecesOf(hash), Buffer.from(file).fill(0x5a, half, file.length - 1_024));
  const range = { offset: 300_000, length: 65_536 };
  const expected = numbers.subarray(range.offset, range.offset + range.length);
  expect(Buffer.compare(await blobs.get('acme', hash, range), expected)).toBe(0);
  const streamed: Uint8Array[] = [];
  for await (const piece of blobs.stream('acme', hash, range)) streamed.push(piece);
  expect(Buffer.compare(Buffer.concat(streamed), expected)).toBe(0);
  const behind = { offset: numbers.length - 70_000, length: 65_536 };
  for (const damaged of [undefined, behind])
    await expect(blobs.get('acme', hash, damaged)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
});

test('C5 a part of bytes that are kept as they are is read alone', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, noise);
  writeFileSync(fileOf(hash), Buffer.from(noise).fill(0, 0, 50_000));
  const streamed: Uint8Array[] = [];
  for await (const piece of blobs.stream('acme', hash, { offset: 50_000 })) streamed.push(piece);
  expect(Buffer.compare(Buffer.concat(streamed), noise.subarray(50_000))).toBe(0);
});

test('C7 a large blob that was compressed as one is read, whole and in part, not kept twice, and removed', async () => {
  const old = Date.now() / 1000 - 100_000;
  const hash = hashBlob(numbers);
  const path = `${fileOf(hash)}.zst`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, zstdCompressSync(numbers));
  utimesSync(path, old, old);
  const blobs = createFileBlobs(folder);
  expect(Buffer.compare(await blobs.get('acme', hash), numbers)).toBe(0);
  const part = await blobs.get('acme', hash, { offset: 2_000_000, length: 9 });
  expect(Buffer.compare(part, numbers.subarray(2_000_000, 2_000_009))).toBe(0);
  const [row] = (await blobs.sweep('acme')).rows;
  expect([row?.hash, (row?.ageMs ?? 0) > 60_000]).toEqual([hash, true]);
  await blobs.put(acme, numbers);
  expect(readdirSync(dirname(path))).toEqual([`${hash}.zst`]);
  expect(await blobs.remove('acme', hash, 60_000)).toBe(false);
  utimesSync(path, old, old);
  expect(await blobs.remove('acme', hash, 60_000)).toBe(true);
  expect(readdirSync(dirname(path))).toEqual([]);
});

test('C6 a large blob that was compressed as one and is damaged is mended when it is put again', async () => {
  const hash = hashBlob(numbers);
  const path = `${fileOf(hash)}.zst`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, zstdCompressSync(numbers).subarray(0, 100_000));
  const blobs = createFileBlobs(folder);
  await expect(blobs.get('acme', hash)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  await blobs.put(acme, numbers);
  expect(Buffer.compare(await blobs.get('acme', hash), numbers)).toBe(0);
  expect(readdirSync(dirname(path))).toEqual([`${hash}.seekable.zst`]);
});

test('C6 a blob in pieces that is damaged anywhere is BLOB_CORRUPT, whole and as a stream, and mended when it is put again', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put(acme, numbers);
  const sound = readFileSync(piecesOf(hash));
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(sound);
    copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
    return copy;
  };
  const other = await blobs.put(acme, numbers.subarray(1));
  const damaged = [
    flipped(1_000),
    ...[1, 5, 6, 12, 17, 200].map((fromEnd) => flipped(sound.length - fromEnd)),
    sound.subarray(0, sound.length - 1),
    sound.subarray(100),
    Buffer.concat([sound, Buffer.from([0])]),
    readFileSync(piecesOf(other)),
    Buffer.alloc(0),
  ];
  for (const [index, bytes] of damaged.entries()) {
    writeFileSync(piecesOf(hash), bytes);
    const drain = async (): Promise<void> => {
      for await (const piece of blobs.stream('acme', hash)) expect(piece.length).toBeGreaterThan(0);
    };
    for (const read of [() => blobs.get('acme', hash), drain])
      await expect(read(), `damage ${index}`).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  }
  await blobs.put(acme, numbers);
  expect(Buffer.compare(await blobs.get('acme', hash), numbers)).toBe(0);
});
