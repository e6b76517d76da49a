/** Sql on SQLite files. */
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Inputs } from '../../graph/contracts/node-type.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { admitValue } from '../../state/values/admit.ts';
import { createFakeContext, type FakeContextOptions } from '../../testing/node-suite/fake-context.ts';
import { sqlBlock } from './sql.ts';
import { reachDatabase, readSqlitePlace } from './sql/place.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-sql-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let path = '';
let count = 0;
beforeEach(() => {
  path = join(folder, `db-${(count += 1)}`, 'a.db');
});

type Fields = Readonly<Record<string, unknown>> & { readonly rows: readonly unknown[] };

async function run(inputs: Inputs, options: FakeContextOptions = {}): Promise<Fields> {
  const given = { engine: 'sqlite', path, ...inputs };
  expect(sqlBlock.check?.(given)).toEqual([]);
  const output = await sqlBlock.run({ ...createFakeContext(options), inputs: given, fileOutputs: [] });
  admitValue(output, ['output'], { valueBytes: 1e6, valueDepth: 100 });
  return output as Fields;
}
const failureOf = (inputs: Inputs, options: FakeContextOptions = {}): Promise<NodeFailure> =>
  run(inputs, options).then(
    () => Promise.reject(new Error('it went well')),
    (error: unknown) => error as NodeFailure,
  );
const rowsOf = async (sql: string, params?: unknown): Promise<readonly unknown[]> =>
  (await run({ sql, ...(params !== undefined && { params }) })).rows;

const createTable = 'create table t (id integer primary key, name text unique, n)';

test('B64 the outputs of statements that change and of those that read', async () => {
  await run({ sql: createTable });
  expect(await run({ sql: 'insert into t (name) values (?), (?);', params: ['a', 'b'] })).toEqual({
    rows: [],
    columns: [],
    row_count: 0,
    affected_rows: 2,
    last_insert_id: 2,
    success: true,
    engine: 'sqlite',
    execution_time_ms: 0,
  });
  expect(await run({ sql: 'select id, name from t order by id' })).toMatchObject({
    rows: [
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
    ],
    columns: ['id', 'name'],
    row_count: 2,
    affected_rows: 0,
    last_insert_id: null,
  });
  expect(await run({ sql: 'update t set n = 1 returning id' })).toMatchObject({
    rows: [{ id: 1 }, { id: 2 }],
    affected_rows: 2,
    last_insert_id: null,
  });
  expect(await run({ sql: 'with x as (select 7 as n) select n from x' })).toMatchObject({ rows: [{ n: 7 }] });
});

test('B61 hostile values are data', async () => {
  await run({ sql: createTable });
  const hostile = ["'; drop table t; --", '$(reboot)', '?', ':name', '\0', '%s', '"', '\\', '💥'];
  for (const name of hostile) await run({ sql: 'insert into t (name) values (:name)', params: { name } });
  expect(await rowsOf('select name from t order by id')).toEqual(hostile.map((name) => ({ name })));
});

test('B65 values come back as they were, as far as SQLite has them', async () => {
  await run({ sql: 'create table empty (a)' });
  const values: readonly (readonly [unknown, unknown])[] = [
    [null, null],
    [5, 5],
    [1.5, 1.5],
    [true, 1],
    [2n ** 60n, 2n ** 60n],
    [-7, -7],
    ['5', '5'],
    [new Uint8Array([0, 255]), new Uint8Array([0, 255])],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [{ a: [1, null] }, '{"a":[1,null]}'],
    [[1, 'b'], '[1,"b"]'],
  ];
  for (const [given, kept] of values) expect(await rowsOf('select ? as v', [given])).toEqual([{ v: kept }]);
  await run({ sql: createTable });
  await run({ sql: 'insert into t (name) values (?)', params: [5] });
  expect(await rowsOf('select name from t')).toEqual([{ name: '5' }]);
});

test.each([[NaN], [new Map()], [{ a: [1n] }], [2n ** 80n]])('P6 %s is no value for SQLite', async (value) => {
  expect(await failureOf({ path: ':memory:', sql: 'select ? as v', params: [value] })).toMatchObject({
    code: 'SQL_FAILED',
    applied: 'no',
  });
});

