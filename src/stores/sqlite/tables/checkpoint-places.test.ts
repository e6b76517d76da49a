/** Checkpoints are found whether they have their place yet or not, whoever wrote them and whatever was removed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Claim, Store } from '../../../ports/store.ts';
import {
  checkpoint,
  commitMany,
  commitOf,
  keyOf,
  requireClaim,
  startRun,
  tenant,
} from '../../../testing/store-suite/examples.ts';
import { unplacedMax } from './run-rows.ts';
import { openSqliteStore } from '../sqlite-store.ts';

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-places-'));
  path = join(folder, 'store.db');
});

afterEach(() => rmSync(folder, { recursive: true }));

const seqsOf = async (store: Store, runId: string): Promise<number[]> =>
  (await store.readCheckpoints(keyOf(runId), { from: 0, to: 10_000 })).map(({ seq }) => seq);

const upTo = (last: number): number[] => Array.from({ length: last + 1 }, (_, seq) => seq);

function readCount(sql: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  const row = db.prepare(sql).get() as { count: number };
  db.close();
  return row.count;
}

const countPlaces = (): number => readCount('select count(*) as count from places');
const countUnplaced = (): number =>
  readCount('select count(*) as count from checkpoints where id > (select up_to from placed)');

test('S4 few checkpoints are ever without a place, and none is lost or found twice', async () => {
  const store = openSqliteStore({ path });
  const claims: Claim[] = [];
  for (const runId of ['a', 'b', 'c']) claims.push(await startRun(store, runId));
  for (let seq = 1; seq <= 150; seq += 1) {
    await Promise.all(claims.map((claim) => store.commit(commitOf(claim, seq))));
    if (seq % 25 !== 0) continue;
    expect(countUnplaced()).toBeLessThan(unplacedMax);
    for (const runId of ['a', 'b', 'c']) {
      expect(await seqsOf(store, runId)).toEqual(upTo(seq));
      expect((await store.readRun(keyOf(runId)))?.head).toBe(seq);
    }
  }
  expect(countPlaces() + countUnplaced()).toBe(3 * 151);
  const range = await store.readCheckpoints(keyOf('b'), { from: 40, to: 10_000, limit: 3 });
  expect(range.map(({ seq }) => seq)).toEqual([40, 41, 42]);
  await store.close();
});

test('E3 a commit between two that give places writes no page of the index', async () => {
  const store = openSqliteStore({ path });
  const claim = await startRun(store, 'run');
  const counts = new Set<number>();
  for (let seq = 1; seq < unplacedMax - 1; seq += 1) {
    await store.commit(commitOf(claim, seq));
    counts.add(countPlaces());
  }
  expect([...counts]).toEqual([0]);
  await commitMany(store, claim, unplacedMax - 1, unplacedMax - 1);
  expect(countPlaces()).toBe(unplacedMax);
  await store.close();
});

test('S3 a lost acknowledgement is recognised whether the checkpoint has its place or not', async () => {
  const store = openSqliteStore({ path });
  const claim = await startRun(store, 'run');
  await commitMany(store, claim, 1, unplacedMax + 20);
  for (const seq of [5, unplacedMax + 5]) {
    expect(await store.commit(commitOf(claim, seq))).toEqual({ isHeld: true });
    const other = { ...commitOf(claim, seq), checkpoint: checkpoint(seq, 'another') };
    await expect(store.commit(other)).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' });
  }
  await store.close();
});

test('C8 checkpoints written after the newest were removed are found, though SQLite gives their ids again', async () => {
  const store = openSqliteStore({ path });
  await commitMany(store, await startRun(store, 'kept'), 1, 10);
  const removed = await startRun(store, 'removed');
  await commitMany(store, removed, 1, unplacedMax + 30);
  await store.releaseClaim(removed);
  await store.removeRun(keyOf('removed'));
  expect(countPlaces()).toBe(11);
  await commitMany(store, await startRun(store, 'next'), 1, 20);
  expect(await seqsOf(store, 'next')).toEqual(upTo(20));
  expect(await seqsOf(store, 'kept')).toEqual(upTo(10));
  await store.close();
});

test('C8 pruning finds what it removes and replaces among those without a place', async () => {
  const store = openSqliteStore({ path });
  const claim = await startRun(store, 'run');
  await commitMany(store, claim, 1, 40);
  const folded = checkpoint(20, 'folded');
  const remove = Array.from({ length: 9 }, (_, index) => 11 + index);
  await store.pruneRun({
    tenant,
    runId: 'run',
    token: claim.token,
    remove,
    replace: [folded],
    snapshots: [],
    prunedBelow: 0,
  });
  await store.commit(commitOf(claim, 41));
  const rows = await store.readCheckpoints(keyOf('run'), { from: 0, to: 100 });
  expect(rows.map(({ seq }) => seq)).toEqual(upTo(41).filter((seq) => !remove.includes(seq)));
  expect(Buffer.from(rows.find(({ seq }) => seq === 20)?.body ?? []).toString()).toBe('folded');
  await store.close();
});

test('P4 two connections that write in turn agree on what has a place and on the numbers of new runs', async () => {
  const [one, two] = [openSqliteStore({ path }), openSqliteStore({ path })];
  const stores = [one, two];
  let claim = await startRun(one, 'run');
  for (let turn = 0; turn < 8; turn += 1) {
    const store = stores[turn % 2]!;
    claim = await requireClaim(store, 'run', `worker ${turn}`, claim.workerId);
    await commitMany(store, claim, turn * 40 + 1, turn * 40 + 40);
    await startRun(store, `other ${turn}`);
    for (const reader of stores) expect(await seqsOf(reader, 'run')).toEqual(upTo(turn * 40 + 40));
  }
  for (let turn = 0; turn < 8; turn += 1) expect(await seqsOf(one, `other ${turn}`)).toEqual([0]);
  await one.close();
  await two.close();
});
