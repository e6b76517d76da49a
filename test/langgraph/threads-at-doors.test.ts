/** A thread of LangGraph at the doors of runs: what the studio's page of a run asks for is there, though no graph is known or recorded. */
import { Annotation, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApp } from '../../src/app/open-app.ts';
import { bearerTokens, createHandler } from '../../src/http/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { saverOver } from '../../src/langgraph/index.ts';

const token = 'a-token-of-a-person-1';

test('S7.2 H5 the page of a thread has its standing, checkpoints, story and state', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'cairn-thread-'));
  const store = openSqliteStore({ path: join(cwd, 'runs.db') });
  const State = Annotation.Root({ tone: Annotation<string>() });
  const graph = new StateGraph(State)
    .addNode('ask', ({ tone }) => ({ tone: `${tone}, ${interrupt<string, string>('Send it?')}` }))
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile({ checkpointer: await saverOver(store) });
  const config = { configurable: { thread_id: 't' } };
  await graph.invoke({ tone: 'warm' }, config);
  await graph.invoke(new Command({ resume: 'yes' }), config);
  await store.close();
  const app = await openApp({ cwd, storeUrl: 'runs.db' });
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read'] }]);
  const handler = createHandler({ app, authorize });
  const get = async (
    path: string,
  ): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> => {
    const answer = await handler(new Request(`http://x/v1${path}`, { headers: { authorization: `Bearer ${token}` } }));
    return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
  };
  try {
    const run = await get('/runs/t');
    expect(run).toMatchObject({
      status: 200,
      body: { runId: 't', state: { scratch: { tone: 'warm, yes' } }, waits: [] },
    });
    const { seq } = run.body;
    expect((await get('/runs/t/checkpoints?limit=50')).status).toBe(200);
    const answers = await Promise.all(['', '/state', '/story'].map(async (part) => (await get(`/runs/t/checkpoints/${String(seq)}${part}`)).status)); // prettier-ignore
    expect(answers).toEqual([200, 200, 200]);
    expect((await get('/runs/t/forks')).status).toBe(200);
  } finally {
    handler.close();
    await app.close();
    rmSync(cwd, { recursive: true, force: true });
  }
});
