import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { zstdBomb } from '../../../test/support/zstd-bomb.ts';
import { flipByte } from '../../../test/history/damaged-store.ts';
import { emptyTree, ModelHistory, tenant, type ModelRun } from '../../../test/history/model-history.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { loadState } from '../load/load.ts';
import { exportRun } from '../export-import/export.ts';
import { importRun } from '../export-import/import.ts';
import { collectBlobs } from '../retention/collect-blobs.ts';
import { pruneRun } from '../retention/prune.ts';
import { verifyRun } from '../verify/verify.ts';
import { BlobRef } from '../../state/values/value-codec.ts';
import type { Change } from './change.ts';
import { checkpointText, decodeCheckpoint, encodeCheckpoint, storedForm, rootChecksum } from './checkpoint.ts';
import { packLarge, packSmall, unpack } from './packed.ts';

const runKey = '35047de448c7c941';
const external: Change = [{ kind: 'step', node: ['agent'], step: 'call', effect: 'external' }];
const pure: Change = [{ kind: 'settle', node: ['agent'] }];
const words = (count: number): string => 'the quick brown fox jumps over the lazy dog '.repeat(count);

/** A run of external work with much text: all but its first checkpoint are long enough to be packed. */
async function writeLong(history: ModelHistory = new ModelHistory()): Promise<ModelRun> {
  const run = await history.start('r', { ...emptyTree(), log: [] });
  for (let count = 1; count <= 4; count += 1)
    await run.commit([['a', ['log'], [`${count} ${words(14_000)}`]]], external);
  return run;
}

const bodiesOf = async (run: ModelRun): Promise<number[]> =>
  (await run.history.store.readCheckpoints({ tenant, runId: run.runId }, { from: 0, to: 9 })).map(
    ({ body }) => body.length,
  );

test('C7 a packed checkpoint of format v1 is read', () => {
  const golden = join(import.meta.dirname, 'golden/v1');
  const { seq, at, file, parent, checksum } = JSON.parse(readFileSync(join(golden, 'packed.json'), 'utf8')) as {
    seq: number;
    at: number;
    file: string;
    parent: string;
    checksum: string;
  };
  const row = { seq, at, body: readFileSync(join(golden, file)), checksum: Buffer.from(checksum, 'hex') };
  const decoded = decodeCheckpoint({ runKey, seq }, Buffer.from(parent, 'hex'), row);
  expect(decoded.change).toEqual(external);
  expect(decoded.ops).toEqual([['s', ['log'], words(40)]]);
  expect(row.body.toString('latin1')).not.toContain('quick brown');
});

/** A checkpoint as it is kept. */
function kept(seq: number, change: Change, delta: string): { body: Uint8Array; checksum: Uint8Array } {
  const json = JSON.stringify(change);
  const { body, checksum } = encodeCheckpoint({ runKey, seq }, rootChecksum, 1, json, delta);
  return { body: storedForm(seq, json, body), checksum };
}

test('C4 what tells of an external effect is packed but for the beginning of a history; other work, short histories and small bodies are kept as text', () => {
  const isPacked = (seq: number, change: Change, text: string): boolean => {
    const delta = JSON.stringify([['s', ['log'], text]]);
    const { body } = kept(seq, change, delta);
    expect(Buffer.from(unpack(body)).toString()).toContain(delta);
    return body[0] !== '{'.charCodeAt(0);
  };
  expect(isPacked(20, external, words(40))).toBe(true);
  expect(isPacked(10, external, words(40))).toBe(false);
  expect(isPacked(10, external, words(400))).toBe(true);
  expect(isPacked(100_000, external, words(4))).toBe(false);
  expect(isPacked(600, pure, words(40))).toBe(false);
});