test('B66 several statements are one transaction: all or nothing', async () => {
  await run({ sql: `${createTable}; insert into t (name) values ('a'); insert into t (name) values ('b');` });
  expect(await rowsOf('select name from t order by id')).toEqual([{ name: 'a' }, { name: 'b' }]);
  const failure = await failureOf({ sql: "insert into t (name) values ('c'); insert into t (name) values ('a')" });
  expect(failure).toMatchObject({ code: 'SQL_FAILED', applied: 'no', data: { errcode: 19 } });
  expect(failure.message).toContain('UNIQUE');
  expect(await rowsOf('select count(*) as n from t')).toEqual([{ n: 2 }]);
});

test('B66 a constraint that is checked at the end undoes all', async () => {
  await run({
    sql: 'create table a (id integer primary key); create table b (a references a deferrable initially deferred)',
  });
  expect(await failureOf({ sql: 'insert into b values (1)' })).toMatchObject({ applied: 'no' });
  expect(await rowsOf('select * from b')).toEqual([]);
});

test('B66 init_sql runs in the same transaction', async () => {
  const init = { init_sql: 'create table if not exists t (a)' };
  await failureOf({ ...init, sql: 'insert into missing values (1)' });
  expect(await rowsOf("select name from sqlite_master where name = 't'")).toEqual([]);
  expect(await run({ ...init, sql: 'insert into t values (1)' })).toMatchObject({ affected_rows: 1 });
});

test('B66 what runs outside of transactions runs alone', async () => {
  await run({ sql: createTable });
  await run({ sql: 'vacuum' });
  await run({ sql: 'pragma user_version = 7' });
  expect(await rowsOf('select * from pragma_user_version')).toEqual([{ user_version: 7 }]);
});

test('B62 a block that reads cannot change anything, and makes no file', async () => {
  expect(sqlBlock.effect).toBeTypeOf('function');
  const effectOf = sqlBlock.effect as (literals: Inputs) => string;
  expect(effectOf({ engine: 'sqlite', sql: 'select 1' })).toBe('read');
  expect(effectOf({ engine: 'sqlite', sql: 'select 1', read_only: false })).toBe('write');
  expect(effectOf({ engine: 'sqlite', sql: 'insert into t values (1)' })).toBe('write');
  expect(effectOf({ engine: 'sqlite' })).toBe('write');
  expect(await failureOf({ sql: 'select 1' })).toMatchObject({ code: 'SQL_FAILED' });
  await run({ sql: createTable });
  const failure = await failureOf({ sql: "insert into t (name) values ('a')", read_only: true });
  expect(failure).toMatchObject({ code: 'SQL_FAILED', applied: 'no' });
});

