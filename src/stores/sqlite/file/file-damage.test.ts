/** What a damaged file does: it is told, at opening or when somebody looks. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunRow, Store } from '../../../ports/store.ts';
import { commitMany, commitOf, message, startRun, tenant } from '../../../testing/store-suite/examples.ts';
import { openSqliteStore } from '../sqlite-store.ts';

const pageBytes = 16_384;
const runIds = Array.from({ length: 12 }, (_, index) => `run ${index}`);

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-damage-'));
  path = join(folder, 'store.db');
});

afterEach(() => rmSync(folder, { recursive: true }));

async function fill(store: Store): Promise<void> {
  for (const runId of runIds) await commitMany(store, await startRun(store, runId), 1, 30);
}

const listIds = async (store: Store): Promise<readonly string[]> =>
  (await store.listRuns({ tenant })).rows.map(({ runId }) => runId).reverse();

test.each([1, 100, pageBytes / 2, pageBytes - 1, pageBytes, 2 * pageBytes + 5])(
  'P6 a file that lost its last %i bytes is STORE_CORRUPT, for readers and writers alike',
  async (lostBytes) => {
    const store = openSqliteStore({ path });
    await fill(store);
    await store.close();
    truncateSync(path, statSync(path).size - lostBytes);
    for (const readOnly of [true, false])
      expect(() => openSqliteStore({ path, readOnly })).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  },
);

test.each([0, 1, 2.5])(
  'P6 what a kill leaves of a copy of the log into the file, %d pages of it, is no damage, and nothing is missing',
  async (copiedPages) => {
    const store = openSqliteStore({ path, walAutoCheckpointPages: 0 });
    await fill(store);
    const killed = join(folder, 'killed.db');
    copyFileSync(path, killed);
    copyFileSync(`${path}-wal`, `${killed}-wal`);
    const { size } = statSync(killed);
    truncateSync(killed, size + copiedPages * pageBytes);
    await store.close();
    for (const readOnly of [true, false]) {
      const again = openSqliteStore({ path: killed, readOnly });
      expect(await listIds(again)).toEqual(runIds);
      expect(await again.findDamage?.()).toEqual([]);
      await again.close();
    }
  },
);

/** Changes the file as damage would, with nobody there. */
function tamper(sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

async function fillAndClose(): Promise<void> {
  const store = openSqliteStore({ path });
  await fill(store);
  await store.postMessage(message('run 1'));
  await store.close();
}

const claim = (store: Store, runId: string) =>
  store.claimRun({ tenant, runId, workerId: 'two', leaseMs: 1000, takeFrom: 'one' });

/** Zeroes the second half of the first page of a table or an index, where its first rows are. */
function zeroHalf(name: string): void {
  const db = new DatabaseSync(path);
  const { pageno } = db.prepare('select pageno from dbstat where name = ?').get(name) as { readonly pageno: number };
  db.close();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0, (pageno - 0.5) * pageBytes, pageno * pageBytes));
}

test.each([
  [
    'the place of its newest checkpoint',
    () => tamper('delete from places where run = 2 and seq = 30'),
    'newest checkpoints of run run 1',
  ],
  ['a message from a list of those', () => zeroHalf('messages_untaken'), 'messages of run run 1'],
])('P6 a run that lost %s is not taken up: STORE_CORRUPT, and the others are', async (_, damage, reason) => {
  await fillAndClose();
  damage();
  const store = openSqliteStore({ path });
  await expect(claim(store, 'run 1')).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
    data: { reason: expect.stringContaining(reason) },
  });
  expect((await claim(store, 'run 2')).claim).toBeDefined();
  await store.close();
});

test.each([
  [
    'has lost its newest checkpoint',
    "delete from places where seq = 6 and run = (select no from runs where run_id = 'left')",
    'left',
    'newest checkpoints of run left',
  ],
  ['has lost nothing', 'select 1', 'other', 'taken up'],
  [
    'has lost nothing, in a file from before places were counted',
    'delete from placed where one = 3',
    'other',
    'taken up',
  ],
])(
  'P6 however much was written since, a run that was left and %s is taken up if it is whole',
  async (_, sql, runId, expected) => {
    const filled = openSqliteStore({ path });
    const left = await startRun(filled, 'left');
    await commitMany(filled, left, 1, 5);
    const removed = await startRun(filled, 'removed');
    await commitMany(filled, await startRun(filled, 'other'), 1, 5);
    await commitMany(filled, removed, 1, 1_100);
    await commitMany(filled, left, 6, 6);
    await filled.releaseClaim(removed);
    await filled.removeRun(removed);
    await filled.close();
    tamper(sql);
    const store = openSqliteStore({ path });
    const told = await claim(store, runId).then(
      (reply) => (reply.claim === undefined ? 'held' : 'taken up'),
      (error: Error) => error.message,
    );
    expect(told).toContain(expected);
    await store.close();
  },
);

test.each([
  ['nothing', 'select 1', 3, 1],
  ['the place of its newest checkpoint', 'delete from places where seq = 6 and run = 1', 3, 0],
  ['that place, far behind the others', 'delete from places where seq = 6 and run = 1', 1_100, 0],
])('P6 who only reads a run that was left and has lost %s sees how far it came', async (_, sql, later, found) => {
  const filled = openSqliteStore({ path });
  const left = await startRun(filled, 'left');
  const other = await startRun(filled, 'other');
  await commitMany(filled, left, 1, 5);
  await commitMany(filled, other, 1, later);
  await commitMany(filled, left, 6, 6);
  await commitMany(filled, other, later + 1, later + 200);
  await filled.close();
  tamper(sql);
  const store = openSqliteStore({ path, now: () => Date.now() + 3_600_000 });
  const run = (await store.readRun({ tenant, runId: 'left' })) as RunRow;
  expect([run.claim, run.head]).toEqual([undefined, 6]);
  // A head without a row is what those who read histories call CHECKPOINT_CORRUPT.
  expect(await store.readCheckpoints(run, { from: 6, to: 6 })).toHaveLength(found);
  expect((await store.readRun({ tenant, runId: 'other' }))?.head).toBe(later + 200);
  await store.close();
});

test.each([
  ['is gone', 'delete from checkpoints where id = (select max(id) - 2 from checkpoints)'],
  ['says it is of another run', 'update checkpoints set run = 7 where id = (select max(id) from checkpoints)'],
  [
    'says it is of a run that never was',
    'update checkpoints set run = 70 where id = (select max(id) from checkpoints)',
  ],
])('P6 where one of the newest checkpoints %s, a run that was left is not taken up, one at rest is', async (_, sql) => {
  const filled = openSqliteStore({ path });
  await fill(filled);
  const rested = await startRun(filled, 'rested');
  await filled.commit(commitOf(rested, 1, { status: 'paused' }));
  await filled.releaseClaim(rested);
  await commitMany(filled, await startRun(filled, 'left'), 1, 5);
  await filled.close();
  tamper(sql);
  const store = openSqliteStore({ path });
  for (const runId of ['run 3', 'left'])
    await expect(claim(store, runId)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  expect((await claim(store, 'rested')).claim).toBeDefined();
  await store.close();
});