test('C6 the checksum of a packed checkpoint is that of its text, and any damage to it is found', () => {
  const delta = JSON.stringify([['s', ['log'], words(40)]]);
  const identity = { runKey, seq: 600 };
  const row = { seq: 600, at: 1, ...kept(600, external, delta) };
  const asText = { ...row, body: Buffer.from(checkpointText(runKey, row)) };
  expect(asText.body.length).toBeGreaterThan(row.body.length * 3);
  expect(decodeCheckpoint(identity, rootChecksum, asText)).toEqual(decodeCheckpoint(identity, rootChecksum, row));
  const corrupt = expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' });
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (place, flip) => {
      const at = place % row.body.length;
      const cut = { ...row, body: row.body.slice(0, at) };
      expect(() => decodeCheckpoint(identity, rootChecksum, cut)).toThrow(corrupt);
      const flipped = unpackedOf(flipByte(row.body, place, flip));
      // Some bits of the packed form mean nothing: what counts is that no other text passes.
      if (flipped === asText.body.toString()) return;
      const damaged = { ...row, body: flipByte(row.body, place, flip) };
      expect(() => decodeCheckpoint(identity, rootChecksum, damaged)).toThrow(corrupt);
    }),
  );
});

test('C6 a body of a few KiB that unpacks to gigabytes is refused before that, and what is packed is always read', () => {
  const gigabytes = zstdBomb(1.5 * 1024 ** 3);
  expect(gigabytes.length).toBeLessThan(50_000);
  const row = { seq: 1, at: 1, body: gigabytes, checksum: Buffer.alloc(32) };
  const before = process.memoryUsage().rss;
  expect(() => decodeCheckpoint({ runKey, seq: 1 }, rootChecksum, row)).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }),
  );
  const brotli = Buffer.concat([Buffer.from('B'), brotliCompressSync(Buffer.alloc(100 * 1024 ** 2))]);
  expect(() => unpack(brotli)).toThrow(/larger than/);
  expect(process.memoryUsage().rss - before).toBeLessThan(500 * 1024 ** 2);
  for (const text of [Buffer.alloc(15 * 1024 ** 2, '{'), Buffer.alloc(20 * 1024 ** 2, '{')])
    for (const pack of [packLarge, packSmall]) expect(unpack(pack(text)).length).toBe(text.length);
});

function unpackedOf(body: Uint8Array): string | undefined {
  try {
    return unpack(body).toString();
  } catch {
    return undefined;
  }
}

test('C4 a history with packed checkpoints loads, verifies, is pruned, exported and imported as one without', async () => {
  const run = await writeLong();
  const { store, blobs } = run.history;
  expect((await bodiesOf(run)).slice(1).every((length) => length < 10_000)).toBe(true);
  expect((await loadState(store, blobs, await run.row())).root).toEqual(run.state);
  expect((await verifyRun(store, blobs, await run.row())).faults).toEqual([]);
  for (const isPruned of [false, true]) {
    if (isPruned) await pruneRun(store, blobs, run.claim, await run.row(), { keepLast: 2 });
    const lines: string[] = [];
    for await (const line of exportRun(store, blobs, await run.row())) lines.push(line);
    // What is exported is text, that of a large snapshot too.
    expect(lines.join('')).toContain('4 the quick brown fox');
    const target = new ModelHistory();
    const given = (async function* () {
      yield* lines;
    })();
    await importRun(target.store, target.blobs, given, { tenant, as: 'move', workerId: 'importer' });
    const imported = await target.readRun('r');
    expect((await loadState(target.store, target.blobs, imported)).root).toEqual(run.state);
    expect((await verifyRun(target.store, target.blobs, imported)).faults).toEqual([]);
    const rows = await target.store.readCheckpoints({ tenant, runId: 'r' }, { from: 4, to: 4 });
    expect(rows.map(({ body }) => body.length < 10_000)).toEqual([true]);
  }
});

test('C5 a blob that only a packed checkpoint names is kept', async () => {
  let nowMs = 0;
  const history = new ModelHistory(
    undefined,
    createMemoryBlobs(() => nowMs),
  );
  const run = await writeLong(history);
  const hash = await history.blobs.put({ tenant, runId: 'r' }, Buffer.from('"large"'));
  const stray = await history.blobs.put({ tenant, runId: 'r' }, Buffer.from('"stray"'));
  await run.commitJson(`[["s",["large"],${new BlobRef(hash, 7).json}],["s",["padding"],"${words(14_000)}"]]`, external);
  expect((await bodiesOf(run)).at(-1)).toBeLessThan(10_000);
  nowMs = 3 * 24 * 3_600_000;
  expect(await collectBlobs(history.store, history.blobs, tenant, new Map(), true)).toEqual({ blobs: 1 });
  expect([await history.blobs.has(tenant, hash), await history.blobs.has(tenant, stray)]).toEqual([true, false]);
});
