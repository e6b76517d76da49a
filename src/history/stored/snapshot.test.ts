import * as fc from 'fast-check';
import { zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { emptyTree, ModelHistory, tenant, type ModelRun } from '../../../test/history/model-history.ts';
import type { RunTree } from '../../state/tree.ts';
import { loadState, writeSnapshotOf } from '../load/load.ts';
import { decodeSnapshot, encodeSnapshot, readSnapshotText, parseTreeLines, toTreeLines } from './chain.ts';
import { verifyRun } from '../verify/verify.ts';
import { writeStoredSnapshot } from '../load/fold-stored.ts';

const text = (size: number): string => 'x'.repeat(size);

test('C4 a large tree is kept in lines, and read back the same, keys in order', () => {
  const anyValue = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(0, 5, 9, 40_000, 70_000).map(text),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$', '__proto__', '1', 'a')), tie('value'), {
        maxKeys: 5,
        noNullPrototype: true,
      }),
    ),
  })).value;
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), anyValue, { noNullPrototype: true }), (tree) => {
      const json = JSON.stringify(tree);
      const lines = toTreeLines(json);
      expect(JSON.stringify(parseTreeLines(lines))).toBe(json);
      expect(lines.join('').includes('\n')).toBe(false);
    }),
    { numRuns: 40 },
  );
}, 30_000);

test('C4 no line of a large tree is longer than it must be', () => {
  const list = Array.from({ length: 300 }, (_, index) => ({ index, text: text(1_000) }));
  const nodes = Object.fromEntries(list.map((item) => [`n${item.index}`, { output: item.text }]));
  const lines = toTreeLines(JSON.stringify({ frame: { nodes, channels: { scratch: { list } } } }));
  expect(lines.length).toBeGreaterThan(8);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(128 * 1024);
  expect(toTreeLines(JSON.stringify({ small: 1 }))).toEqual(['{"small":1}']);
});

async function snapshotHead(run: ModelRun): Promise<number> {
  const { store } = run.history;
  const root = structuredClone(run.state) as unknown as RunTree;
  return writeSnapshotOf(store, await run.row(), run.head, run.links.get(run.head)!, root);
}

test('C4 a load tells what it read since the snapshot', async () => {
  const run = await new ModelHistory().start('r');
  for (let i = 0; i < 4; i++) await run.commit([['s', ['codeHash'], `${i}`]]);
  const { store, blobs } = run.history;
  const cost = async (of: ModelRun): Promise<unknown> => (await loadState(store, blobs, await of.row())).cost;
  const sizes = (from: number): number =>
    [...run.sizes].reduce((sum, [seq, size]) => (seq >= from ? sum + size : sum), 0);
  expect(await cost(run)).toEqual({
    deltaBytes: sizes(0),
    rows: 5,
    ownCost: sizes(0) + 5 * 1_024,
    stateBytes: 0,
    snapshotSeq: undefined,
  });
  const bytes = await snapshotHead(run);
  expect(await cost(run)).toMatchObject({ deltaBytes: 0, rows: 0, ownCost: 0, snapshotSeq: 4 });
  await run.commit([]);
  const after = (await loadState(store, blobs, await run.row())).cost;
  expect(after).toMatchObject({ deltaBytes: sizes(5), rows: 1, snapshotSeq: 4 });
  expect(after.stateBytes).toBeLessThanOrEqual(bytes);
  const fork = await run.history.fork(run, 5, 'fork');
  const forkSize = fork.sizes.get(6)!;
  expect(await cost(fork)).toMatchObject({
    deltaBytes: sizes(5) + forkSize,
    rows: 2,
    ownCost: forkSize + 1_024,
    snapshotSeq: 4,
  });
});

test('C5 a snapshot made of what is stored keeps blobs as blobs, and a value that grew in it', async () => {
  const history = new ModelHistory();
  const run = await history.start('r');
  const [big, list] = [{ text: text(300_000), when: new Date(5) }, [text(300_000)]];
  const put = async (json: string): Promise<string> => {
    const hash = await history.blobs.put({ tenant, runId: 'run' }, Buffer.from(json));
    return `{"$":"blob","hash":"${hash}","sizeBytes":${json.length}}`;
  };
  const bigRef = await put(`{"text":${JSON.stringify(big.text)},"when":{"$":"date","v":5}}`);
  const listRef = await put(JSON.stringify(list));
  const scratch = '["frame","channels","scratch"';
  await run.commitJson(`[["s",${scratch},"big"],${bigRef}],["s",${scratch},"list"],${listRef}]]`);
  await run.commitJson(`[["a",${scratch},"list"],[2]],["a",${scratch},"list"],[3]]]`);
  const expected = {
    ...(emptyTree()['frame'] as object),
    channels: { scratch: { big, list: [...list, 2, 3] }, artifacts: {}, diagnostics: {} },
  };
  const load = async (): Promise<unknown> =>
    (await loadState(history.store, history.blobs, await run.row())).root.frame;
  expect(await load()).toEqual(expected);
  const bytes = await writeStoredSnapshot(history.store, history.blobs, await run.row(), run.head);
  expect(bytes).toBeGreaterThan(300_000);
  expect(bytes).toBeLessThan(310_000);
  expect(await load()).toEqual(expected);
  expect(await verifyRun(history.store, history.blobs, await run.row())).toMatchObject({
    snapshots: 1,
    blobs: 2,
    faults: [],
  });
});

test('C4 a snapshot of what is not there is refused', async () => {
  const run = await new ModelHistory().start('r');
  const { store } = run.history;
  const write = (runId: string, seq: number): Promise<number> =>
    writeSnapshotOf(store, { tenant, runId }, seq, run.links.get(0)!, {} as RunTree);
  await expect(write('nobody', 0)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(write('r', 1)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  await expect(write('r', 9)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
});

test('C4 a large snapshot is kept compressed where that saves room, under the checksum of what it says, and damage to it is found', () => {
  const of = { link: new Uint8Array(32).fill(1), parent: new Uint8Array(32).fill(2) };
  const identity = { runKey: '0123456789abcdef', seq: 7 };
  const tree = { words: 'the same again '.repeat(20_000) };
  const json = JSON.stringify(tree);
  const row = encodeSnapshot(identity, of, json, false);
  expect(row.body.length).toBeLessThan(json.length / 10);
  expect(decodeSnapshot(identity.runKey, row).parseTree()).toEqual(tree);
  expect(readSnapshotText(identity.runKey, row)).toContain('the same again');
  // As it was kept before there was compression.
  const plain = { ...row, body: zstdDecompressSync(row.body) };
  expect(decodeSnapshot(identity.runKey, plain).parseTree()).toEqual(tree);
  const small = encodeSnapshot(identity, of, '{"a":1}', false);
  expect(Buffer.from(small.body).toString()).toContain('{"a":1}');
  for (const at of [2, 20, row.body.length - 1]) {
    const body = Buffer.from(row.body);
    body[at] = (body[at] ?? 0) ^ 1;
    expect(() => decodeSnapshot(identity.runKey, { ...row, body })).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }),
    );
  }
});
