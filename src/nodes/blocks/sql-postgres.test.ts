/** Sql on a real Postgres server. */
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test, type TestContext } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import { startPostgres, type PostgresServer } from '../../../test/support/postgres-server.ts';
import type { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Inputs } from '../../graph/contracts/node-type.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { admitValue } from '../../state/values/admit.ts';
import { createFakeContext, type FakeContextOptions } from '../../testing/node-suite/fake-context.ts';
import { sqlBlock } from './sql.ts';

let server: PostgresServer | string;
beforeAll(async () => {
  server = await startPostgres();
}, 30_000);
afterAll(async () => {
  if (typeof server !== 'string') await server.stop();
});
beforeEach(async (context: TestContext) => {
  if (typeof server === 'string') context.skip(server);
  await run({ sql: 'drop schema public cascade; create schema public' });
});

function placeInputs(): Inputs {
  const { port, username, password } = server as PostgresServer;
  return { engine: 'postgresql', host: '127.0.0.1', port, username, password, database: 'postgres' };
}

type Fields = Readonly<Record<string, unknown>> & { readonly rows: readonly unknown[] };

async function run(
  inputs: Inputs,
  { isGranted, ...context }: FakeContextOptions & { readonly isGranted?: () => boolean } = {},
): Promise<Fields> {
  const given = Object.fromEntries(
    Object.entries({ ...placeInputs(), ...inputs }).filter(([, value]) => value !== undefined),
  );
  expect(sqlBlock.check?.(given)).toEqual([]);
  const output = await sqlBlock.run({
    ...createFakeContext(context),
    ...(isGranted !== undefined && { isGranted }),
    inputs: given,
    fileOutputs: [],
  });
  admitValue(output, ['output'], { valueBytes: 1e6, valueDepth: 100 });
  return output as Fields;
}
const failureOf = (inputs: Inputs, options: Parameters<typeof run>[1] = {}): Promise<NodeFailure> =>
  run(inputs, options).then(
    () => Promise.reject(new Error('it went well')),
    (error: unknown) => error as NodeFailure,
  );
const rowsOf = async (sql: string, params?: unknown): Promise<readonly unknown[]> =>
  (await run({ sql, ...(params !== undefined && { params }) })).rows;

const createTable = 'create table t (id serial primary key, name text unique, n numeric)';

test('B64 bytes are read as they are, however the server writes them', async () => {
  await run({ sql: `alter role current_user set bytea_output = escape` });
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const hex = Buffer.from(bytes).toString('hex');
  try {
    const sql = String.raw`select '\x${hex}'::bytea as all, array['\x5c78'::bytea, '\x00'] as some`;
    expect(await rowsOf(sql)).toEqual([{ all: bytes, some: [Uint8Array.of(0x5c, 0x78), Uint8Array.of(0)] }]);
  } finally {
    await run({ sql: `alter role current_user reset bytea_output` });
  }
});

test('B64 the outputs of statements that change and of those that read', async () => {
  await run({ sql: createTable });
  expect(
    await run({ sql: 'insert into t (name) values (?), (%s) returning id'.replace('%s', '?'), params: ['a', 'b'] }),
  ).toEqual({
    rows: [{ id: 1 }, { id: 2 }],
    columns: ['id'],
    row_count: 2,
    affected_rows: 2,
    last_insert_id: null,
    success: true,
    engine: 'postgresql',
    execution_time_ms: 0,
  });
  expect(await run({ sql: 'with x as (select name from t) select * from x order by 1;' })).toMatchObject({
    rows: [{ name: 'a' }, { name: 'b' }],
    affected_rows: 0,
  });
  expect(await run({ sql: 'update t set n = 1' })).toMatchObject({ rows: [], affected_rows: 2 });
});

test('B61 hostile values are data, whatever the placeholder', async () => {
  await run({ sql: createTable });
  const hostile = ["'; drop table t; --", '$(reboot)', '$1', ':name', '%s', '"', '\\', "E'\\'", '💥'];
  for (const [index, name] of hostile.entries()) {
    const [value, params] = [
      [':name', { name }],
      ['$1', [name]],
      ['%s', [name]],
      ['?', [name]],
    ][index % 4] as [string, never];
    await run({ sql: `insert into t (name) values (${value})`, params });
  }
  expect(await rowsOf('select name from t order by id')).toEqual(hostile.map((name) => ({ name })));
});