test('S5 a new file is its owner’s alone, and keeps a write-ahead log', async () => {
  await run({ sql: createTable });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const db = new DatabaseSync(path);
  expect(db.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' });
  db.close();
});

test('S5 blocks that make the same new file at the same time all reach it', async () => {
  const place = readSqlitePlace({ path });
  const reached = await Promise.all(Array.from({ length: 8 }, () => reachDatabase(place, false, undefined)));
  const { ino } = statSync(path, { bigint: true });
  expect(reached.map(({ file }) => file?.ino)).toEqual(reached.map(() => ino));
});

test('B67 a lock is waited for, and given up after the timeout', async () => {
  await run({ sql: createTable });
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  const insert = { sql: "insert into t (name) values ('a')" };
  expect(await failureOf({ ...insert, timeout: 0.05 })).toMatchObject({ code: 'SQL_UNAVAILABLE', applied: 'no' });
  const abort = new AbortController();
  const aborted = failureOf(insert, { signal: abort.signal });
  abort.abort(new Error('told to stop'));
  expect(await aborted).toMatchObject({ message: 'told to stop' });
  const waiting = run(insert);
  setTimeout(() => other.exec('commit'), 5);
  await expect(waiting).resolves.toMatchObject({ affected_rows: 1 });
  other.close();
});

const endless = 'with recursive x (n) as (select 1 union all select n + 1 from x)';

/** The processes that use SQLite for a process. */
function childrenOf(pid: number | undefined): readonly string[] {
  const tasks = globSync(`/proc/${pid}/task/*/children`).map((file) => readFileSync(file, 'utf8'));
  const pids = tasks.flatMap((text) => text.split(' ').filter((child) => child !== ''));
  return pids.filter((child) => commandOf(child).includes('sqlite-child'));
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

test('B67 a query without an end ends at the timeout, and nothing of it is kept', async () => {
  await run({ sql: createTable });
  const late = { code: 'SQL_UNAVAILABLE', applied: 'no', message: 'the statements took longer than 0.3 s' };
  const reading = { path: ':memory:', sql: `${endless} select count(*) as n from x`, timeout: 0.3 };
  expect(await failureOf(reading)).toMatchObject(late);
  expect(await failureOf({ sql: `insert into t (n) ${endless} select n from x`, timeout: 0.3 })).toMatchObject(late);
  expect(await rowsOf('select * from t')).toEqual([]);
});

test('B67 other blocks run beside a query without an end, and a cancel stops it', async () => {
  const abort = new AbortController();
  const sql = `${endless} select count(*) from x`;
  const failure = failureOf({ path: ':memory:', sql, timeout: 600 }, { signal: abort.signal });
  await expect.poll(() => childrenOf(process.pid).length, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(await run({ path: ':memory:', sql: 'select 1 as one' })).toMatchObject({ rows: [{ one: 1 }] });
  abort.abort(new Error('told to stop'));
  expect(await failure).toMatchObject({ message: 'told to stop' });
  // One may be kept for the next block.
  await expect.poll(() => childrenOf(process.pid).length, { timeout: 20_000 }).toBeLessThan(2);
});

test.runIf(process.platform === 'linux')(
  'B67 a query ends with the process that asked, however that ends',
  async () => {
    const block = JSON.stringify(join(import.meta.dirname, 'sql.ts'));
    const context = JSON.stringify(join(import.meta.dirname, '../../testing/node-suite/fake-context.ts'));
    const sql = JSON.stringify(`${endless} select count(*) from x`);
    const program = `
    import { sqlBlock } from ${block};
    import { createFakeContext } from ${context};
    await sqlBlock.run({ ...createFakeContext(), inputs: { engine: 'sqlite', path: ':memory:', sql: ${sql} } });`;
    const asking = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
    await expect.poll(() => childrenOf(asking.pid).length, { timeout: 30_000 }).toBe(1);
    const [child = ''] = childrenOf(asking.pid);
    asking.kill('SIGKILL');
    await expect.poll(() => commandOf(child), { timeout: 30_000 }).toBe('');
  },
  70_000,
);

test('B67 rows that are too large to be handed on fail the block, and nothing is kept', async () => {
  await run({ sql: createTable });
  const large = `insert into t (name) ${endless} select hex(zeroblob(1000000)) || n from x limit 40 returning name`;
  expect(await failureOf({ sql: large })).toMatchObject({ code: 'SQL_FAILED', applied: 'no' });
  expect(await rowsOf('select count(*) as n from t')).toEqual([{ n: 0 }]);
});

test('B64 two columns of one name are refused, before anything is kept', async () => {
  await run({ sql: createTable });
  const failure = await failureOf({ sql: "insert into t (name) values ('a') returning id as x, name as x" });
  expect(failure).toMatchObject({ code: 'SQL_FAILED', applied: 'no' });
  expect(failure.message).toContain('two columns are called x');
  expect(await rowsOf('select * from t')).toEqual([]);
});

test('N6 a secret is bound, and masked in what comes back', async () => {
  const params = [new SecretReference([{ secret: 'TOKEN' }])];
  const options = { secrets: { TOKEN: 's3cret-value' } };
  const { rows } = await run({ path: ':memory:', sql: 'select ? as a, 1 as b', params }, options);
  expect(rows).toEqual([{ a: '[secret:TOKEN]', b: 1 }]);
  const failure = await failureOf({ path: ':memory:', sql: 'select json(?)', params }, options);
  expect(`${failure.message} ${JSON.stringify(failure.data)}`).not.toContain('s3cret');
});

test('B61 several statements take no params, and counts must agree', async () => {
  const faults = (inputs: Inputs): readonly string[] =>
    (sqlBlock.check?.({ engine: 'sqlite', path: 'x', ...inputs }) ?? []).map(
      ({ input, message }) => `${input}: ${message}`,
    );
  expect(faults({ sql: 'select ?; select ?', params: [1, 2] })).toEqual([
    'params: only a single statement takes params',
  ]);
  expect(faults({ sql: 'select ?', params: [] })).toEqual([
    'params: it has placeholders for 1 values, and params has 0',
  ]);
  expect(faults({ sql: 'select ?' })).toEqual([]);
  expect(await failureOf({ sql: 'select ? as a' })).toMatchObject({ code: 'INPUT_INVALID', applied: 'no' });
});

test('B68 what is nothing to the engine, or nothing to this block, is a fault', () => {
  const faults = (inputs: Inputs): readonly string[] =>
    (sqlBlock.check?.({ sql: 'select 1', ...inputs }) ?? []).map(({ input }) => input);
  expect(faults({ engine: 'mariadb' })).toEqual(['engine']);
  expect(faults({ engine: 'sqlite', path: 'x', host: 'h', port: 1 })).toEqual(['host', 'port']);
  expect(faults({ engine: 'postgresql', host: 'h', path: 'x' })).toEqual(['path']);
  expect(faults({ engine: 'postgresql', connection: 'postgres://h/d', host: 'h' })).toEqual(['host']);
  expect(faults({ engine: 'sqlite', sqlite_pragmas: { synchronous: 'NORMAL', cache_size: -2000 } })).toEqual([]);
  for (const pragmas of [{ writable_schema: 1 }, { busy_timeout: 1 }, { cache_size: '1; drop table t' }])
    expect(faults({ engine: 'sqlite', sqlite_pragmas: pragmas })).toEqual(['sqlite_pragmas']);
});

test('B69 what a block needs: its file, or its server', () => {
  expect(sqlBlock.needs?.({ engine: 'sqlite', path: '/data/a.db' })).toEqual([{ kind: 'fs', path: '/data/a.db' }]);
  expect(sqlBlock.needs?.({ engine: 'sqlite', path: ':memory:' })).toEqual([{ kind: 'sqlite' }]);
  const hostOf = (inputs: Inputs): unknown => sqlBlock.needs?.({ engine: 'postgresql', ...inputs });
  expect(hostOf({ host: 'h' })).toEqual([{ kind: 'net', host: 'h:5432' }]);
  expect(hostOf({ host: '::1' })).toEqual([{ kind: 'net', host: '[::1]:5432' }]);
  expect(hostOf({ host: 'h', port: 6_000 })).toEqual([{ kind: 'net', host: 'h:6000' }]);
  expect(hostOf({ connection: 'postgres://u:p@h:7000/d' })).toEqual([{ kind: 'net', host: 'h:7000' }]);
  expect(hostOf({ connection: new SecretReference([{ secret: 'DB' }]) })).toEqual([{ kind: 'net', host: undefined }]);
});

test('B69 what is reached in the end is held to the permissions once more', async () => {
  const asked: unknown[] = [];
  const isGranted = (need: unknown): boolean => (asked.push(need), false);
  for (const inputs of [
    { engine: 'sqlite', path: 5, sql: 'select 1' },
    { engine: 'postgresql', host: 2_130_706_433, username: 'u', database: 'd', sql: 'select 1' },
  ]) {
    const output = Promise.resolve(sqlBlock.run({ ...createFakeContext(), isGranted, inputs, fileOutputs: [] }));
    await expect(output).rejects.toMatchObject({ code: 'PERMISSION_DENIED', applied: 'no' });
  }
  expect(asked).toEqual([
    { kind: 'fs', path: join(process.cwd(), '5') },
    { kind: 'net', host: '2130706433:5432' },
  ]);
});

test('B67 a value that is too large says so, and what to do', async () => {
  const failing = async (sql: string): Promise<unknown> => (await failureOf({ path: ':memory:', sql })).message;
  expect(await failing("select printf('%.*c', 600000000, 'x') as v")).toMatch(/over 64 MiB; select a part of it/);
  expect(await failing('select hex(zeroblob(900000000)) as v')).toMatch(
    /larger than it can hold .*; select a part of it/,
  );
});
