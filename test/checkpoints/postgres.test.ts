/** A checkpoint store of a user's own, on a real Postgres. Its class is kept as it was found, and knows nothing of Cairn. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import ts from 'typescript-5.9';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, END, humanNode, outcome, START } from '../../src/index.ts';
import type { CheckpointKeeper, CheckpointMetadata, GraphState } from '../../src/app/checkpoint-store/index.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';

let server: PostgresServer | string;
beforeAll(async () => {
  server = await startPostgres();
}, 30_000);
afterAll(async () => {
  if (typeof server !== 'string') await server.stop();
});

interface TheirStore extends CheckpointKeeper {
  list(graphId: string): Promise<CheckpointMetadata[]>;
  fork(checkpointId: string, patchState?: Partial<GraphState>): Promise<string>;
}
interface Pool {
  query(text: string, values: readonly string[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The class that the file holds. */
async function readClass(): Promise<new (pool: Pool) => TheirStore> {
  const text = readFileSync(join(import.meta.dirname, 'postgres-checkpoint-store.txt'), 'utf8');
  const { outputText } = ts.transpileModule(text, { compilerOptions: { target: 99, module: 99 } });
  const code = `${outputText.replace('export {};', '')}\nexport { PostgresCheckpointStore };`;
  const module: unknown = await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`);
  return (module as { PostgresCheckpointStore: new (pool: Pool) => TheirStore }).PostgresCheckpointStore;
}

test('S7 a class that only knows how to keep checkpoints in Postgres carries a run from process to process', async (context) => {
  if (typeof server === 'string') {
    context.skip(server);
    return;
  }
  const { port, username, password } = server;
  const sql = postgres({ host: '127.0.0.1', port, username, password, database: 'postgres', max: 2 });
  await sql`create table checkpoints (id text primary key, run_id text, graph_id text, node_id text, timestamp bigint, payload text)`;
  const pool: Pool = { query: async (text, values) => ({ rows: await sql.unsafe(text, [...values]) }) };
  const PostgresCheckpointStore = await readClass();
  const paid: string[] = [];
  const open = () =>
    new AgentGraph({ input: z.object({}), scratch: z.object({ confidence: z.number() }) }, { id: 'order' })
      .addNode(
        'pay',
        ({ idempotencyKey }) => outcome({ output: paid.push(idempotencyKey), scratch: { confidence: 0 } }),
        {
          effectClass: 'external',
        },
      )
      .addNode('ask', humanNode({ prompt: 'Send it?', choices: ['yes', 'no'] }))
      .addNode('judge', ({ state }) => ((state.scratch.confidence ?? 0) > 0.9 ? 'sure' : 'unsure'))
      .addEdge(START, 'pay')
      .addEdge('pay', 'ask')
      .addEdge('ask', 'judge')
      .addEdge('judge', END)
      .compile({ checkpointStore: new PostgresCheckpointStore(pool) });
  try {
    const { runId } = await open().invoke({});
    const forked = await new PostgresCheckpointStore(pool).fork(runId, { scratch: { confidence: 0.95 } });
    const done = await open().resume(runId, { answers: { ask: 'yes' } });
    expect([done.status, done.state.outputs.judge]).toEqual(['completed', 'unsure']);
    const other = await open().resume(forked, { answers: { ask: 'yes' } });
    expect([other.status, other.state.outputs.judge, paid.length]).toEqual(['completed', 'sure', 1]);
    const listed = await new PostgresCheckpointStore(pool).list('order');
    expect(new Set(listed.map((checkpoint) => checkpoint.runId))).toEqual(new Set([runId, forked]));
  } finally {
    await sql.end();
  }
});
