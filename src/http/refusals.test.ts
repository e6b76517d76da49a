/** What a server says that cannot serve, what it says of that beforehand, and whose pages may keep its answers. */
import { afterEach, expect, test } from 'vitest';
import { CairnError } from '../errors.ts';
import { AgentGraph, END, START } from '../index.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { bearerTokens, createHandler, type Handler } from './index.ts';

const token = 'token-of-ann-0123456789';
const own = 'https://pages.example.org';
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function serve(store = createMemoryStore()): Handler {
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store });
  const handler = createHandler({
    graphs: [graph],
    origins: [own],
    authorize: bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read', 'chat'] }]),
    onError: () => undefined,
  });
  closing.push(
    () => handler.close(),
    () => graph.close(),
  );
  return handler;
}

const ask = (handler: Handler, path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  handler(
    new Request(`http://localhost${path}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } }),
  );

test('a server is ready while its store can be read, and lives either way', async () => {
  let isAway = false;
  const store = new Proxy(createMemoryStore(), {
    get(target, name) {
      if (name === 'listRuns' && isAway)
        return () => Promise.reject(new CairnError('STORE_UNAVAILABLE', { store: 's', reason: 'gone', written: 'no' }));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const handler = serve(store);
  expect(await (await ask(handler, '/readyz')).json()).toEqual({ status: 'ready' });
  isAway = true;
  expect((await ask(handler, '/readyz')).status).toBe(503);
  for (const path of ['/livez', '/healthz']) expect((await ask(handler, path)).status).toBe(200);
});

test('a server without chats has nothing at their places', async () => {
  const handler = serve();
  for (const path of ['/chat', '/chat/c1', '/chat/c1/stream']) expect((await ask(handler, path)).status).toBe(404);
  expect((await ask(handler, '/chat', { 'content-type': 'application/json' }, 'POST')).status).toBe(404);
});

test('the document says of each route how it fails, by the client and by the server', async () => {
  const response = await ask(serve(), '/v1/openapi.json');
  const { paths } = (await response.json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses?: object }>>>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      responses === undefined ? [] : [[`${method} ${path}`, Object.keys(responses)] as const],
    ),
  );
  expect(operations.length).toBeGreaterThan(30);
  const silent = operations.filter(([, statuses]) => !statuses.includes('4XX') || !statuses.includes('5XX'));
  expect(silent).toEqual([]);
});

test('an answer to a page of another origin is kept for that origin alone, whatever is answered', async () => {
  const handler = serve();
  for (const [path, method] of [
    ['/v1/runs', 'GET'],
    ['/v1/runs/none', 'GET'],
    ['/v1/runs', 'OPTIONS'],
  ] as const) {
    const { headers } = await ask(handler, path, { origin: own }, method);
    expect([headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([own, 'origin']);
  }
  const { headers } = await ask(handler, '/v1/runs');
  expect(headers.get('access-control-allow-origin')).toBe(null);
});

test('D48 chats are served below the version and where they were at first, and the document tells their routes', async () => {
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store: createMemoryStore() });
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['chat'] }]);
  const handler = createHandler({ graphs: [graph], chat: { node: 'a' }, authorize });
  closing.push(
    () => handler.close(),
    () => graph.close(),
  );
  for (const path of ['/v1/chat/c1', '/chat/c1'])
    expect(await (await ask(handler, path)).json()).toEqual({ messages: [], isUnderWay: false });
  const pathsOf = async (of: Handler): Promise<readonly string[]> => {
    const { paths } = (await (await ask(of, '/v1/openapi.json')).json()) as { readonly paths: object };
    return Object.keys(paths).filter((path) => path.startsWith('/chat'));
  };
  expect(await pathsOf(handler)).toEqual(['/chat', '/chat/{chat}', '/chat/{chat}/stream', '/chat/{chat}/stop']);
  expect(await pathsOf(serve())).toEqual([]);
});

test('a mistyped field is told with the one that is near, and names of the path are not offered', async () => {
  const handler = serve();
  for (const [path, title] of [
    ['/v1/runs?lable=a%3Db', 'there is no field lable; did you mean label?'],
    ['/v1/runs?zzzz=1', 'there is no field zzzz'],
    ['/v1/runs/r?runIdd=1', 'there is no field runIdd'],
  ] as const)
    expect(await (await ask(handler, path)).json()).toMatchObject({ code: 'USAGE_INVALID', title });
});