test.each<[string, unknown, unknown]>([
  ['int', 5, 5],
  ['bigint', 2n ** 53n + 1n, 2n ** 53n + 1n],
  ['bigint', 7, 7],
  ['numeric', 1.5, '1.5'],
  ['numeric', '12345678901234567890.123', '12345678901234567890.123'],
  ['float8', 0.1, 0.1],
  ['float8', Infinity, Infinity],
  ['text', 'x', 'x'],
  ['text', 5, '5'],
  ['text', true, 'true'],
  ['text', [1, 'b'], '[1,"b"]'],
  ['bool', false, false],
  ['bool', 'yes', true],
  ['bytea', new Uint8Array([0, 255]), new Uint8Array([0, 255])],
  ['jsonb', { a: [1, null, 'x'] }, { a: [1, null, 'x'] }],
  ['jsonb', [1, { b: 2 }], [1, { b: 2 }]],
  ['jsonb', '{"text": "of JSON"}', { text: 'of JSON' }],
  ['json', null, null],
  ['timestamptz', new Date(1e12), new Date(1e12)],
  ['timestamp', new Date(1e12), new Date(1e12)],
  ['timestamp', 'infinity', 'infinity'],
  ['date', '2026-02-03', '2026-02-03'],
  ['int[]', [1, null, 3], [1, null, 3]],
  ['int[]', [], []],
  [
    'int[]',
    [
      [1, 2],
      [3, null],
    ],
    [
      [1, 2],
      [3, null],
    ],
  ],
  ['jsonb[]', [{ a: 1 }, null], [{ a: 1 }, null]],
  ['text[]', ['a"b', 'c\\d', '{e}', ',', 'NULL', null, ''], ['a"b', 'c\\d', '{e}', ',', 'NULL', null, '']],
  ['bigint[]', [2n ** 60n], [2n ** 60n]],
  ['timestamptz[]', [new Date(0)], [new Date(0)]],
  ['uuid', '6f1c1b5e-0000-4000-8000-000000000000', '6f1c1b5e-0000-4000-8000-000000000000'],
])('B65 a %s of %s comes back as %s', async (type, given, kept) => {
  expect(await rowsOf(`select $1::${type} as v`, [given])).toEqual([{ v: kept }]);
});

test('B65 a list is an array where the server wants one', async () => {
  expect(
    await rowsOf('select v from generate_series(1, 5) as g(v) where v = any(:wanted)', { wanted: [2, 4] }),
  ).toEqual([{ v: 2 }, { v: 4 }]);
});

test('B65 arrays with bounds of their own, and types that are not known', async () => {
  await run({ sql: "create type mood as enum ('sad', 'ok')" });
  expect(await rowsOf("select '[0:1]={7,8}'::int[] as a, $1::mood[] as m, 'ok'::mood as n", [['ok', 'sad']])).toEqual([
    { a: [7, 8], m: '{ok,sad}', n: 'ok' },
  ]);
});

test('B66 several statements are one transaction: all or nothing', async () => {
  await run({ sql: `${createTable}; insert into t (name) values ('a'); select 1 as one` });
  const failure = await failureOf({ sql: "insert into t (name) values ('b'); insert into t (name) values ('a')" });
  expect(failure).toMatchObject({
    code: 'SQL_FAILED',
    applied: 'no',
    data: { sqlstate: '23505', constraint: 't_name_key' },
  });
  expect(await rowsOf('select name from t')).toEqual([{ name: 'a' }]);
});

test('B66 init_sql, deferred constraints and what runs alone', async () => {
  await run({ sql: 'create schema s; create table s.t (a int unique deferrable initially deferred)' });
  expect(await run({ init_sql: 'set search_path to s', sql: 'insert into t values (1)' })).toMatchObject({
    affected_rows: 1,
  });
  expect(await failureOf({ sql: 'insert into s.t values (1)' })).toMatchObject({
    applied: 'no',
    data: { sqlstate: '23505' },
  });
  await run({ sql: 'create index concurrently i on s.t (a)' });
  await run({ sql: 'vacuum s.t' });
  expect(await rowsOf('select count(*) as n from s.t')).toEqual([{ n: 1 }]);
});

test('B62 a block that reads cannot change anything', async () => {
  await run({ sql: createTable });
  expect(await failureOf({ sql: "select nextval('t_id_seq')" })).toMatchObject({
    code: 'SQL_FAILED',
    data: { sqlstate: '25006' },
  });
  expect(await rowsOf('select count(*) as n from t')).toEqual([{ n: 0 }]);
  expect(await run({ sql: "select nextval('t_id_seq') as n", read_only: false })).toMatchObject({ rows: [{ n: 1 }] });
});

test('B67 a statement ends after the timeout, and is undone', async () => {
  const failure = await failureOf({ sql: 'create table u (a int); select pg_sleep(30)', timeout: 0.1 });
  expect(failure).toMatchObject({ code: 'SQL_UNAVAILABLE', applied: 'no', data: { sqlstate: '57014' } });
  expect(await rowsOf("select to_regclass('u') as u")).toEqual([{ u: null }]);
});

