/** The HTTP interface over a store: runs are started, followed, answered, forked; and whoever may not, may not. */
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openApp, type App } from '../app/open-app.ts';
import { startWorker, type Worker } from '../app/worker.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import { schemaFaults } from '../schema/json-schema.ts';
import { bearerTokens } from './authorize.ts';
import { createClient } from './client.ts';
import { createHandler, type Handler } from './handler.ts';
import type { OmittedValue } from '../operations/runs/omit-large.ts';
import { toNodeHandler } from './node.ts';
import { operationRoutes } from './routes.ts';

const tokens = {
  ann: 'token-of-ann-0123456789',
  reader: 'token-of-a-reader-0123456789',
  model: 'token-of-a-model-0123456789',
  other: 'token-of-another-tenant-0123',
};
const all = ['read', 'run', 'answer', 'fork', 'admin'] as const;

let cwd = '';
let app: App;
let handler: Handler;
let worker: Worker;
const faults: unknown[] = [];

beforeEach(async () => {
  faults.length = 0;
  cwd = mkdtempSync(join(tmpdir(), 'cairn-http-'));
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(
    join(cwd, 'workflows/ask.yaml'),
    'name: ask\ninputs: { password: { type: str, default: none }, note: { type: str, default: none } }\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n  - { id: e, type: EchoBlock, depends_on: [q], inputs: { message: hi } }\noutputs: { said: "${e.echoed}" }\n',
  );
  app = await openApp({ cwd, storeUrl: 'runs.db' });
  worker = startWorker(app, { pollMs: 50 });
  handler = createHandler({
    app,
    authorize: bearerTokens([
      { token: tokens.ann, principal: 'ann', kind: 'person', scopes: all },
      { token: tokens.reader, principal: 'reader', kind: 'program', scopes: ['read'] },
      { token: tokens.model, principal: 'model', kind: 'program', scopes: ['read', 'run', 'answer', 'fork'] },
      { token: tokens.other, principal: 'eve', kind: 'person', tenant: 'other', scopes: all },
    ]),
    onError: (error) => faults.push(error),
  });
});
afterEach(async () => {
  handler.close();
  await worker.stop();
  await app.close();
  rmSync(cwd, { recursive: true, force: true });
  if (faults.length > 0) throw new AggregateError(faults, 'the server failed');
});

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(path: string, { method, body, token = tokens.ann, headers = {} }: Sent = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return handler(
    new Request(`http://localhost${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: text }),
    }),
  );
}

type Json = Record<string, unknown>;

async function call(path: string, sent: Sent = {}): Promise<{ readonly status: number; readonly json: Json }> {
  const response = await send(path, sent);
  return { status: response.status, json: (await response.json()) as Json };
}

interface Sse {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Json;
}

/** The events of a response, until its end or until one fits. */
async function readEvents(response: Response, isLast: (event: Sse) => boolean = () => false): Promise<readonly Sse[]> {
  const events: Sse[] = [];
  let text = '';
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const valueOf = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = valueOf('data');
      if (data === undefined) continue;
      const event = { id: valueOf('id'), event: valueOf('event') ?? '', data: JSON.parse(data) as Json };
      events.push(event);
      if (isLast(event)) return events;
    }
  }
  return events;
}

const startAndWait = (runId: string): Promise<{ status: number; json: Json }> =>
  call('/v1/runs', { body: { workflow: 'ask', runId }, headers: { prefer: 'wait=30' } });

test('a run is started, followed over its pause, answered from another request, and forked', async () => {
  const started = await send('/v1/runs', {
    body: { workflow: 'ask', runId: 'r', label: { user: 'ann' } },
    headers: { prefer: 'wait=30' },
  });
  expect([started.status, started.headers.get('location')]).toEqual([201, '/v1/runs/r']);
  expect(await started.json()).toMatchObject({ runId: 'r', isNew: true, result: { status: 'paused' } });
  expect((await call('/v1/runs?label=user:ann')).json).toMatchObject({ runs: [{ runId: 'r', status: 'paused' }] });
  expect((await call('/v1/runs?label=user:bob')).json).toMatchObject({ runs: [] });

  const stream = await send('/v1/runs/r/events');
  const following = readEvents(stream);
  const answered = await call('/v1/runs/r/answer', { body: { value: 'yes' } });
  expect(answered.json).toMatchObject({ runId: 'r', value: 'yes' });
  const events = await following;
  const recorded = events.filter(({ event }) => event === 'checkpoint');
  expect(recorded.map(({ data }) => data['seq'])).toEqual(recorded.map((_, index) => index));
  expect(recorded.every(({ id, data }) => id === data['cursor'])).toBe(true);
  expect(events.at(-1)).toMatchObject({ event: 'end', data: { runId: 'r', status: 'completed' } });
  expect(JSON.stringify(recorded)).toContain('"path":["e"],"value":{"echoed":"Echo: hi"');
  // Who acted is in the record: the caller, whatever a body says.
  const answers = recorded.flatMap(({ data }) => data['change'] as Json[]).filter(({ kind }) => kind === 'answer');
  expect(answers).toMatchObject([{ by: 'ann' }]);

  const forked = await call('/v1/checkpoints/r@0/forks', { body: { runId: 'f' } });
  expect(forked).toMatchObject({ status: 201, json: { fork: { runId: 'f' }, from: { runId: 'r', seq: 0 } } });
  expect((await call('/v1/runs/r/forks')).json['runs']).toHaveLength(2);
});

test('a stream goes on after any cursor, without a gap or a repeat, and is over with 204 when all was seen', async () => {
  await startAndWait('r');
  await call('/v1/runs/r/answer', { body: { value: 'yes' } });
  const events = await readEvents(await send('/v1/runs/r/events'));
  const ids = events.flatMap(({ id }) => (id === undefined ? [] : [id]));
  expect(ids.length).toBeGreaterThan(4);
  for (const [index, id] of ids.entries()) {
    const response = await send('/v1/runs/r/events', { headers: { 'last-event-id': id } });
    const isOver = response.status === 204;
    expect(isOver).toBe(index === ids.length - 1);
    const rest = isOver ? [] : await readEvents(response);
    expect(rest.flatMap((event) => event.id ?? [])).toEqual(ids.slice(index + 1));
  }
});

test('a cursor of a history that is no more is told, and the stream begins anew', async () => {
  await startAndWait('r');
  const [, second] = await readEvents(await send('/v1/runs/r/events?until=rest'));
  const foreign = `${second!.id!.split('.')[0]}.00000000`;
  for (const after of [foreign, '9999']) {
    const events = await readEvents(await send(`/v1/runs/r/events?until=rest&after=${after}`));
    expect(events[0]).toEqual({
      id: undefined,
      event: 'reset',
      data: { type: 'reset', runId: 'r', reason: 'lost', from: 0 },
    });
    expect(events[1]).toMatchObject({ event: 'checkpoint', data: { seq: 0 } });
  }
});

test('a client that leaves ends its stream, and the handler ends those that are open', async () => {
  await startAndWait('r');
  const left = await send('/v1/runs/r/events');
  await readEvents(left, ({ data }) => data['seq'] === 2);
  const open = await send('/v1/runs/r/events');
  const reading = readEvents(open);
  handler.close();
  expect((await reading).at(-1)?.event).toBe('checkpoint');
});

describe('security', () => {
  /** Each route with something in its path, as a request that would be served. */
  const requests = operationRoutes.map(({ method, segments, id }) => {
    const path = segments.map((segment) => (segment.startsWith('{') ? 'r' : segment)).join('/');
    return { id, method, path: `/v1/${path}` };
  });

  test.each([...requests, { id: 'events', method: 'GET', path: '/v1/runs/r/events' }])(
    'without a token nothing answers: $method $path',
    async ({ method, path }) => {
      await startAndWait('r');
      const body = method === 'POST' ? { body: {} } : {};
      for (const token of ['', 'wrong-token-0123456789'])
        expect((await call(path, { method, ...body, token })).status).toBe(401);
    },
  );

  test.each(
    operationRoutes.filter(({ operation }) => operation.scope !== 'read').map((route) => [route.id, route] as const),
  )('the scope is asked for: %s', async (_, { method, segments, operation }) => {
    const path = `/v1/${segments.map((segment) => (segment.startsWith('{') ? 'r' : segment)).join('/')}`;
    const body = method === 'POST' ? { body: {} } : {};
    const { status, json } = await call(path, { method, ...body, token: tokens.reader });
    expect([status, json['title']]).toEqual([403, `the scope ${operation.scope} is needed`]);
  });

  test('runs of another tenant are the same 404 as runs that do not exist', async () => {
    await startAndWait('r');
    for (const { method, path } of [...requests, { method: 'GET', path: '/v1/runs/r/events' }]) {
      if (!/\/r(\/|$)/.test(path)) continue;
      const body =
        method === 'POST'
          ? {
              body: path.endsWith('signals')
                ? { name: 'n' }
                : path.endsWith('tags')
                  ? { name: 'n' }
                  : path.endsWith('answer')
                    ? { value: 1 }
                    : path.endsWith('answers')
                      ? { answers: { q: 1 } }
                      : {},
            }
          : {};
      const query = path.endsWith('blame') ? '?path=input' : path.endsWith('bisect') ? '?when=true' : '';
      const there = await call(`${path}${query}`, { method, ...body, token: tokens.other });
      const absent = await call(`${path.replace(/\/r(?=\/|$)/, '/none')}${query}`, {
        method,
        ...body,
        token: tokens.other,
      });
      expect([path, there.status]).toEqual([path, 404]);
      expect([path, absent.status]).toEqual([path, 404]);
    }
    expect((await call('/v1/runs', { token: tokens.other })).json).toMatchObject({ runs: [] });
    expect((await call('/v1/waits', { token: tokens.other })).json).toMatchObject({ waits: [] });
  });

  test('hostile requests are refused, each with what is wrong', async () => {
    await startAndWait('r');
    const big = JSON.stringify({ workflow: 'ask', input: 'x'.repeat(5 * 1024 * 1024) });
    const rows: readonly (readonly [number, string, Sent?])[] = [
      [404, '//'],
      [404, '/v1'],
      [404, '/v1/runs/'],
      [404, '/v1/runs/r/nothing'],
      [404, '/v1/runs/none'],
      [400, '/v1/runs/%ff'],
      [405, '/v1/runs', { method: 'PUT', body: {} }],
      [405, '/v1/runs', { method: 'OPTIONS' }],
      [400, '/v1/runs?limit=abc'],
      [400, '/v1/runs?limit=0'],
      [400, '/v1/runs?limit=100000'],
      [400, '/v1/runs?limit=1&limit=2'],
      [400, '/v1/runs?all=true'],
      [400, '/v1/runs?status=odd'],
      [400, '/v1/runs?since=odd'],
      [400, '/v1/runs?label=odd'],
      [400, '/v1/runs?constructor=1'],
      [400, '/v1/runs?cursor=odd'],
      [400, '/v1/checkpoints/r/file'],
      [400, '/v1/checkpoints/r/file?path=input&export=x'],
      [404, '/v1/checkpoints/none/file?path=input'],
      [416, '/v1/checkpoints/r/file?path=outputs', { headers: { range: 'bytes=90000-' } }],
      [400, '/v1/waits?cursor=5~abcdefgh'],
      [400, '/v1/runs/r/checkpoints?cursor=odd'],
      [400, '/v1/checkpoints?cursor=odd'],
      [400, '/v1/checkpoints?after=odd'],
      [400, '/v1/runs?after=x&cursor=x'],
      [400, '/v1/runs/r/events?after=odd'],
      [400, '/v1/runs/r/events?until=odd'],
      [413, '/v1/runs', { body: big }],
      [415, '/v1/runs', { body: {}, headers: { 'content-type': 'text/plain' } }],
      [400, '/v1/runs', { body: '{' }],
      [400, '/v1/runs', { body: '[]' }],
      [400, '/v1/runs', { body: {} }],
      [400, '/v1/runs', { body: { workflow: 7 } }],
      [400, '/v1/runs', { body: { workflow: 'ask', file: '/etc/passwd' } }],
      [404, '/v1/runs', { body: { workflow: '/etc/passwd' } }],
      [404, '/v1/runs', { body: { workflow: 'workflows/ask.yaml' } }],
      [400, '/v1/runs', { body: { workflow: 'ask', budget: 'much' } }],
      [400, '/v1/runs', { body: { workflow: 'ask', label: ['a'] } }],
      [400, '/v1/runs/r/answer', { body: {} }],
      [400, '/v1/runs/r/answer', { body: { value: 'yes', by: 'the boss' } }],
      [400, '/v1/runs/r/answers', { body: { answers: 'yes' } }],
      [404, '/v1/runs/r/answer', { body: { wait: 'none', value: 'yes' } }],
      [400, '/v1/runs/r/resume', { body: { retry: 'yes' } }],
      [400, '/v1/runs/r/resume', { body: { file: '/etc/passwd' } }],
      [400, '/v1/checkpoints/r/preview', { body: { set: { 'input.__proto__.x': 1 }, export: 'x' } }],
      [400, '/v1/checkpoints/r/preview', { body: { set: 7 } }],
      [403, '/v1/runs', { headers: { origin: 'http://evil.example' } }],
      [403, '/v1/runs', { headers: { 'sec-fetch-site': 'cross-site' } }],
    ];
    for (const [status, path, sent] of rows) {
      const response = await send(path, sent);
      expect([path, JSON.stringify(sent)?.slice(0, 80), response.status]).toEqual([
        path,
        JSON.stringify(sent)?.slice(0, 80),
        status,
      ]);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      const problem = (await response.json()) as Json;
      expect(problem).toMatchObject({ status, title: expect.any(String) as string });
      expect(JSON.stringify(problem)).not.toMatch(/sqlite|SELECT|\.ts\b|at Object/i);
    }
  });

  test('an error of the store is told without what its driver said', async () => {
    await app.store.close();
    const { status, json } = await call('/v1/runs');
    expect([status, json['code'], json['title']]).toEqual([503, 'STORE_CLOSED', 'the store cannot be reached now']);
    expect(JSON.stringify(json)).not.toContain(cwd);
    faults.length = 0;
  });

  test('values under names of secrets are masked in answers and in events', async () => {
    await call('/v1/runs', {
      body: { workflow: 'ask', runId: 's', input: { password: 'hunter2-planted' } },
      headers: { prefer: 'wait=30' },
    });
    for (const path of ['/v1/runs/s', '/v1/checkpoints/s@0', '/v1/checkpoints/s/state', '/v1/checkpoints/s/story']) {
      const text = await (await send(path)).text();
      expect(text).not.toContain('hunter2-planted');
    }
    const events = JSON.stringify(await readEvents(await send('/v1/runs/s/events?until=rest')));
    expect(events).toContain('[redacted]');
    expect(events).not.toContain('hunter2-planted');
  });

  test('a handler that only reads has no route that writes', async () => {
    await startAndWait('r');
    const authorize = bearerTokens([{ token: tokens.ann, principal: 'ann', kind: 'person', scopes: all }]);
    const reading = createHandler({ app, authorize, readOnly: true, onError: (error) => faults.push(error) });
    const statusOf = async (path: string, method: string): Promise<number> =>
      (
        await reading(
          new Request(`http://localhost${path}`, { method, headers: { authorization: `Bearer ${tokens.ann}` } }),
        )
      ).status;
    const writing = new Set(operationRoutes.filter(({ operation }) => !operation.isReadOnly).map(({ id }) => id));
    expect(writing.size).toBeGreaterThan(8);
    for (const { method, path, id } of requests.filter((each) => writing.has(each.id))) {
      expect([id, [404, 405].includes(await statusOf(path, method))]).toEqual([id, true]);
    }
    expect(await statusOf('/v1/runs/r', 'GET')).toBe(200);
    expect(await statusOf('/v1/checkpoints/r/preview', 'POST')).toBe(200);
  });

  test('an answer over a mebibyte is refused with its size, unless all of it is asked for, as the client does', async () => {
    const note = 'x'.repeat(1_200_000);
    const started = await call('/v1/runs', { body: { workflow: 'ask', runId: 'big', input: { note } } });
    expect(started.status).toBe(201);
    const { status, json } = await call('/v1/checkpoints/big@0/state');
    expect([status, json['title']]).toEqual([
      413,
      expect.stringMatching(/^the answer has 12\d{5} bytes; ask for a part/),
    ]);
    const whole = await send('/v1/checkpoints/big@0/state', { headers: { prefer: 'return=representation' } });
    expect([whole.status, (await whole.text()).length > note.length]).toEqual([200, true]);
    const client = createClient('http://localhost', tokens.ann, {
      fetch: (url, init) => handler(new Request(url, init)),
    });
    expect(JSON.stringify(await client.state({ checkpoint: 'big@0' }))).toContain(note);
    // Of where the run stands the value alone is left out, and is read by the path that stands in its place.
    const standing = (await call('/v1/runs/big')).json['state'] as { input: Record<string, OmittedValue> };
    const { sha256, bytes, href } = standing.input['note']!.omitted;
    const hash = createHash('sha256').update(note).digest('hex');
    expect([bytes, sha256, (await (await send(href ?? '')).text()) === note]).toEqual([note.length, hash, true]);
  });

  test('only so many streams are open at once', async () => {
    await startAndWait('r');
    const authorize = bearerTokens([{ token: tokens.ann, principal: 'ann', kind: 'person', scopes: all }]);
    const narrow = createHandler({ app, authorize, streams: 1 });
    const open = (): Promise<Response> =>
      narrow(new Request('http://localhost/v1/runs/r/events', { headers: { authorization: `Bearer ${tokens.ann}` } }));
    const first = await open();
    expect((await open()).status).toBe(429);
    await first.body!.cancel();
    const again = await open();
    expect(again.status).toBe(200);
    narrow.close();
  });

  test('an authorize that is missing, a short token and an unknown scope are refused when the handler is made', () => {
    expect(() => createHandler({ app } as never)).toThrow(/authorize/);
    const of = (token: string, scopes: readonly string[]): unknown =>
      bearerTokens([{ token, principal: 'p', kind: 'person', scopes: scopes as never }]);
    expect(() => of('short', ['read'])).toThrow(/16 characters/);
    expect(() => of(tokens.ann, ['write'])).toThrow(/is no scope/);
  });
});

