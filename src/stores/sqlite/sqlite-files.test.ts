/** What the SQLite store makes of its file: whose it is, how large, and what else it may find there. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CairnError, type ErrorCode } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';
import {
  admission,
  checksumOf,
  commitMany,
  commitOf,
  keyOf,
  requireClaim,
  startRun,
  tenant,
} from '../../testing/store-suite/examples.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { layoutVersion } from './tables/schema.ts';

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-files-'));
  path = join(folder, 'store.db');
});

afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

function codeOf(act: () => unknown): ErrorCode | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (CairnError.is(error)) return error.code;
    throw error;
  }
}

async function makeStore(commits = 3): Promise<void> {
  const store = openSqliteStore({ path });
  await commitMany(store, await startRun(store, 'run'), 1, commits);
  await store.close();
}

test('S5 the file, its log and its folder are the owner\u2019s alone', async () => {
  const deep = join(folder, 'a', 'b', 'store.db');
  const store = openSqliteStore({ path: deep });
  await store.admitRun(admission('run'));
  const modes = [deep, `${deep}-wal`, `${deep}-shm`, join(folder, 'a'), join(folder, 'a', 'b')].map(
    (one) => statSync(one).mode & 0o777,
  );
  expect(modes).toEqual([0o600, 0o600, 0o600, 0o700, 0o700]);
  expect(store.name).toBe(`sqlite:${deep}`);
  await store.close();
});

test('C8 vacuum gives the room of removed rows back to the file system, and changes no row; a reader keeps its own', async () => {
  const store = openSqliteStore({ path });
  const reader = openSqliteStore({ path, readOnly: true });
  await store.admitRun(admission('kept'));
  const claim = await startRun(store, 'large');
  for (let seq = 1; seq <= 20; seq += 1)
    await store.commit(
      commitOf(claim, seq, { checkpoint: { ...commitOf(claim, seq).checkpoint, body: Buffer.alloc(100_000, seq) } }),
    );
  await store.releaseClaim(claim);
  await store.removeRun(keyOf('large'));
  const before = await store.readSpace?.();
  expect(before?.freeBytes).toBeGreaterThan(1_500_000);
  const [, kept] = await Promise.all([store.vacuum?.(), store.admitRun(admission('during'))]);
  expect(kept.created).toBe(true);
  const after = await store.readSpace?.();
  expect(after?.freeBytes).toBe(0);
  expect(after?.sizeBytes).toBeLessThan(680_000);
  expect(statSync(path).size).toBe(after?.sizeBytes);
  for (const one of [store, reader])
    expect((await one.listRuns({ tenant })).rows.map(({ runId }) => runId).sort()).toEqual(['during', 'kept']);
  expect(await store.findDamage?.()).toEqual([]);
  await commitMany(store, await requireClaim(store, 'kept', 'worker'), 1, 3);
  await expect(reader.vacuum?.()).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
  await Promise.all([reader.close(), store.close()]);
  await expect(store.vacuum?.()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
});

test('P6 vacuum waits for another process that writes, and says that it is busy', async () => {
  const store = openSqliteStore({ path, busyTimeoutMs: 30 });
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  await expect(store.vacuum?.()).rejects.toMatchObject({ code: 'STORE_BUSY' });
  other.exec('rollback');
  other.close();
  await store.vacuum?.();
  await store.close();
});

test('P3 the layout is chosen before the first row: pages of 16 KiB and a log that need not grow', async () => {
  const store = openSqliteStore({ path });
  await store.admitRun(admission('run'));
  expect(statSync(`${path}-wal`).size).toBe(4 * 1024 * 1024);
  const db = new DatabaseSync(path);
  expect(db.prepare('pragma page_size').get()).toEqual({ page_size: 16_384 });
  expect(db.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' });
  db.close();
  await store.close();
});

test('P3 a store that is opened again gets its log back when it is written to in earnest', async () => {
  await makeStore();
  expect(existsSync(`${path}-wal`)).toBe(false);
  const store = openSqliteStore({ path });
  const { claim } = await store.claimRun({ tenant, runId: 'run', workerId: 'two', leaseMs: 1, takeFrom: 'one' });
  if (claim === undefined) throw new Error('not claimed');
  for (let seq = 4; seq < 24; seq += 1) await store.commit(commitOf(claim, seq, { durability: 'power' }));
  expect(statSync(`${path}-wal`).size).toBe(4 * 1024 * 1024);
  await commitMany(store, claim, 24, 60);
  await store.close();
  const again = openSqliteStore({ path });
  expect((await again.readCheckpoints(keyOf('run'), { from: 0, to: 99 })).length).toBe(61);
  await again.close();
});

test.each([
  [256, true],
  [0, false],
])(
  'P3 a log of different pages is copied before it is full, at %i pages: %s',
  async (walAutoCheckpointPages, isCopied) => {
    const store = openSqliteStore({ path, durability: 'normal', walAutoCheckpointPages });
    const claim = await startRun(store, 'run');
    const body = new Uint8Array(16_000).fill(65);
    const empty = statSync(path).size;
    for (let seq = 1; seq <= 110; seq += 1) {
      await store.commit({ ...commitOf(claim, seq), checkpoint: { ...commitOf(claim, seq).checkpoint, body } });
    }
    // 110 pages are less than half of what SQLite itself would wait for.
    expect(statSync(path).size - empty > 1024 * 1024).toBe(isCopied);
    await store.close();
  },
);

test('P3 2,000 records of 2.2 KiB take at most 1.2 of their bytes', async () => {
  const store = openSqliteStore({ path, durability: 'normal' });
  const claim = await startRun(store, 'run');
  const body = new Uint8Array(2253).fill(65);
  const seqs = Array.from({ length: 2000 }, (_, index) => index + 1);
  await Promise.all(
    seqs.map((seq) =>
      store.commit({ ...commitOf(claim, seq), checkpoint: { ...commitOf(claim, seq).checkpoint, body } }),
    ),
  );
  await store.close();
  expect(statSync(path).size / (2000 * body.length)).toBeLessThanOrEqual(1.2);
});

test('P6 a store opened for reading reads, and refuses to write', async () => {
  await makeStore();
  const store = openSqliteStore({ path, readOnly: true });
  expect((await store.listRuns({ tenant })).rows.map(({ head }) => head)).toEqual([3]);
  await expect(store.admitRun(admission('other'))).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
  await expect(store.claimRun({ tenant, runId: 'run', workerId: 'x', leaseMs: 1 })).rejects.toMatchObject({
    code: 'STORE_READ_ONLY',
  });
  await store.close();
});

test('P6 a store opened for reading sees what is written meanwhile', async () => {
  const writer = openSqliteStore({ path });
  const claim = await startRun(writer, 'run');
  const reader = openSqliteStore({ path, readOnly: true });
  await commitMany(writer, claim, 1, 5);
  expect((await reader.readRun(keyOf('run')))?.head).toBe(5);
  await reader.close();
  await writer.close();
});

test('P6 nothing is made by opening for reading', () => {
  expect(codeOf(() => openSqliteStore({ path, readOnly: true }))).toBe('STORE_UNAVAILABLE');
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, '');
  expect(codeOf(() => openSqliteStore({ path, readOnly: true }))).toBe('STORE_UNAVAILABLE');
  expect(statSync(path).size).toBe(0);
});

test('P6 what is no store is refused by name, and left as it is', () => {
  const garbage = Buffer.alloc(50_000, 'garbage');
  writeFileSync(path, garbage);
  for (const readOnly of [true, false]) expect(codeOf(() => openSqliteStore({ path, readOnly }))).toBe('STORE_CORRUPT');
  expect(readFileSync(path).equals(garbage)).toBe(true);
  rmSync(path);
  const db = new DatabaseSync(path);
  db.exec('create table notes (text); insert into notes values (1)');
  db.close();
  for (const readOnly of [true, false]) expect(codeOf(() => openSqliteStore({ path, readOnly }))).toBe('STORE_CORRUPT');
  mkdirSync(join(folder, 'folder.db'));
  expect(codeOf(() => openSqliteStore({ path: join(folder, 'folder.db') }))).toBe('STORE_UNAVAILABLE');
  writeFileSync(join(folder, 'file'), '');
  expect(codeOf(() => openSqliteStore({ path: join(folder, 'file', 'store.db') }))).toBe('STORE_UNAVAILABLE');
});

test('P6 a store of a newer layout is refused by name', async () => {
  await makeStore();
  const db = new DatabaseSync(path);
  db.exec('pragma user_version = 1000');
  db.close();
  for (const readOnly of [true, false]) {
    expect(codeOf(() => openSqliteStore({ path, readOnly }))).toBe('STORE_VERSION_UNKNOWN');
  }
});

/** Written by the code of each layout: a run with a wait, a snapshot and a tag, and a fork of it. */
const layouts = [
  { layout: 1, head: 9, waits: ['w'] },
  { layout: 2, head: 70, waits: ['late', 'w'] },
  { layout: 3, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 4, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 5, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 6, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 7, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 8, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 9, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 10, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 11, head: 70, waits: ['late', 'w'], identity: 'kept' },
  { layout: 12, head: 70, waits: ['late', 'w'], identity: 'kept' },
];

