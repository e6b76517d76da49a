import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { CairnError } from '../../errors.ts';
import { BlobRef } from '../../state/values/value-codec.ts';
import { encodeValue } from '../../state/values/encode.ts';
import {
  checkpointId,
  decodeCheckpoint,
  encodeCheckpoint,
  encodeFold,
  readBlobValue,
  resolveValues,
  rootChecksum,
  runKeyOf,
  type DecodedCheckpoint,
} from './checkpoint.ts';
import { encodeWithChecksum } from './checksum.ts';
import { decodeSnapshot, encodeSnapshot } from './chain.ts';

const golden = join(import.meta.dirname, 'golden/v1');
const readGolden = (name: string): unknown => JSON.parse(readFileSync(join(golden, name), 'utf8'));
const bytes = (hex: string): Uint8Array => Buffer.from(hex, 'hex');

interface GoldenCheckpoint {
  readonly file: string;
  readonly seq: number;
  readonly at: number;
  readonly parent: string;
  readonly checksum: string;
}

const { runKey, checkpoints } = readGolden('index.json') as { runKey: string; checkpoints: GoldenCheckpoint[] };

/** A body's text made of what was read from it. */
function encodeAgain(decoded: DecodedCheckpoint, parent: Uint8Array): { body: Uint8Array; checksum: Uint8Array } {
  const { seq, at, change, ops, nodeUpdates, fold } = decoded;
  const delta = JSON.stringify(ops);
  if (fold !== undefined) return encodeFold({ runKey, seq }, parent, { at, change, delta }, fold);
  return encodeCheckpoint(
    { runKey, seq },
    parent,
    at,
    JSON.stringify(change),
    delta,
    nodeUpdates === undefined ? undefined : JSON.stringify(nodeUpdates),
  );
}

test.each(checkpoints)('C7 $file of format v1 is read, and written the same', ({ file, seq, at, parent, checksum }) => {
  const body = readFileSync(join(golden, file));
  const decoded = decodeCheckpoint({ runKey, seq }, bytes(parent), { seq, at, body, checksum: bytes(checksum) });
  expect(decoded).toMatchObject({ seq, at });
  const again = encodeAgain(decoded, bytes(parent));
  expect(Buffer.from(again.body).toString()).toBe(body.toString());
  expect(Buffer.from(again.checksum).toString('hex')).toBe(checksum);
});

test('C7 a snapshot of format v1 is read, and written the same', () => {
  const { seq, file, link, parent, checksum } = readGolden('snapshot.json') as {
    seq: number;
    file: string;
    link: string;
    parent: string;
    checksum: string;
  };
  const body = readFileSync(join(golden, file));
  const decoded = decodeSnapshot(runKey, { seq, body, checksum: bytes(checksum) });
  const again = encodeSnapshot({ runKey, seq }, decoded, JSON.stringify(decoded.parseTree()), decoded.hasTags);
  expect(Buffer.from(again.body).toString()).toBe(body.toString());
  expect(Buffer.from(decoded.link).toString('hex')).toBe(link);
  expect(Buffer.from(decoded.parent).toString('hex')).toBe(parent);
});

test('C7 what format v1 says is understood', () => {
  const [start, settled, appended, folded] = checkpoints.map(({ file, seq, at, checksum }) =>
    decodeCheckpoint({ runKey, seq }, undefined, {
      seq,
      at,
      body: readFileSync(join(golden, file)),
      checksum: bytes(checksum),
    }),
  );
  expect(start).toMatchObject({ change: [{ kind: 'start', graphHash: 'g1' }], nodeUpdates: undefined, hasTags: false });
  expect(settled).toMatchObject({
    change: [{ kind: 'settle', node: ['draft'], effect: 'external' }],
    nodeUpdates: { draft: { scratch: { log: 'one' } } },
    hasTags: true,
  });
  expect(appended!.ops).toHaveLength(3);
  expect(folded!.fold?.after).toBe(0);
  expect(Buffer.from(folded!.link)).toEqual(Buffer.from(appended!.link));
});

test('C7 a newer version is refused by name, once its checksum is right', () => {
  const body = Buffer.from('{"v":2,"change":[],"delta":[],"new":true}');
  const row = { seq: 3, at: 5, body, checksum: new Uint8Array(32) };
  expect(() => decodeCheckpoint({ runKey, seq: 3 }, undefined, row)).toThrow(
    expect.objectContaining({
      code: 'CHECKPOINT_VERSION_UNKNOWN',
      data: { checkpoint: `${runKey}.3`, version: 2, supported: 1 },
    }),
  );
  expect(() => decodeCheckpoint({ runKey, seq: 3 }, rootChecksum, row)).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }),
  );
  const header = JSON.stringify({ v: 2, of: '00'.repeat(32), parent: '00'.repeat(32) });
  const newer = encodeWithChecksum(`snapshot.${runKey}.1.`, rootChecksum, `${header}\n{}`);
  expect(() => decodeSnapshot(runKey, { seq: 1, ...newer })).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_VERSION_UNKNOWN' }),
  );
}, 30_000);