test('a value is fetched as a file, whole and in parts; a part of what has changed is the whole', async () => {
  await call('/v1/runs', {
    body: { workflow: 'ask', runId: 'f', input: { note: 'abcdefghij', password: 'hunter2-planted' } },
    headers: { prefer: 'wait=30' },
  });
  const fetchFile = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    send(`/v1/checkpoints/f/file?path=${path}`, { headers });
  const whole = await fetchFile('input.note');
  expect([whole.status, await whole.text()]).toEqual([200, 'abcdefghij']);
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    'accept-ranges': 'bytes',
    'content-disposition': expect.stringMatching(/^attachment; filename="f_\d+_input.note.txt"$/) as string,
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  const etag = whole.headers.get('etag') ?? '';
  for (const [range, text] of [
    ['bytes=2-4', 'cde'],
    ['bytes=7-', 'hij'],
    ['bytes=-2', 'ij'],
    ['bytes=5-500', 'fghij'],
  ] as const) {
    const part = await fetchFile('input.note', { range, 'if-range': etag });
    expect([part.status, await part.text()]).toEqual([206, text]);
    expect(part.headers.get('content-range')).toMatch(/^bytes \d-\d\/10$/);
  }
  for (const headers of [{ range: 'bytes=4-2' }, { range: 'lines=1-2' }, { range: 'bytes=1-2', 'if-range': '"other"' }])
    expect((await fetchFile('input.note', headers)).status).toBe(200);
  for (const path of ['input', 'input.password'])
    expect(await (await fetchFile(path)).text()).not.toContain('hunter2-planted');
});

