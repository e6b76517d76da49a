/** Sql in model mode: the same on SQLite and on a real Postgres server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres, type PostgresServer } from '../../../test/support/postgres-server.ts';
import type { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Inputs } from '../../graph/contracts/node-type.ts';
import { createFakeContext } from '../../testing/node-suite/fake-context.ts';
import { sqlBlock } from './sql.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-model-'));
let server: PostgresServer | string;
beforeAll(async () => {
  server = await startPostgres();
}, 30_000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof server !== 'string') await server.stop();
});

const engines = ['sqlite', 'postgresql'] as const;

function placeOf(engine: (typeof engines)[number]): Inputs {
  if (engine === 'sqlite') return { engine, path: join(folder, 'a.db') };
  const { port, username, password } = server as PostgresServer;
  return { engine, host: '127.0.0.1', port, username, password, database: 'postgres' };
}

const task = {
  table: 'tasks',
  columns: {
    id: { type: 'text', primary: true, auto: 'uuid' },
    title: { type: 'text', required: true, check: "title <> ''" },
    state: { type: 'text', default: "it's new" },
    weight: { type: 'integer', default: 3 },
    done: { type: 'boolean', default: false },
    tags: { type: 'json', default: ['a'] },
    at: { type: 'timestamp', auto: 'created' },
    changed: { type: 'timestamp', auto: 'updated' },
  },
  indexes: [
    { columns: ['state', 'weight'], order: 'desc' },
    { columns: ['title'], name: 'one_title', unique: true },
  ],
};

interface Ran {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly affected_rows: number;
}

async function runIn(engine: (typeof engines)[number], inputs: Inputs, key = 'k', now = 1_000): Promise<Ran> {
  const given = { ...placeOf(engine), ...('sql' in inputs ? {} : { model: task }), ...inputs };
  expect(sqlBlock.check?.(given)).toEqual([]);
  const ctx = createFakeContext({ idempotencyKey: key, now: () => now });
  return (await sqlBlock.run({ ...ctx, inputs: given, fileOutputs: [] })) as Ran;
}

test.for(engines)('B72 a table is made, filled, read, changed and emptied on %s', async (engine, context) => {
  if (engine === 'postgresql' && typeof server === 'string') context.skip(server);
  const run = (inputs: Inputs, key?: string, now?: number): Promise<Ran> => runIn(engine, inputs, key, now);
  const titles = async (inputs: Inputs): Promise<readonly unknown[]> =>
    (await run({ op: 'select', columns: ['title'], order: ['title'], ...inputs })).rows.map(({ title }) => title);
  await run({ op: 'schema' });
  await run({ op: 'schema' });
  const hostile = "'; drop table tasks; --";
  const { rows: keys } = await run({
    op: 'insert',
    data: [{ title: hostile }, { title: 'b', weight: 9, done: true, tags: { x: 'y' } }],
  });
  expect(keys).toEqual([
    { id: expect.stringMatching(/^[\da-f]{32}$/u) as unknown },
    { id: expect.anything() as unknown },
  ]);
  expect((await run({ op: 'select', order: ['weight'] })).rows).toEqual([
    {
      id: keys[0]?.['id'],
      title: hostile,
      state: "it's new",
      weight: 3,
      done: false,
      tags: ['a'],
      at: new Date(1_000),
      changed: new Date(1_000),
    },
    {
      id: keys[1]?.['id'],
      title: 'b',
      state: "it's new",
      weight: 9,
      done: true,
      tags: { x: 'y' },
      at: new Date(1_000),
      changed: new Date(1_000),
    },
  ]);
  await run({ op: 'insert', data: { title: 'c', weight: null, tags: 'text' } }, 'k2');
  expect(await titles({ where: { weight: { '>': 3 } } })).toEqual(['b']);
  expect(await titles({ where: { weight: null } })).toEqual(['c']);
  expect(await titles({ where: { weight: { not: null }, done: false } })).toEqual([hostile]);
  expect(await titles({ where: { title: { in: ['b', 'c', 'x'] } } })).toEqual(['b', 'c']);
  expect(await titles({ where: { title: { in: [] } } })).toEqual([]);
  expect(await titles({ where: { title: { like: '%drop%' } } })).toEqual([hostile]);
  expect(
    await titles({ where: { at: { '<=': new Date(1_000) } }, order: ['title:desc'], limit: 1, offset: 1 }),
  ).toEqual(['b']);
  expect(await titles({ offset: 2 })).toEqual(['c']);
  expect((await run({ op: 'select', columns: ['tags'], where: { title: 'c' } })).rows).toEqual([{ tags: 'text' }]);
  expect(await run({ op: 'update', data: { done: true }, where: { title: 'c' } }, 'k3', 5_000)).toMatchObject({
    affected_rows: 1,
  });
  expect((await run({ op: 'select', columns: ['done', 'at', 'changed'], where: { title: 'c' } })).rows).toEqual([
    { done: true, at: new Date(1_000), changed: new Date(5_000) },
  ]);
  const [before] = (await run({ op: 'select', where: { title: 'c' } })).rows;
  await run({ op: 'upsert', data: { title: 'c', weight: 4 }, conflict: ['title'] }, 'k4', 9_000);
  expect((await run({ op: 'select', where: { title: 'c' } })).rows).toEqual([
    { ...before, weight: 4, changed: new Date(9_000) },
  ]);
  expect(await run({ op: 'delete', where: { title: { not: 'c' } } })).toMatchObject({ affected_rows: 2 });
  expect(await titles({})).toEqual(['c']);
  expect(await run({ op: 'insert', data: [] })).toMatchObject({ affected_rows: 0, rows: [] });
  await expect(run({ op: 'insert', data: { title: '' } })).rejects.toMatchObject({ code: 'SQL_FAILED', applied: 'no' });
});

test('X1 a repeated attempt makes the same keys, so it cannot insert twice', async () => {
  const path = join(folder, 'again.db');
  await runIn('sqlite', { path, op: 'schema' });
  const insert = { path, op: 'insert', data: { title: 'once' } };
  await runIn('sqlite', insert, 'same');
  await expect(runIn('sqlite', insert, 'same')).rejects.toMatchObject({ applied: 'no', data: { errcode: 19 } });
});

test('B73 what changes every row is refused, and faults of the model are told at load', async () => {
  const failureOf = (inputs: Inputs): Promise<NodeFailure> =>
    runIn('sqlite', inputs).then(
      () => Promise.reject(new Error('it went well')),
      (error: unknown) => error as NodeFailure,
    );
  expect(await failureOf({ op: 'delete', where: {} })).toMatchObject({ code: 'INPUT_INVALID', applied: 'no' });
  expect(await failureOf({ op: 'update', data: { done: true } })).toMatchObject({
    code: 'INPUT_INVALID',
    applied: 'no',
  });
  const faults = (inputs: Inputs): readonly string[] =>
    (sqlBlock.check?.({ engine: 'sqlite', path: 'x', model: task, ...inputs }) ?? []).map(
      ({ input, message }) => `${input}: ${message}`,
    );
  expect(faults({ op: 'insert', data: [{ titel: 1 }, 2], where: {} })).toEqual([
    'where: where is nothing to insert',
    'data: a row is no mapping',
    'data: titel is no column',
  ]);
  expect(faults({ op: 'select', order: ['x:desc'], where: { title: { near: 1 }, done: [1] } })).toEqual([
    'order: x is no column',
    expect.stringContaining('near is no operator'),
    'where: done has a list: write { in: [...] }',
  ]);
  expect(faults({})).toEqual(['model: model has no op']);
  expect(faults({ op: 'select', sql: 'select 1' })).toEqual(['sql: sql and model are both given']);
  expect(
    faults({ op: 'schema', model: { table: 't', columns: { 'a"b': { type: 'text' }, c: { type: 'date' } } } }),
  ).toHaveLength(2);
  expect(faults({ op: 'schema', model: undefined })).toEqual(['op: op has no model']);
});