test.each(layouts)(
  'C7 a store of layout $layout is read as it is, and brought up to date when it is opened for writing',
  async ({ layout, head, waits, identity = '' }: (typeof layouts)[number] & { readonly identity?: string }) => {
    writeFileSync(path, gunzipSync(readFileSync(join(import.meta.dirname, `golden/layout-${layout}.db.gz`))));
    const describe = async (store: Store): Promise<readonly unknown[]> => [
      (await store.listRuns({ tenant })).rows.map((row) => `${row.runId} ${row.head} ${row.status}`),
      (await store.listRuns({ tenant })).rows.map(({ schedule }) => schedule),
      (await store.readCheckpoints(keyOf('run'), { from: 0, to: 1000 })).map(({ seq }) => seq),
      (await store.readSnapshot(keyOf('run'), 99))?.seq,
      (await store.readTags(keyOf('run'))).map(({ name }) => name),
      (await store.listWaits({ tenant })).rows.map(({ waitId, checksum }) => [waitId, checksum]),
      (await store.readMessages(keyOf('run'))).map(({ name, checksum }) => [name, checksum]),
    ];
    const written = [
      ['fork 5 running', `run ${head} paused`],
      [1005, 1000].map((dueAt) => ({ queue: '', priority: 0, dueAt })),
      Array.from({ length: head + 1 }, (_, seq) => seq),
      5,
      ['five'],
      waits.map((waitId) => [waitId, layout < 3 ? undefined : checksumOf(waitId)]),
      layout === 1 ? [] : [['hello', layout < 3 ? undefined : checksumOf('hello')]],
    ];
    const before = readFileSync(path);
    const reader = openSqliteStore({ path, readOnly: true });
    expect(await describe(reader)).toEqual(written);
    expect(await reader.readIdentity()).toBe(identity);
    // Labels stood only in the meta of runs until layout 5 gave them an index.
    const labels = { user: 'ann', team: 'blue' };
    const labelled = async (of: Store) => (await of.listRuns({ tenant, labels })).rows.map(({ runId }) => runId);
    expect(await labelled(reader)).toEqual(layout < 4 ? [] : ['run']);
    await reader.close();
    expect(readFileSync(path).equals(before)).toBe(true);
    const store = openSqliteStore({ path });
    expect(await describe(store)).toEqual(written);
    expect(await labelled(store)).toEqual(layout < 4 ? [] : ['run']);
    expect(await store.readIdentity()).toMatch(identity === '' ? /^[0-9a-f]{32}$/ : /^kept$/);
    const next = { tenant, workerId: 'two', leaseMs: 1, at: 2000, limit: 9 };
    const granted = (await store.claimNext(next)).map(({ run }) => run.runId);
    expect(granted).toEqual(layout === 1 ? ['fork'] : ['fork', 'run']);
    await commitMany(store, await requireClaim(store, 'run', 'two', 'two'), head + 1, 300);
    expect((await store.readRun(keyOf('run')))?.head).toBe(300);
    await store.close();
    const db = new DatabaseSync(path);
    expect(db.prepare('pragma user_version').get()).toEqual({ user_version: layoutVersion });
    expect(db.prepare("select name from sqlite_master where name = 'checkpoints_by_seq'").all()).toEqual([]);
    expect(db.prepare('pragma quick_check').all()).toEqual([{ quick_check: 'ok' }]);
    db.close();
  },
);