test('each answer fits what the OpenAPI document says of it', async () => {
  await startAndWait('r');
  await call('/v1/runs/r/answer', { body: { value: 'yes' } });
  const { json } = await call('/v1/openapi.json');
  expect(json).toMatchObject({ openapi: '3.1.1', servers: [{ url: '/v1' }] });
  const paths = json['paths'] as Record<string, Record<string, { responses: Record<string, { content: Json }> }>>;
  let held = 0;
  for (const [template, methods] of Object.entries(paths)) {
    const operation = methods['get'];
    if (operation === undefined || template.endsWith('events') || /\{workflow\}|file$/.test(template)) continue;
    const query = template.endsWith('blame')
      ? '?path=outputs'
      : template.endsWith('bisect')
        ? '?when=failures.size()%20%3E%200'
        : template === '/diff'
          ? '?a=r@0&b=r'
          : template === '/overviews'
            ? '?run=r'
            : '';
    const path = `/v1${template.replace(/\{\w+\}/, 'r')}${query}`;
    const { status, json: answer } = await call(path);
    expect([path, status]).toEqual([path, 200]);
    const content = operation.responses['200']!.content['application/json'] as { schema: JsonSchema };
    expect(schemaFaults(content.schema, answer, path)).toEqual([]);
    held += 1;
  }
  expect(held).toBeGreaterThan(12);
});

