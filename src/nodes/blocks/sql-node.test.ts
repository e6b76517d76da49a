/** sqlNode: SQL in graphs in TypeScript. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { AgentGraph } from '../../dialects/code/agent-graph.ts';
import '../../index.ts';
import { END, START } from '../../graph/graph.ts';
import { secret } from '../secrets/secret.ts';
import { sqlNode } from './sql-node.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-sql-node-'));
const database = join(folder, 'a.db');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('B64 statements run in order with bound parameters of the state, and give rows and what changed', async () => {
  const hostile = "x'); drop table t; --";
  const { state, status } = await new AgentGraph({}, { id: 'g' })
    .addNode('make', sqlNode({ database, sql: 'create table t (id integer primary key, name text, n)' }))
    .addNode('name', () => hostile)
    .addNode(
      'add',
      sqlNode({
        database,
        sql: 'insert into t (name, n) values (:name, :n)',
        params: ({ state }) => ({ name: state.outputs['name'], n: 7 }),
      }),
    )
    .addNode('read', sqlNode({ database, sql: 'select name, n from t where n = ?', params: [7] }))
    .addEdge(START, 'make')
    .addEdge('make', 'name')
    .addEdge('name', 'add')
    .addEdge('add', 'read')
    .addEdge('read', END)
    .compile()
    .invoke({});
  expect(status).toBe('completed');
  expect(state.outputs['add']).toEqual({ rows: [], columns: [], affectedRows: 1, lastInsertId: 1 });
  expect(state.outputs['read']).toMatchObject({ rows: [{ name: hostile, n: 7 }], columns: ['name', 'n'] });
});

test('B64 what only reads is read, what changes is write, and a database that is read may refuse changes', async () => {
  const effectOf = (sql: string, more = {}): string => sqlNode({ database, sql, ...more }).effect;
  expect([effectOf('select 1'), effectOf('delete from t'), effectOf('select 1', { readOnly: true })]).toEqual([
    'read',
    'write',
    'read',
  ]);
  const refused = await new AgentGraph({}, { id: 'g' })
    .addNode('a', sqlNode({ database, sql: 'delete from t', readOnly: true }))
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile()
    .invoke({});
  expect(refused.error?.message).toContain('readonly');
});

test('B64 faults are told where the node is written', () => {
  expect(() => sqlNode({ database, sql: 'select ?, ?', params: [1] })).toThrow(
    /sqlNode: params: .*one value for each/u,
  );
  expect(() => sqlNode({ database, sql: '' })).toThrow(/sqlNode: sql: /u);
  expect(() => sqlNode({ database, sql: 'select ?', params: () => [1] })).not.toThrow();
  expect(sqlNode({ database: secret('DB'), sql: 'select 1' }).effect).toBe('read');
});
