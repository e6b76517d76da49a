/** A run whose state has 50 MB is told at every door, by what is small in it. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearerTokens, createHandler } from '../../src/http/index.ts';
import { AgentGraph, END, outcome, START } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createWorkspace, serveHere } from './mcp-kit.ts';

const workspace = createWorkspace();
const graph = new AgentGraph({}, { id: 'large' })
  .addNode('one', () => 'x'.repeat(20_000_000))
  .addNode('many', () =>
    outcome({
      output: Array.from({ length: 200_000 }, (_, index) => ({ index, text: 'y'.repeat(40) })),
      scratch: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`v${index}`, 'z'.repeat(60_000)])),
      artifacts: { small: 'kept' },
    }),
  )
  .addEdge(START, 'one')
  .addEdge('one', 'many')
  .addEdge('many', END)
  .compile({ store: openSqliteStore({ path: join(workspace.folder, 'runs.db') }) });
beforeAll(async () => {
  await graph.invoke({ note: 'small' }, { runId: 'big' });
});
afterAll(async () => {
  await graph.close();
  await workspace.remove();
});

test('D54 a run with a state of 50 MB is told over HTTP, never 413, with where its values are read', async () => {
  const token = 'token-of-ann-0123456789';
  const ann = { token, principal: 'ann', kind: 'person', scopes: ['read'] } as const;
  const handler = createHandler({
    graphs: [{ graph: graph.graph, engine: graph.engine }],
    authorize: bearerTokens([ann]),
  });
  const send = (path: string, headers = {}): Promise<Response> =>
    handler(new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } }));
  for (const path of ['/v1/runs/big', '/v1/checkpoints/big', '/v1/checkpoints/big/story?limit=5']) {
    const response = await send(path);
    expect([path, response.status]).toEqual([path, 200]);
    expect((await response.text()).length).toBeLessThan(1024 * 1024);
  }
  const { state } = JSON.parse(await (await send('/v1/runs/big')).text()) as {
    state: {
      input: unknown;
      artifacts: unknown;
      outputs: { one: { omitted: { bytes: number; href: string; sha256: string } } };
    };
  };
  expect([state.input, state.artifacts]).toEqual([{ note: 'small' }, { small: 'kept' }]);
  const { bytes, href, sha256 } = state.outputs.one.omitted;
  const value = await (await send(href)).text();
  expect([bytes, sha256]).toEqual([value.length, createHash('sha256').update(value).digest('hex')]);
  const part = await send(href, { range: 'bytes=10000000-10065535' });
  expect([part.status, (await part.text()).length]).toEqual([206, 65_536]);
});

test('D54 the same run is told to a model', async () => {
  const tools = await (await serveHere(workspace)).connect();
  for (const [tool, args] of [
    ['get_run', { run_id: 'big' }],
    ['get_checkpoint_info', { checkpoint_id: 'big' }],
    ['post_mortem', { checkpoint_id: 'big' }],
  ] as const) {
    const result = await tools.call(tool, args);
    const text = JSON.stringify(result);
    // Of a run and of a checkpoint a model is told how far it is, and no state.
    expect([tool, result.isError, text.includes('"omitted"')]).toEqual([tool, undefined, tool === 'post_mortem']);
    expect(text.length).toBeLessThan(1024 * 1024);
  }
});
