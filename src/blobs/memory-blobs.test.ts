import { expect, test } from 'vitest';
import { createMemoryBlobs } from './memory-blobs.ts';

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

test('C5 the same bytes are stored once, by their hash, and are shared with no one', async () => {
  const blobs = createMemoryBlobs();
  const given = bytes(1, 2, 3);
  const hash = await blobs.put('t', given);
  expect(hash).toBe('039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81');
  given[0] = 9;
  (await blobs.get('t', hash))[1] = 9;
  expect(await blobs.get('t', hash)).toEqual(bytes(1, 2, 3));
  expect(await blobs.put('t', bytes(1, 2, 3))).toBe(hash);
});

test('C5 a blob is inside its tenant', async () => {
  const blobs = createMemoryBlobs();
  const hash = await blobs.put('one', bytes(1));
  expect([await blobs.has('one', hash), await blobs.has('two', hash)]).toEqual([true, false]);
  await expect(blobs.get('two', hash)).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
});

test('C5 the collector spares what is needed and what is young', async () => {
  let now = 0;
  const blobs = createMemoryBlobs(() => now);
  const [needed, old] = [await blobs.put('t', bytes(1)), await blobs.put('t', bytes(2))];
  now = 100;
  const young = await blobs.put('t', bytes(3));
  expect(await blobs.collect('t', new Set([needed]), 50)).toBe(1);
  expect(await Promise.all([needed, old, young].map((hash) => blobs.has('t', hash)))).toEqual([true, false, true]);
});