test('S6 a store has an identity of its own from when it is made, which a copy keeps and an option replaces', async () => {
  await makeStore();
  const identityOf = async (file: string, identity?: string): Promise<string> => {
    const store = openSqliteStore({ path: file, ...(identity !== undefined && { identity }) });
    const read = await store.readIdentity();
    await store.close();
    return read;
  };
  const [copy, other] = [join(folder, 'copy.db'), join(folder, 'other.db')];
  const made = await identityOf(path);
  expect(made).toMatch(/^[0-9a-f]{32}$/);
  copyFileSync(path, copy);
  expect(await identityOf(copy)).toBe(made);
  expect(await identityOf(other)).not.toBe(made);
  expect(await identityOf(copy, 'shop-staging')).toBe('shop-staging');
  expect(await identityOf(copy)).toBe('shop-staging');
  expect(await identityOf(path)).toBe(made);
  expect(codeOf(() => openSqliteStore({ path, identity: '' }))).toBe('CONFIG_INVALID');
  expect(() => openSqliteStore(path as never)).toThrow("it takes options: { path: 'runs.db' }");
});

test('P6 a truncated or overwritten file is STORE_CORRUPT, at opening or when the damage is met', async () => {
  for (const damage of ['cut', 'overwritten'] as const) {
    rmSync(path, { force: true });
    await makeStore(200);
    if (damage === 'cut') truncateSync(path, 16_384 * 3 + 100);
    else writeFileSync(path, readFileSync(path).fill(0x5a, 16_384 * 2));
    const read = async (): Promise<unknown> => {
      const store = openSqliteStore({ path });
      try {
        await store.listRuns({ tenant });
        return await store.readCheckpoints(keyOf('run'), { from: 0, to: 1000 });
      } finally {
        await store.close();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  }
});

test('P6 a store whose file was removed or replaced says so instead of writing into nothing', async () => {
  const store = openSqliteStore({ path });
  const claim = await startRun(store, 'run');
  renameSync(path, `${path}.gone`);
  const writeUntilRefused = async (): Promise<never> => {
    for (let seq = 1; ; seq += 1) await store.commit(commitOf(claim, seq));
  };
  await expect(writeUntilRefused()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  writeFileSync(path, '');
  const { head = 0 } = (await store.readRun(keyOf('run'))) ?? {};
  await expect(store.commit(commitOf(claim, head + 1))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  rmSync(path);
  renameSync(`${path}.gone`, path);
  await store.commit(commitOf(claim, head + 1));
  await store.close();
});

test('P6 a store locked by another process is STORE_BUSY, and goes on when the lock is gone', async () => {
  const store = openSqliteStore({ path, busyTimeoutMs: 0 });
  const claim = await startRun(store, 'run');
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  await expect(store.commit(commitOf(claim, 1))).rejects.toMatchObject({ code: 'STORE_BUSY', retry: 'later' });
  expect((await store.readRun(keyOf('run')))?.head).toBe(0);
  other.exec('rollback');
  other.close();
  await store.commit(commitOf(claim, 1));
  await store.close();
});

/** Runs a script as a user who is not allowed everything; undefined if that user cannot reach this folder at all. */
function runUnprivileged(script: string): string | undefined {
  const url = new URL('sqlite-store.ts', import.meta.url).href;
  const code = `const { openSqliteStore } = await import(${JSON.stringify(url)}); const path = ${JSON.stringify(path)}; ${script}`;
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const options = { ...user, encoding: 'utf8' } as const;
  const canReach = spawnSync(process.execPath, ['-e', `require('node:fs').readFileSync(new URL('${url}'))`], options);
  if (canReach.status !== 0) return undefined;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], options);
  return stdout + stderr;
}

test('P6 a file that may not be written to is STORE_READ_ONLY, and can still be read, its folder closed or not', async (context) => {
  await makeStore();
  if (process.getuid?.() === 0) for (const one of [path, folder]) chownSync(one, 65_534, 65_534);
  const modes = [
    [0o700, 0o400],
    [0o500, 0o400],
    [0o500, 0o600],
  ] as const;
  for (const [mode, ofFile] of modes) {
    chmodSync(path, ofFile);
    chmodSync(folder, mode);
    const said = runUnprivileged(`
      try { openSqliteStore({ path }); } catch (error) { console.log(error.code); }
      const store = openSqliteStore({ path, readOnly: true });
      console.log((await store.listRuns({ tenant: '${tenant}' })).rows[0].head);`);
    if (said === undefined) context.skip('this folder is closed to other users, and only one of them can be refused');
    expect(said?.trim().split('\n')).toEqual(['STORE_READ_ONLY', '3']);
  }
});

/** A small file system of its own, where the machine lets us have one. */
function mountSmall(at: string, sizeBytes: number): boolean {
  mkdirSync(at);
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'none', at]).status === 0;
}

