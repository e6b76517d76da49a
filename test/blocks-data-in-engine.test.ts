/** Blocks that ask models and databases, in workflows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../src/app/process/system-clock.ts';
import type { RunResult } from '../src/engine/api.ts';
import { createScriptedModels } from '../src/models/scripted.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';
import { createBench } from './engine-kit.ts';
import { faultsOf, read, type More } from './yaml-kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-data-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const head = 'name: w\ndescription: d\n';
const secrets = { read: (name: string) => values[name] };
let values: Readonly<Record<string, string>> = {};

async function run(
  text: string,
  input: unknown,
  { nodeTypes = createNodeTypes(), ...more }: More = {},
): Promise<RunResult> {
  const { graph } = read(text, { nodeTypes, ...more });
  const { engine } = createBench({ clock: systemClock, secrets });
  return (await engine.start(graph, input)).result();
}
const outputsOf = (result: RunResult): unknown => (
  expect(result.error).toBeUndefined(),
  result.state.outputs['outputs']
);

test('B61 values of a workflow are bound, in loops too', async () => {
  const text = `${head}inputs:
  db: { type: str }
  names: { type: list }
blocks:
  - id: make
    type: Sql
    inputs: { engine: sqlite, path: "\${db}", sql: "create table t (id integer primary key, name text)" }
  - id: fill
    type: Sql
    depends_on: [make]
    for_each: "\${names}"
    inputs: { engine: sqlite, path: "\${db}", sql: "insert into t (name) values (:name)", params: { name: "\${each.value}" } }
  - id: all
    type: Sql
    depends_on: [fill]
    inputs: { engine: sqlite, path: "\${db}", sql: "select name from t order by name" }
outputs:
  rows: "\${all.rows}"
  count: "\${all.row_count}"
`;
  const names = ["'; drop table t; --", 'ann', 'bob'];
  const rows = names.map((name) => ({ name }));
  expect(outputsOf(await run(text, { db: join(folder, 'a.db'), names }))).toEqual({ rows, count: 3 });
});

test('B61 a reference in sql is a fault, since values belong into params', () => {
  const text = `${head}inputs: { n: { type: str } }
blocks:
  - { id: q, type: Sql, inputs: { engine: sqlite, path: x, sql: "select \${n}" } }
  - { id: m, type: Sql, inputs: { engine: mariadb, sql: "select 1" } }
`;
  const faults = faultsOf(text, { nodeTypes: createNodeTypes() });
  expect(faults).toEqual([expect.stringContaining('sql'), expect.stringContaining('"mariadb" is no engine')]);
});

test('B69 B71 a block is held to its file or its server, whose address may be a secret', async () => {
  const sql = (inputs: string): string =>
    `${head}secrets: [DB]\nblocks:\n  - { id: q, type: Sql, inputs: { ${inputs}, sql: select 1 as one } }\n`;
  const inline = (permissions: More['permissions']): More => ({
    origin: 'inline',
    permissions: permissions ?? {},
    nodeTypes: createNodeTypes(),
  });
  expect(() => read(sql('engine: sqlite, path: /etc/x.db'), inline({ fs: ['/data'] }))).toThrow('--allow fs=/etc/x.db');
  values = { DB: 'postgres://u:planted-password@127.0.0.1:9/d' };
  const hidden = sql('engine: postgresql, connection: "${secrets.DB}"');
  const refused = await run(hidden, {}, inline({ net: ['example.org'], env: ['DB'] }));
  expect(refused.error?.message).toContain('not granted');
  const reached = await run(hidden, {}, inline({ net: ['127.0.0.1:9'], env: ['DB'] }));
  expect(reached.error?.message).toContain('127.0.0.1:9');
  expect(JSON.stringify([reached.error, reached.state])).not.toContain('planted');
});

test('B50 B54 a model answers in a workflow; what does not fit fails the block', async () => {
  const text = `${head}inputs: { about: { type: str } }
blocks:
  - id: ask
    type: LLMCall
    inputs:
      prompt: "Rate \${about}"
      profile: cheap
      max_retries: 2
      response_schema: { type: object, required: [stars], properties: { stars: { type: integer } } }
  - id: next
    type: EchoBlock
    depends_on: [ask]
    inputs: { message: "\${ask.response.stars} of 5 after \${ask.metadata.attempts}" }
outputs: { said: "\${next.echoed}" }
`;
  const models = createScriptedModels(['many', '{"stars": 4}', '{}', '{}']);
  const nodeTypes = createNodeTypes({ models });
  expect(outputsOf(await run(text, { about: 'tea' }, { nodeTypes }))).toEqual({ said: 'Echo: 4 of 5 after 2' });
  expect(models.requests[0]?.messages.at(-1)?.content).toBe('Rate tea');
  const failed = await run(text, { about: 'tea' }, { nodeTypes });
  expect(failed).toMatchObject({ status: 'failed', failed: ['ask'] });
  expect(failed.error?.message).toContain('the answer does not fit after 2 calls: answer.stars is missing');
});
