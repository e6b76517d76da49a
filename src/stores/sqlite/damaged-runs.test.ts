/** Bits that flip in the row of a run: told, or of no consequence, but never taken for what was written. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { admission, commitMany, keyOf, startRun, tenant } from '../../testing/store-suite/examples.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { checkOf } from './tables/row-check.ts';

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-flips-'));
  path = join(folder, 'store.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs `first` and `run`; `run` is a fork that stands in a queue, so that every column has a value. */
async function makeStore(): Promise<void> {
  const store = openSqliteStore({ path });
  const claim = await startRun(store, 'first');
  await commitMany(store, claim, 1, 3);
  await store.releaseClaim(claim);
  const schedule = { queue: 'slow', key: 'customer', priority: 5, dueAt: 1_234 };
  await store.admitRun(admission('run', { parent: { runId: 'first', seq: 2 }, schedule }));
  await store.close();
}

/** What never changes of a run. */
function constantsOf({ tenant: of, runId, key, graphId, createdAt, parent, meta, schedule }: RunRow): unknown {
  return { of, runId, key, graphId, createdAt, parent, meta: Buffer.from(meta).toString('hex'), schedule };
}

const changes: readonly (readonly [string, string])[] = [
  ['no', 'no + 64'],
  ['key', "'0123456789abcdef'"],
  ['graph_id', "'graqh'"],
  ['created_at', 'created_at + 1'],
  ['parent_run', "'firsu'"],
  ['parent_run', 'null'],
  ['parent_seq', '3'],
  ['priority', '4'],
  ['due', 'due + 1'],
  ['queue', "'slov'"],
  ['queue', "x'ff'"],
  ['queue_key', "'custome'"],
  ['queue_key', 'null'],
  ['meta', "cast('meta of ruo' as blob)"],
  ['check_value', 'check_value + 1'],
  ['status', '7'],
  ['status', '13'],
];

test.each(changes)(
  'C6 P6 a run whose %s has become %s is STORE_CORRUPT, by name, whatever reads it, and is found by findDamage',
  async (column, value) => {
    await makeStore();
    const db = new DatabaseSync(path);
    db.prepare(`update runs set ${column} = ${value} where run_id = 'run'`).run();
    db.close();
    const store = openSqliteStore({ path });
    const told = {
      code: 'STORE_CORRUPT',
      data: { reason: 'the row of run run was changed' },
    };
    await expect(store.readRun(keyOf('run'))).rejects.toMatchObject(told);
    await expect(store.findRuns(tenant, 'ru', 9)).rejects.toMatchObject(told);
    await expect(store.claimRun({ ...keyOf('run'), workerId: 'one', leaseMs: 9 })).rejects.toMatchObject(told);
    expect(await store.findDamage?.()).toContainEqual('the row of run run of tenant acme was changed');
    const listed = (await store.listRuns({ tenant })).rows.map(({ runId, isDamaged }) => [runId, isDamaged]);
    // What has no status that is known stands in no list.
    expect(new Map(listed as [string, unknown][])).toEqual(
      new Map<string, unknown>([['first', undefined], ...(column === 'status' ? [] : [['run', true] as const])]),
    );
    await store.close();
  },
);

test('C6 the check value is the CRC-32 of what never changes, so that any program can compute it', () => {
  const texts = ['acme', 'run', '2acd', 'graph', null, 'slow', 'customer', 'meta of run'];
  const [of, id, key, graph, parent, queue, queueKey, meta] = texts.map(
    (text) => text && Buffer.from(text),
  ) as Buffer[];
  const row = { no: 7, created_at: 1_003, parent_seq: null, priority: 5, due: 1_234 };
  const sizes = texts.map((text) => text?.length ?? null);
  const bytes = `${JSON.stringify([7, 1_003, null, 5, 1_234, ...sizes])}${texts.join('')}`;
  const columns = {
    ...row,
    tenant: of,
    run_id: id,
    key,
    graph_id: graph,
    parent_run: parent,
    queue,
    queue_key: queueKey,
    meta,
  };
  expect(checkOf(columns as unknown as Parameters<typeof checkOf>[0])).toBe(crc32(bytes));
});

test('C6 a run with another id, or in another tenant, than it was written with is told', async () => {
  await makeStore();
  for (const [column, value] of [
    ['run_id', 'ruo'],
    ['tenant', 'acmf'],
  ] as const) {
    const copy = join(folder, `${column}.db`);
    copyFileSync(path, copy);
    const db = new DatabaseSync(copy);
    db.prepare(`update runs set ${column} = '${value}' where run_id = 'run'`).run();
    db.close();
    const store = openSqliteStore({ path: copy });
    expect(await store.readRun(keyOf('run'))).toBeUndefined();
    const [runId, of] = column === 'run_id' ? [value, tenant] : ['run', value];
    expect(await store.findDamage?.()).toEqual([`the row of run ${runId} of tenant ${of} was changed`]);
    await expect(store.readRun({ tenant: of, runId })).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await store.close();
  }
});

test('W5 P6 damaged runs keep nobody from claiming the others, and are told when nothing else is left', async () => {
  const store = openSqliteStore({ path });
  for (const runId of ['a', 'b', 'c', 'd']) await store.admitRun(admission(runId));
  const db = new DatabaseSync(path);
  db.exec("update runs set graph_id = 'h' where run_id in ('a', 'b', 'd')");
  db.close();
  const next = { tenant, workerId: 'one', leaseMs: 60_000, at: 9_999, limit: 1 };
  expect((await store.claimNext(next)).map(({ run }) => run.runId)).toEqual(['c']);
  await expect(store.claimNext(next)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  expect(await store.claimNext({ ...next, except: ['a', 'b', 'd'] })).toEqual([]);
  await store.close();
});

/** What is read of a run; a code where it is refused, or `damage` where only the look at the whole file tells. */
async function readBack(file: string): Promise<unknown> {
  let store: Store | undefined;
  try {
    store = openSqliteStore({ path: file, readOnly: true });
    const run = await store.readRun(keyOf('run'));
    const listed = (await store.listRuns({ tenant })).rows.find(({ runId }) => runId === 'run');
    const found = [run, listed].map((row) => row && row.isDamaged !== true && constantsOf(row));
    const damage = (await store.findDamage?.()) ?? [];
    return damage.length > 0 ? 'damage' : found;
  } catch (error) {
    if (!CairnError.is(error)) throw error;
    return error.code;
  } finally {
    await store?.close();
  }
}

test('C6 P6 no bit that flips in the row of a run makes another run of it that nothing tells of', async () => {
  await makeStore();
  const db = new DatabaseSync(path);
  db.exec('pragma wal_checkpoint(truncate)');
  db.close();
  const sound = await readBack(path);
  const bytes = readFileSync(path);
  const from = bytes.indexOf('acmerun');
  const to = bytes.indexOf('meta of run') + 'meta of run'.length;
  expect(to - from).toBeGreaterThan(60);
  expect(to - from).toBeLessThan(200);
  const flipped = join(folder, 'flipped.db');
  let noticed = 0;
  const silent: unknown[] = [];
  for (let at = from - 24; at < to; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ (1 << ((at * 5) % 8));
    writeFileSync(flipped, changed);
    const told = await readBack(flipped);
    if (typeof told === 'string') noticed += 1;
    else if (!isDeepStrictEqual(told, sound)) silent.push([at - from, told]);
  }
  expect(silent).toEqual([]);
  expect(noticed).toBeGreaterThan(60);
});
