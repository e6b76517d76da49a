import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import { WriteQueue } from './write-queue.ts';

let folder = '';
let db: DatabaseSync;
let begun = 0;
let rolledBack = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-queue-'));
  db = new DatabaseSync(join(folder, 'q.db'));
  db.exec('pragma journal_mode = wal; create table t (id integer primary key, body)');
  begun = rolledBack = 0;
});

afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

function createQueue(durability: 'default' | 'normal' | 'full' = 'default', busyTimeoutMs = 0): WriteQueue {
  return new WriteQueue({
    db,
    path: join(folder, 'q.db'),
    store: 'queue',
    durability,
    busyTimeoutMs,
    copiesLog: true,
    onBegin: () => {
      begun += 1;
    },
    onRollback: () => {
      rolledBack += 1;
    },
  });
}

const insert = (body: string | null | Uint8Array) => (): unknown =>
  db.prepare('insert into t (body) values (?)').run(body).changes;
const bodies = (): unknown[] =>
  db
    .prepare('select body from t order by id')
    .all()
    .map((row) => row['body']);
const codes = (settled: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  settled.map((one) => (one.status === 'fulfilled' ? 'done' : (one.reason as CairnError).code));

test('E3 writes made in one turn share a transaction and are answered in order', async () => {
  const queue = createQueue();
  const answered: string[] = [];
  const writes = ['a', 'b', 'c'].map(async (body) => {
    await queue.enqueue(insert(body), false, 1);
    answered.push(body);
  });
  expect(bodies()).toEqual([]);
  await Promise.all(writes);
  expect([begun, bodies(), answered]).toEqual([1, ['a', 'b', 'c'], ['a', 'b', 'c']]);
});

test('E4 what piles up is written without waiting for the turn to end: 128 writes, or 256 KiB', async () => {
  const queue = createQueue();
  const many = Array.from({ length: 128 }, (_, index) => queue.enqueue(insert(String(index)), false, 1));
  expect([begun, bodies().length]).toEqual([1, 128]);
  const large = [queue.enqueue(insert('x'), false, 200_000), queue.enqueue(insert('y'), false, 100_000)];
  expect([begun, bodies().length]).toEqual([2, 130]);
  await Promise.all([...many, ...large]);
});

test('E3 a write that is refused leaves the others of its transaction alone', async () => {
  const queue = createQueue();
  const refuse = (): never => {
    throw new CairnError('CLAIM_FENCED', {});
  };
  const settled = await Promise.allSettled([
    queue.enqueue(insert('a'), false, 1),
    queue.enqueue(refuse, false, 1),
    queue.enqueue(insert('b'), false, 1),
  ]);
  expect(codes(settled)).toEqual(['done', 'CLAIM_FENCED', 'done']);
  expect([begun, rolledBack, bodies()]).toEqual([1, 0, ['a', 'b']]);
});

test('E3 a write whose values cannot be written fails alone, and the others are written again without it', async () => {
  db.exec('create unique index once on t (body)');
  const queue = createQueue();
  const settled = await Promise.allSettled(['a', 'b', 'a', 'c'].map((body) => queue.enqueue(insert(body), false, 1)));
  expect(codes(settled)).toEqual(['done', 'done', 'STORE_UNAVAILABLE', 'done']);
  expect(bodies()).toEqual(['a', 'b', 'c']);
  expect(rolledBack).toBeGreaterThan(0);
});

test('S3 a full disk fails every write of the transaction, writes none, and the queue goes on when there is room', async () => {
  const queue = createQueue();
  await queue.enqueue(insert('first'), false, 1);
  const { page_count: pages } = db.prepare('pragma page_count').get() as { page_count: number };
  db.exec(`pragma max_page_count = ${pages + 2}`);
  const large = new Uint8Array(200_000);
  const settled = await Promise.allSettled([
    queue.enqueue(insert('small'), false, 1),
    queue.enqueue(insert(large), true, 1),
    queue.enqueue(insert('other'), false, 1),
  ]);
  expect(codes(settled)).toEqual(['STORE_FULL', 'STORE_FULL', 'STORE_FULL']);
  expect([rolledBack, bodies()]).toEqual([1, ['first']]);
  db.exec('pragma max_page_count = 100000');
  await queue.enqueue(insert('after'), true, 1);
  expect(bodies()).toEqual(['first', 'after']);
});

test('E4 a write that asks to survive a power cut is synced, and others are as the store was told', async () => {
  const level = (): number => (db.prepare('pragma synchronous').get() as { synchronous: number }).synchronous;
  const levels = async (durability: 'default' | 'normal' | 'full'): Promise<number[]> => {
    const queue = createQueue(durability);
    db.exec('pragma synchronous = normal');
    const seen: number[] = [];
    for (const needsPower of [false, true, true, false]) {
      await queue.enqueue(insert('x'), needsPower, 1);
      seen.push(level());
    }
    await Promise.all([queue.enqueue(insert('x'), false, 1), queue.enqueue(insert('x'), true, 1)]);
    return [...seen, level()];
  };
  const [normal, full] = [1, 2];
  expect(await levels('default')).toEqual([normal, full, full, normal, full]);
  expect(await levels('normal')).toEqual([normal, normal, normal, normal, normal]);
  expect(await levels('full')).toEqual([full, full, full, full, full]);
});

test('P6 a database locked by another is waited for, and is STORE_BUSY in the end', async () => {
  const other = new DatabaseSync(join(folder, 'q.db'));
  other.exec('begin immediate');
  const hasty = createQueue('default', 0);
  expect(codes(await Promise.allSettled([hasty.enqueue(insert('a'), false, 1)]))).toEqual(['STORE_BUSY']);
  const patient = createQueue('default', 60_000);
  const writes = Array.from({ length: 200 }, (_, index) => patient.enqueue(insert(`p${index}`), false, 1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toBe(0);
  other.exec('commit');
  await Promise.all(writes);
  await patient.drain();
  expect(bodies()).toEqual(Array.from({ length: 200 }, (_, index) => `p${index}`));
  other.close();
});

test('S3 draining waits for what a locked database holds up', async () => {
  const other = new DatabaseSync(join(folder, 'q.db'));
  other.exec('begin immediate');
  const queue = createQueue('default', 60_000);
  let isDone = false;
  const write = queue.enqueue(insert('a'), false, 1);
  const drained = queue.drain().then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDone).toBe(false);
  other.exec('rollback');
  await Promise.all([write, drained]);
  expect(bodies()).toEqual(['a']);
  other.close();
});