const anyBody = fc.record({
  change: fc.array(fc.record({ kind: fc.constant('settle'), node: fc.array(fc.string()) })),
  ops: fc.jsonValue(),
  seq: fc.nat(),
  at: fc.nat(),
});

test('C6 a flipped byte, a cut body and a wrong identity are found', () => {
  fc.assert(
    fc.property(anyBody, fc.nat(), fc.integer({ min: 1, max: 255 }), ({ change, ops, seq, at }, place, flip) => {
      const encoded = encodeCheckpoint(
        { runKey, seq },
        rootChecksum,
        at,
        JSON.stringify(change),
        JSON.stringify([ops]),
      );
      const row = { seq, at, ...encoded };
      const decode = (changed: Partial<typeof row>, identity = { runKey, seq }, parent = rootChecksum): unknown =>
        decodeCheckpoint(identity, parent, { ...row, ...changed });
      expect(decode({})).toMatchObject({ change, ops: JSON.parse(JSON.stringify([ops])) as unknown });
      const flipped = (from: Uint8Array): Uint8Array =>
        from.map((byte, index) => (index === place % from.length ? byte ^ flip : byte));
      const corrupt = expect.objectContaining({
        code: 'CHECKPOINT_CORRUPT',
        data: expect.objectContaining({ checkpoint: checkpointId(runKey, seq) }),
      });
      expect(() => decode({ body: flipped(row.body) })).toThrow(corrupt);
      expect(() => decode({ checksum: flipped(row.checksum) })).toThrow(corrupt);
      expect(() => decode({ body: row.body.slice(0, place % row.body.length) })).toThrow(corrupt);
      expect(() => decode({ checksum: row.checksum.slice(0, place % 32) })).toThrow(corrupt);
      expect(() => decode({ at: at + 1 })).toThrow(corrupt);
      expect(() => decode({}, { runKey: runKeyOf('other', 'run'), seq })).toThrow(
        expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }),
      );
      expect(() => decode({}, { runKey, seq }, flipped(rootChecksum))).toThrow(corrupt);
      expect(() => decode({ seq: seq + 1 })).toThrow(corrupt);
    }),
  );
}, 30_000);

const isTyped = (decode: () => unknown): boolean => {
  try {
    decode();
    return true;
  } catch (error) {
    return CairnError.is(error, 'CHECKPOINT_CORRUPT') || CairnError.is(error, 'CHECKPOINT_VERSION_UNKNOWN');
  }
};

test('P6 whatever a row holds, reading it fails with a typed error or not at all', () => {
  const anyText = fc.oneof(
    fc.json(),
    fc.jsonValue().map((value) => JSON.stringify({ v: 1, change: [], delta: [], fold: value })),
    fc.jsonValue().map((v) => JSON.stringify({ v, change: [], delta: [] })),
    fc.string(),
  );
  const anyBytes = fc.oneof(
    anyText.map((text) => Buffer.from(text)),
    fc.uint8Array(),
  );
  fc.assert(
    fc.property(anyBytes, fc.uint8Array(), fc.boolean(), (body, checksum, isVerified) => {
      const row = { seq: 1, at: 1, body, checksum };
      expect(isTyped(() => decodeCheckpoint({ runKey, seq: 1 }, isVerified ? rootChecksum : undefined, row))).toBe(
        true,
      );
      expect(isTyped(() => decodeSnapshot(runKey, row))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
}, 30_000);

test('C6 text over any size, of any script, comes back as it was', () => {
  const sizes = [10, 60_000, 70_000, 700_000, 1_000_000];
  for (const size of sizes) {
    const text = '🗿ü'.repeat(size / 5);
    const delta = JSON.stringify([['s', ['status'], text]]);
    const row = { seq: 0, at: 1, ...encodeCheckpoint({ runKey, seq: 0 }, rootChecksum, 1, '[]', delta) };
    expect(decodeCheckpoint({ runKey, seq: 0 }, rootChecksum, row).ops).toEqual([['s', ['status'], text]]);
  }
});

test('C3 a run key tells tenant and run apart, however they are cut', () => {
  expect(runKeyOf('a', 'bc')).toMatch(/^[0-9a-f]{16}$/);
  expect(runKeyOf('a', 'bc')).not.toBe(runKeyOf('ab', 'c'));
  expect(runKeyOf('a:1', 'b')).not.toBe(runKeyOf('a', ':1b'));
});

test('C5 bytes that are no value are BLOB_CORRUPT, also where the blob store did not notice', async () => {
  const blobs = { ...createMemoryBlobs(), get: () => Promise.resolve(Buffer.from('<!doctype html>')) };
  const hash = 'a'.repeat(64);
  const stored = (): unknown => JSON.parse(encodeValue({ text: new BlobRef(hash, 15) })) as unknown;
  const corrupt = { code: 'BLOB_CORRUPT', data: { hash } };
  await expect(resolveValues(blobs, 't', stored())).rejects.toMatchObject(corrupt);
  await expect(readBlobValue(blobs, 't', hash, JSON.parse)).rejects.toMatchObject(corrupt);
});