test('B66 isolation is that which is asked for', async () => {
  const sql = "select current_setting('transaction_isolation') as level";
  expect((await run({ sql, isolation_level: 'serializable' })).rows).toEqual([{ level: 'serializable' }]);
});

test('E6 a block that is aborted leaves the server', async () => {
  const abort = new AbortController();
  const failure = failureOf({ sql: 'create table u (a int); select pg_sleep(30)' }, { signal: abort.signal });
  await whileSleeping(1);
  abort.abort(new Error('told to stop'));
  expect(await failure).toMatchObject({ message: 'told to stop' });
  expect(await rowsOf("select to_regclass('u') as u")).toEqual([{ u: null }]);
});

test('X3 a connection that is lost before the commit changed nothing; one that is lost at the commit may have', async () => {
  await run({ sql: createTable });
  const killed = failureOf({ sql: "insert into t (name) values ('a'); select pg_sleep(30)" });
  await whileSleeping(1);
  await rowsOf("select pg_terminate_backend(pid) as ended from pg_stat_activity where query like 'select pg_sleep%'");
  expect(await killed).toMatchObject({ code: 'SQL_UNAVAILABLE', applied: 'no' });
  const proxy = await cutAt('COMMIT');
  const { port } = proxy.address() as AddressInfo;
  const lost = await failureOf({ port, sql: "insert into t (name) values ('b')" });
  proxy.close();
  expect(lost).toMatchObject({ code: 'SQL_UNAVAILABLE', applied: 'unknown' });
});

/** Resolves when as many sessions sleep in a statement. */
async function whileSleeping(count: number): Promise<void> {
  const sql = "select count(*)::int as n from pg_stat_activity where wait_event = 'PgSleep'";
  await until(`${count} sessions sleep`, async () => ((await rowsOf(sql))[0] as { n: number }).n === count, 10);
}

/** A way to the server that breaks when a text passes. */
async function cutAt(text: string): Promise<Server> {
  const proxy = createServer((near) => {
    const far = connect((server as PostgresServer).port, '127.0.0.1');
    near.on('data', (chunk) => (chunk.includes(text) ? (near.destroy(), far.destroy()) : far.write(chunk)));
    far.on('data', (chunk) => near.write(chunk));
    for (const socket of [near, far]) socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return proxy;
}

test('B70 a server that cannot be reached, or refuses, had no effect; the password is not told', async () => {
  const gone = await cutAt('');
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  expect(await failureOf({ sql: 'select 1', port })).toMatchObject({ code: 'SQL_UNAVAILABLE', applied: 'no' });
  const refused = await failureOf({ sql: 'create table u (a int)', password: 'planted-wrong' });
  expect(refused).toMatchObject({ applied: 'no', data: { sqlstate: '28P01' } });
  expect(JSON.stringify([refused.message, refused.data])).not.toContain('planted');
  expect(await failureOf({ sql: 'select 1', ssl: 'require' })).toMatchObject({
    code: 'SQL_UNAVAILABLE',
    applied: 'no',
  });
});

test('B71 a connection may be a secret; its host must be granted then', async () => {
  const { port, username, password } = server as PostgresServer;
  const DB = `postgres://${username}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
  const nothing = { host: undefined, port: undefined, username: undefined, password: undefined, database: undefined };
  const inputs = { ...nothing, connection: new SecretReference([{ secret: 'DB' }]), sql: 'select 1 as one' };
  const secrets = { DB };
  expect(await failureOf(inputs, { secrets })).toMatchObject({ code: 'PERMISSION_DENIED', applied: 'no' });
  expect((await run(inputs, { secrets, isGranted: () => true })).rows).toEqual([{ one: 1 }]);
});

test('N6 a secret is masked in rows and errors', async () => {
  await run({ sql: createTable });
  const params = [new SecretReference([{ secret: 'TOKEN' }])];
  const options = { secrets: { TOKEN: 's3cret-value' } };
  const insert = { sql: 'insert into t (name) values ($1) returning name', params };
  expect((await run(insert, options)).rows).toEqual([{ name: '[secret:TOKEN]' }]);
  const keyed = { sql: 'select jsonb_build_object($1::text, 1) as s3cret', params };
  expect((await run(keyed, options)).rows).toEqual([{ s3cret: { '[secret:TOKEN]': 1 } }]);
  const failure = await failureOf(insert, options);
  expect(JSON.stringify([failure.message, failure.data])).toContain('[secret:TOKEN]');
  expect(JSON.stringify([failure.message, failure.data, failure.cause])).not.toContain('s3cret');
});
