/** The hashes that texts name are those that the scan of texts finds. */
import { expect, test } from 'vitest';
import { createSeededRandom } from '../../ports/seeded-random.ts';
import { encodeCheckpoint, rootChecksum } from './checkpoint.ts';
import { hashesIn, namedByMeta, namedByState } from './named-blobs.ts';

const scan = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const [one, other] = ['1'.repeat(64), 'ab'.repeat(32)];

test('C5 hashes are found wherever they stand, and no longer or shorter runs of digits', () => {
  const random = createSeededRandom(7);
  const digits = (count: number): string =>
    Array.from({ length: count }, () => random.pick('0123456789abcdef'.split(''))).join('');
  for (let round = 0; round < 400; round += 1) {
    const parts = Array.from({ length: 1 + random.integer(8) }, () =>
      random.pick([
        () => digits(64),
        () => digits(63 + random.integer(3)),
        () => digits(random.integer(200)),
        () => 'xyz" ,G\u00e4'.repeat(random.integer(12)),
        () => random.pick(['x', '"', 'A', 'g', ' ']),
      ])(),
    );
    const text = parts.join(random.pick(['', 'x', '"']));
    expect(hashesIn(bytesOf(text))).toEqual([...new Set(text.match(scan))]);
  }
});

test('C5 a checkpoint names blobs in its delta and its change, and not the hashes of its graph and code', () => {
  const graphHash = 'c'.repeat(64);
  const delta = [
    ['s', ['graphHash'], graphHash],
    ['s', ['codeHash'], 'd'.repeat(64)],
  ];
  const encoded = (change: readonly object[], ops: readonly unknown[]) =>
    encodeCheckpoint({ runKey: '0', seq: 0 }, rootChecksum, 1, JSON.stringify(change), JSON.stringify(ops)).blobs;
  expect(encoded([{ kind: 'start', graphHash }], delta)).toBeUndefined();
  expect(encoded([{ kind: 'event', detail: one }], [...delta, ['s', ['frame'], { output: { sha: other } }]])).toEqual([
    one,
    other,
  ]);
  const tree = { status: 'paused', graphHash, codeHash: 'd'.repeat(64), frame: { input: { graphHash: one } } };
  expect(namedByState(bytesOf(JSON.stringify(tree)))).toEqual({ blobs: [one] });
});

test('C5 the meta of a run defines its graph, and names what else is in it', () => {
  const meta = {
    graphHash: 'c'.repeat(64),
    structure: one,
    text: other,
    labels: { sha: 'e'.repeat(64) },
    keySeed: 'x',
  };
  expect(namedByMeta(bytesOf(JSON.stringify(meta)))).toEqual({ blobs: ['e'.repeat(64)], defines: [one, other] });
  expect(namedByMeta(new Uint8Array())).toEqual({ blobs: [], defines: [] });
});