describe('in a server of node:http', () => {
  let server: Server;
  let url = '';
  beforeEach(async () => {
    writeFileSync(join(cwd, 'secret.html'), 'secret');
    mkdirSync(join(cwd, 'pages'));
    writeFileSync(join(cwd, 'pages/index.html'), '<p>page</p>');
    writeFileSync(join(cwd, 'pages/app.js'), '1');
    symlinkSync(join(cwd, 'secret.html'), join(cwd, 'pages/link.html'));
    const authorize = bearerTokens([{ token: tokens.ann, principal: 'ann', kind: 'person', scopes: all }]);
    const served = createHandler({ app, authorize, basePath: '/cairn', pages: join(cwd, 'pages') });
    const listener = toNodeHandler(served);
    server = createServer((request, response) => void listener(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('it answers below its base path, and a stream reaches the client as it grows', async () => {
    const headers = { authorization: `Bearer ${tokens.ann}`, 'content-type': 'application/json' };
    expect((await fetch(`${url}/v1/me`, { headers })).status).toBe(404);
    const body = JSON.stringify({ workflow: 'ask', runId: 'n' });
    const started = await fetch(`${url}/cairn/v1/runs`, { method: 'POST', headers, body });
    expect([started.status, started.headers.get('location')]).toEqual([201, '/cairn/v1/runs/n']);
    const stream = await fetch(`${url}/cairn/v1/runs/n/events`, { headers });
    const reading = readEvents(stream, ({ data }) => (data['change'] as Json[] | undefined)?.[0]?.['kind'] === 'pause');
    expect((await reading).length).toBeGreaterThan(2);
  });

  test('a client has the methods of the library, throws its errors by their codes, and follows a run to its end', async () => {
    const client = createClient(`${url}/cairn`, tokens.ann, { waitSeconds: 30 });
    const started = await client.run({ file: 'ask', runId: 'c', label: { user: 'ann' } });
    expect(started).toMatchObject({ runId: 'c', isNew: true, result: { status: 'paused' } });
    expect((await client.listRuns({ label: { user: 'ann' }, status: ['paused'] })).runs).toMatchObject([
      { runId: 'c' },
    ]);
    await client.answer({ run: 'c', value: 'yes' });
    const followed: string[] = [];
    for await (const event of client.follow('c')) if (event.type === 'checkpoint') followed.push(event.cursor);
    // What the stream gave is the history there.
    const recorded: string[] = [];
    for await (const event of app.engine.history.follow('c'))
      if (event.type === 'checkpoint') recorded.push(event.cursor);
    expect(followed).toEqual(recorded);
    const { entries } = await client.log({ run: 'c' });
    expect(entries.map(({ seq }) => seq).toReversed()).toEqual(followed.map((cursor) => Number(cursor.split('.')[0])));
    expect(await client.inspect({ run: 'c' })).toMatchObject({ status: 'completed', outputs: { said: 'Echo: hi' } });
    await expect(client.inspect({ run: 'none' })).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
      message: 'no run none',
    });
    await expect(client.resume({ run: 'c', file: 'x.ts' })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    await expect(createClient(`${url}/cairn`, 'wrong-token').listRuns()).rejects.toThrow('a bearer token is needed');
  });

  test('files of the page are served with a strict policy, and nothing beside them', async () => {
    for (const path of ['/cairn/', '/cairn/runs/n', '/cairn/app.js']) {
      const response = await fetch(`${url}${path}`);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'.*trusted-types/);
      await response.text();
    }
    for (const path of [
      '/cairn/link.html',
      '/cairn/..%2fsecret.html',
      '/cairn/%2e%2e/secret.html',
      '/secret.html',
      '/cairn/.env',
      '/cairn/x.ts',
    ])
      expect([path, [401, 404].includes((await fetch(`${url}${path}`)).status)]).toEqual([path, true]);
  });
});

test('a preview has an etag; a fork and a resume by If-Match are refused with the new preview if it changed since', async () => {
  await startAndWait('etag');
  const preview = await send('/v1/checkpoints/etag/preview', { body: {} });
  const etag = preview.headers.get('etag') ?? '';
  expect((await preview.json()) as Json).toMatchObject({ etag: etag.slice(1, -1), runId: 'etag' });
  const stale = await call('/v1/checkpoints/etag@0/forks', { body: {}, headers: { 'if-match': etag } });
  expect(stale).toMatchObject({
    status: 412,
    json: { code: 'PREVIEW_CHANGED', preview: { runId: 'etag', seq: 0 } },
  });
  const fresh = { 'if-match': `"${(stale.json['preview'] as Json)['etag'] as string}"` };
  expect((await call('/v1/checkpoints/etag@0/forks', { body: {}, headers: fresh })).status).toBe(201);
  const client = createClient('http://localhost', tokens.ann, {
    fetch: (url, init) => handler(new Request(url, init)),
  });
  await expect(client.resume({ run: 'etag', expect: 'old' })).rejects.toMatchObject({
    code: 'PREVIEW_CHANGED',
    data: { preview: { etag: etag.slice(1, -1) } },
  });
  expect((await call('/v1/runs/etag/resume', { body: {}, headers: { 'if-match': etag } })).status).toBe(200);
});

test('many runs are followed in one stream: by a label, those started meanwhile included, each event once over reconnects', async () => {
  const start = (runId: string, user: string): Promise<unknown> =>
    call('/v1/runs', { body: { workflow: 'ask', runId, label: { user } }, headers: { prefer: 'wait=30' } });
  await start('old', 'ann');
  await start('bobs', 'bob');
  const seen: string[] = [];
  let id: string | undefined;
  const follow = async (lastRun: string): Promise<void> => {
    const headers = id === undefined ? {} : { 'last-event-id': id };
    const response = await send('/v1/events?label=user:ann', { headers });
    const isLast = ({ event, data }: Sse): boolean =>
      data['runId'] === lastRun && event === 'checkpoint' && JSON.stringify(data['change']).includes('"end"');
    for (const each of await readEvents(response, isLast)) {
      id = each.id;
      seen.push(`${each.event} ${String(each.data['runId'])}@${String(each.data['seq'])}`);
    }
  };
  const following = follow('old');
  await call('/v1/runs/old/answer', { body: { value: 'yes' } });
  await following;
  await start('new', 'ann');
  await call('/v1/runs/new/answer', { body: { value: 'yes' } });
  await follow('new');
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.filter((each) => each.startsWith('run '))).toEqual(['run old@2', 'run new@-1']);
  expect(seen.find((each) => each.startsWith('checkpoint new'))).toBe('checkpoint new@0');
  expect(seen.join()).not.toContain('bobs');
  const other = await call('/v1/events?label=user:bob', { headers: { 'last-event-id': id ?? '' } });
  expect(other).toMatchObject({ status: 400, json: { code: 'USAGE_INVALID' } });
  expect((await call('/v1/events?until=end')).status).toBe(400);
  const theirs = await send('/v1/events', { token: tokens.other });
  const reader = theirs.body!.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe(': open\n\n');
  await reader.cancel();
});