test('S3 on a full disk commits are STORE_FULL, nothing acknowledged is lost, and the store goes on when there is room', async (context) => {
  const disk = join(folder, 'disk');
  if (!mountSmall(disk, 12 * 1024 * 1024)) context.skip('no file system can be mounted here');
  try {
    const small = join(disk, 'store.db');
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(2 * 1024 * 1024));
    const store = openSqliteStore({ path: small });
    const claim = await startRun(store, 'run');
    const body = new Uint8Array(100_000).fill(7);
    const commit = async (seq: number): Promise<unknown> =>
      store.commit({
        ...commitOf(claim, seq, { durability: 'power' }),
        checkpoint: { ...commitOf(claim, seq).checkpoint, body },
      });
    const fill = async (): Promise<never> => {
      for (let seq = 1; ; seq += 1) await commit(seq);
    };
    await expect(fill()).rejects.toMatchObject({ code: 'STORE_FULL', retry: 'later' });
    const { head = 0 } = (await store.readRun(keyOf('run'))) ?? {};
    expect(head).toBeGreaterThan(10);
    await expect(commit(head + 1)).rejects.toMatchObject({ code: 'STORE_FULL' });
    rmSync(join(disk, 'ballast'));
    await commit(head + 1);
    await store.close();
    const again = openSqliteStore({ path: small, readOnly: true });
    expect((await again.readCheckpoints(keyOf('run'), { from: 0, to: 1e6 })).length).toBe(head + 2);
    await again.close();
  } finally {
    spawnSync('umount', [disk]);
  }
});
