import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { blobSuite } from '../testing/blob-suite.ts';
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

const hello = new TextEncoder().encode('hello');

/** Where a blob of tenant `acme` is. */
const fileOf = (hash: string): string => join(folder, 'acme', hash.slice(0, 2), hash);

test('S5 blobs and their folders are the owner\u2019s alone', async () => {
  const hash = await createFileBlobs(folder).put('acme', hello);
  const modeOf = (path: string): number => statSync(path).mode & 0o777;
  expect([modeOf(fileOf(hash)), modeOf(dirname(fileOf(hash))), modeOf(folder)]).toEqual([0o600, 0o700, 0o700]);
});

test('C6 a damaged blob is BLOB_CORRUPT: a bit flipped, cut short, or grown', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put('acme', hello);
  for (const damaged of ['hellp', 'hell', 'hello!', '']) {
    writeFileSync(fileOf(hash), damaged);
    await expect(blobs.get('acme', hash)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  }
});

test('C6 a blob that was cut short is written whole when it is put again', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put('acme', hello);
  writeFileSync(fileOf(hash), 'hel');
  await blobs.put('acme', hello);
  expect(readFileSync(fileOf(hash), 'utf8')).toBe('hello');
});

test('S3 nothing half written is left by a put, and what a dead process left is collected', async () => {
  const blobs = createFileBlobs(folder);
  const hash = await blobs.put('acme', hello);
  expect(readdirSync(dirname(fileOf(hash)))).toEqual([hash]);
  const [young, old] = [`${fileOf(hash)}.1-1-1.part`, `${fileOf(hash)}.2-2-2.part`];
  writeFileSync(young, 'x');
  writeFileSync(old, 'x');
  utimesSync(old, 0, 0);
  expect(await blobs.collect('acme', new Set(), 60_000)).toBe(0);
  expect(readdirSync(dirname(fileOf(hash))).sort()).toEqual([hash, young.slice(dirname(young).length + 1)]);
});

test('S3 puts of the same bytes by many at once leave one whole blob', async () => {
  const [one, two] = [createFileBlobs(folder), createFileBlobs(folder)];
  const bytes = new Uint8Array(500_000).fill(3);
  const hashes = await Promise.all(Array.from({ length: 8 }, (_, index) => (index % 2 ? one : two).put('acme', bytes)));
  expect(new Set(hashes).size).toBe(1);
  expect((await one.get('acme', hashes[0] ?? '')).length).toBe(500_000);
});

test('P6 a folder that cannot be made is STORE_UNAVAILABLE, and a missing one holds nothing', async () => {
  mkdirSync(dirname(folder), { recursive: true });
  const blobs = createFileBlobs(folder);
  expect(await blobs.has('acme', '0'.repeat(64))).toBe(false);
  writeFileSync(folder, 'a file in its place');
  await expect(blobs.put('acme', hello)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(blobs.get('acme', '0'.repeat(64))).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
});
