/** Real servers on the loopback interface. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { within } from '../../test/support/awaited.ts';
import { CairnError } from '../errors.ts';
import type { NodeFailure } from '../graph/contracts/node-contract.ts';
import { createFakeContext, type FakeContextOptions } from '../testing/node-suite/fake-context.ts';
import { httpNode, secret } from './builders.ts';
import { httpRetry, type HttpNodeConfig, type HttpOutput } from './index.ts';

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An origin at which nobody listens. */
async function closedOrigin(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return `http://127.0.0.1:${port}`;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Answers with what it was asked. */
async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readAll(request);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
}

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const origin = await serve((request, response) => void echo(request, response));
const run = async (config: HttpNodeConfig, options: FakeContextOptions = {}): Promise<HttpOutput> =>
  (await httpNode(config).implementation.run(createFakeContext(options))) as HttpOutput;
const echoOf = async (config: HttpNodeConfig, options: FakeContextOptions = {}): Promise<Echo> =>
  (await run(config, options)).body as Echo;
const failureOf = (config: HttpNodeConfig, options: FakeContextOptions = {}): Promise<NodeFailure> =>
  run(config, options).then(
    (output) => Promise.reject(new Error(`completed with ${output.status}`)),
    (error: unknown) => error as NodeFailure,
  );

test('a request is made from the configuration and the state', async () => {
  const sent = await echoOf(
    {
      method: 'PUT',
      url: ({ state }) => `${origin}/items/${encodeURIComponent(String(state.input))}?a=1`,
      query: { q: ({ state }) => String(state.scratch['term']), tag: ['x', 'y'], none: undefined },
      headers: { 'X-Count': 2, 'x-none': () => undefined },
      body: { name: ({ state }: { state: { input: unknown } }) => state.input, list: [1] },
    },
    { state: { input: 'a/b', scratch: { term: 'c&d e' } } },
  );
  expect(sent).toMatchObject({
    method: 'PUT',
    url: '/items/a%2Fb?a=1&q=c%26d+e&tag=x&tag=y',
    body: '{"name":"a/b","list":[1]}',
  });
  expect(sent.headers).toMatchObject({ 'x-count': '2', 'content-type': 'application/json' });
  expect(sent.headers).not.toHaveProperty('x-none');
  expect(
    (await echoOf({ method: 'POST', url: origin, body: 'plain', headers: { 'content-type': 'text/x' } })).headers[
      'content-type'
    ],
  ).toBe('text/x');
  expect(await echoOf({ method: 'POST', url: new URL(origin), body: new Uint8Array([104, 105]) })).toMatchObject({
    body: 'hi',
  });
});

test('X1 the idempotency key goes with every request that may change something', async () => {
  const keyOf = async (method: 'GET' | 'POST' | 'DELETE', headers = {}): Promise<string | undefined> =>
    (await echoOf({ method, url: origin, headers }, { idempotencyKey: 'key-9' })).headers['idempotency-key'];
  expect([await keyOf('GET'), await keyOf('POST'), await keyOf('DELETE')]).toEqual([undefined, 'key-9', 'key-9']);
  expect(await keyOf('POST', { 'Idempotency-Key': 'mine' })).toBe('mine');
});

test('X safe methods read, others are external; reads and idempotent calls are tried again', () => {
  const draftOf = (method: 'GET' | 'HEAD' | 'POST', options = {}) => httpNode({ method, url: origin }, options);
  expect([draftOf('GET').effect, draftOf('HEAD').effect, draftOf('POST').effect]).toEqual(['read', 'read', 'external']);
  expect(draftOf('GET').retry).toEqual(httpRetry);
  expect(draftOf('POST').retry).toBeUndefined();
  expect(draftOf('POST', { idempotent: true }).retry).toEqual(httpRetry);
  expect(draftOf('POST', { effectClass: 'read' }).retry).toEqual(httpRetry);
  expect(draftOf('GET', { retry: { attempts: 1 } }).retry).toEqual({ attempts: 1 });
  expect(draftOf('GET').timeoutMs).toBe(30_000);
});

test('P6 what cannot be sent is refused before it is, and no value is quoted', async () => {
  const bad: readonly [HttpNodeConfig, string][] = [
    [{ url: 'file:///etc/passwd' }, 'url'],
    [{ url: () => 'javascript:alert(1)' }, 'url'],
    [{ url: '/relative' }, 'url'],
    [{ url: 'http://user:pw@127.0.0.1/' }, 'url'],
    [{ url: origin, headers: { 'x-a': 'line\r\nbreak: hidden' } }, 'headers.x-a'],
    [{ url: origin, headers: { 'bad name': 'hidden' } }, 'headers.bad name'],
    [{ url: origin, headers: { 'x-b': (() => ({})) as never } }, 'headers.x-b'],
    [{ url: origin, query: { q: (() => ({})) as never } }, 'query.q'],
    [{ url: origin, body: 'x' }, 'body'],
    [{ url: origin, method: 'POST', body: { big: 1n } }, 'body'],
  ];
  for (const [config, place] of bad) {
    const failure = await failureOf(config);
    expect(failure).toMatchObject({ code: 'REQUEST_INVALID', applied: 'no', data: { place } });
    expect(failure.message).not.toContain('hidden');
  }
  expect(() => httpNode({} as never)).toThrow(CairnError);
});

test('a response is parsed by its type, or as told; cookies are not kept', async () => {
  const kinds: Readonly<Record<string, readonly [string, string | Buffer]>> = {
    '/json': ['application/problem+json; charset=utf-8', '{"a":[1]}'],
    '/text': ['text/plain', 'té'],
    '/latin': ['text/plain; charset=iso-8859-1', Buffer.from([0xe9])],
    '/bytes': ['application/octet-stream', Buffer.from([0, 255])],
    '/none': ['application/json', ''],
    '/broken': ['application/json', '{'],
    '/gzip': ['text/plain', gzipSync('packed')],
  };
  const server = await serve((request, response) => {
    const [type, body] = kinds[request.url ?? ''] ?? ['', ''];
    response.setHeader('content-type', type).setHeader('set-cookie', ['session=1']);
    if (request.url === '/gzip') response.setHeader('content-encoding', 'gzip');
    response.end(body);
  });
  const bodyOf = async (path: string, as?: HttpNodeConfig['as']): Promise<unknown> =>
    (await run({ url: server + path, ...(as && { as }) })).body;
  expect(await bodyOf('/json')).toEqual({ a: [1] });
  expect(await bodyOf('/json', 'text')).toBe('{"a":[1]}');
  expect(await bodyOf('/text')).toBe('té');
  expect(await bodyOf('/latin')).toBe('é');
  expect(await bodyOf('/bytes')).toEqual(new Uint8Array([0, 255]));
  expect(await bodyOf('/text', 'bytes')).toEqual(new Uint8Array(Buffer.from('té')));
  expect(await bodyOf('/none')).toBe('');
  expect(await bodyOf('/gzip')).toBe('packed');
  expect(await failureOf({ url: `${server}/broken` })).toMatchObject({ code: 'HTTP_PARSE' });
  const list = z.object({ a: z.array(z.number()).transform(([first]) => first) });
  expect(await bodyOf('/json', list)).toEqual({ a: 1 });
  expect(await failureOf({ url: `${server}/json`, as: z.object({ b: z.string() }) })).toMatchObject({
    code: 'HTTP_PARSE',
    message: expect.stringContaining('b: ') as string,
  });
  expect(httpNode({ url: server, as: list }).config).toEqual(httpNode({ url: server, as: 'json' }).config);
  const { headers } = await run({ url: `${server}/text` });
  expect(headers['content-type']).toBe('text/plain');
  expect(headers).not.toHaveProperty('set-cookie');
});

test('E6 429 and 5xx can be tried again, after the time they ask for; only 429 says that nothing happened', async () => {
  const server = await serve((request, response) => {
    response.statusCode = Number(request.url?.slice(1));
    response.setHeader('retry-after', response.statusCode === 503 ? 'Thu, 01 Jan 1970 00:00:09 GMT' : '7');
    response.end('{"why":"busy"}');
  });
  const answer = (status: number, extra: Partial<HttpNodeConfig> = {}): Promise<NodeFailure> =>
    failureOf({ method: 'POST', url: `${server}/${status}`, ...extra }, { now: () => 4_000 });
  expect(await answer(429)).toMatchObject({ code: 'HTTP_UNAVAILABLE', applied: 'no', retryAfterMs: 7_000 });
  expect(await answer(503)).toMatchObject({ code: 'HTTP_UNAVAILABLE', applied: 'unknown', retryAfterMs: 5_000 });
  expect(await answer(500)).toMatchObject({ code: 'HTTP_UNAVAILABLE', data: { status: 500, body: '{"why":"busy"}' } });
  const notFound = await answer(404);
  expect(notFound).toMatchObject({ code: 'HTTP_STATUS', applied: 'unknown', message: 'the answer was 404' });
  expect(notFound.retryAfterMs).toBeUndefined();
  expect(httpRetry.on).not.toContain(notFound.code);
  expect(await run({ url: `${server}/404`, okStatus: [404] })).toMatchObject({ status: 404 });
  expect(await failureOf({ url: `${server}/204`, okStatus: [200] })).toMatchObject({ code: 'HTTP_STATUS' });
});

test('X3 a refused connection certainly changed nothing; a broken one may have', async () => {
  const closed = await closedOrigin();
  const refused = await failureOf({ method: 'POST', url: `${closed}/?key=hidden` });
  expect(refused).toMatchObject({ code: 'HTTP_CONNECTION', applied: 'no', data: { reason: 'ECONNREFUSED' } });
  expect(refused.message).not.toContain('hidden');

  // The server that redirects has seen the request already.
  const redirecting = await serve((_request, response) => void response.writeHead(307, { location: closed }).end());
  const lost = await failureOf({ method: 'POST', url: redirecting, redirect: 'follow' });
  expect(lost).toMatchObject({ code: 'HTTP_CONNECTION', applied: 'unknown', data: { reason: 'ECONNREFUSED' } });

  const cutting = await serve((request) => request.socket.destroy());
  expect(await failureOf({ method: 'POST', url: cutting })).toMatchObject({
    code: 'HTTP_CONNECTION',
    applied: 'unknown',
  });
  const half = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.socket?.destroy());
  });
  expect(await failureOf({ method: 'POST', url: half })).toMatchObject({ code: 'HTTP_CONNECTION', applied: 'unknown' });
});

function* repeat(text: string): Generator<string> {
  for (;;) yield text;
}

test('E8 a response over the limit is cut off while it arrives, also when it is packed', async () => {
  const cut = Promise.withResolvers<void>();
  const endless = await serve((_request, response) => {
    const source = Readable.from(repeat('x'.repeat(65_536)));
    response.on('close', () => {
      source.destroy();
      cut.resolve();
    });
    source.pipe(response);
  });
  const failure = await failureOf({ url: endless, maxBytes: 100_000 });
  expect(failure).toMatchObject({ code: 'HTTP_TOO_LARGE', data: { limitBytes: 100_000 } });
  await within('the response is cut off', cut.promise);
  const bomb = await serve((_request, response) => {
    response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(1_000_000)));
  });
  expect(await failureOf({ url: bomb, maxBytes: 100_000 })).toMatchObject({ code: 'HTTP_TOO_LARGE' });
  expect(await run({ url: bomb, maxBytes: 1_000_000, as: 'bytes' })).toMatchObject({ status: 200 });
});

test('E6 an abort ends a request that has no answer, or half of one', async () => {
  const abortDuring = async (listener: (response: ServerResponse) => void): Promise<unknown> => {
    const abort = new AbortController();
    const server = await serve((_request, response) => {
      listener(response);
      setImmediate(() => abort.abort(new Error('stop')));
    });
    return failureOf({ url: server }, { signal: abort.signal });
  };
  expect(await abortDuring(() => undefined)).toMatchObject({ message: 'stop' });
  expect(await abortDuring((response) => void response.write('half'))).toMatchObject({ message: 'stop' });
});

test('redirects are followed within the origin, and methods change as the standard says', async () => {
  const server = await serve((request, response) => {
    const status = /^\/(30\d)$/.exec(request.url ?? '')?.[1];
    if (status === undefined) void echo(request, response);
    else response.writeHead(Number(status), { location: '/end' }).end();
  });
  const sent = (method: 'GET' | 'POST' | 'PUT', status: number): Promise<Echo> =>
    echoOf({
      method,
      url: `${server}/${status}`,
      headers: { authorization: 'kept' },
      ...(method !== 'GET' && { body: { a: 1 } }),
    });
  for (const status of [301, 302, 303])
    expect(await sent('POST', status)).toMatchObject({ method: 'GET', url: '/end', body: '' });
  expect((await sent('POST', 303)).headers).not.toHaveProperty('idempotency-key');
  for (const status of [307, 308])
    expect(await sent('POST', status)).toMatchObject({ method: 'POST', body: '{"a":1}' });
  expect(await sent('PUT', 302)).toMatchObject({ method: 'PUT', body: '{"a":1}' });
  expect(await sent('GET', 302)).toMatchObject({ headers: { authorization: 'kept' } });
});

test('a redirect to another origin is refused, or followed without credentials', async () => {
  const server = await serve(
    (_request, response) => void response.writeHead(307, { location: `${origin}/there` }).end(),
  );
  const headers = { authorization: 'Basic x', cookie: 'c=1', 'x-api-key': secret('KEY'), 'x-plain': 'stays' };
  const secrets = { KEY: 'k3y-value' };
  const config = { method: 'POST', url: server, headers, body: { a: 1 } } as const;
  expect(await failureOf(config, { secrets })).toMatchObject({ code: 'HTTP_REDIRECT', applied: 'unknown' });
  const followed = await echoOf({ ...config, redirect: 'follow' }, { secrets });
  expect(followed).toMatchObject({ url: '/there', body: '{"a":1}', headers: { 'x-plain': 'stays' } });
  for (const name of ['authorization', 'cookie', 'x-api-key']) expect(followed.headers).not.toHaveProperty(name);
  const withSecret = { ...config, redirect: 'follow', body: { key: secret('KEY') } } as const;
  expect(await failureOf(withSecret, { secrets })).toMatchObject({ code: 'HTTP_REDIRECT' });
});

test('redirects can be refused or returned; those without end or with another scheme are refused', async () => {
  const server = await serve((request, response) => {
    const location = request.url === '/loop' ? '/loop' : request.url === '/scheme' ? 'file:///etc/passwd' : '/loop';
    response.writeHead(302, { location }).end();
  });
  expect(await failureOf({ url: `${server}/loop`, redirect: 'error' })).toMatchObject({ code: 'HTTP_REDIRECT' });
  expect(await failureOf({ url: `${server}/loop` })).toMatchObject({
    code: 'HTTP_REDIRECT',
    message: expect.stringContaining('more than 10'),
  });
  expect(await failureOf({ url: `${server}/scheme`, redirect: 'follow' })).toMatchObject({ code: 'HTTP_REDIRECT' });
  expect(await run({ url: `${server}/loop`, redirect: 'manual' })).toMatchObject({
    status: 302,
    headers: { location: '/loop' },
  });
});

test('secrets are sent, are named in the configuration only, and are masked in what comes back', async () => {
  const config: HttpNodeConfig = {
    method: 'POST',
    url: origin,
    query: { key: secret('QUERY') },
    headers: { authorization: secret('TOKEN', { prefix: 'Bearer ' }) },
    body: { nested: [secret('BODY')] },
  };
  const secrets = { QUERY: 'q-s3cret/+', TOKEN: 't-s3cret', BODY: 'b-"s3cret"' };
  const received: Echo[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readAll(request);
    received.push({ method: '', url: request.url ?? '', headers: request.headers as Record<string, string>, body });
    response.writeHead(400, { 'x-echo': request.headers.authorization ?? '' }).end(body);
  };
  const spy = await serve((request, response) => void receive(request, response));
  const failure = await failureOf({ ...config, url: spy }, { secrets });
  expect(received[0]).toMatchObject({
    headers: { authorization: 'Bearer t-s3cret' },
    body: '{"nested":["b-\\"s3cret\\""]}',
  });
  expect(new URLSearchParams(received[0]?.url.split('?')[1]).get('key')).toBe(secrets.QUERY);
  const told = JSON.stringify([await run(config, { secrets }), httpNode(config).config, failure.message, failure.data]);
  expect(told).not.toContain('s3cret');
  for (const name of ['[secret:QUERY]', 'Bearer [secret:TOKEN]', '[secret:BODY]', 'Bearer secret:TOKEN'])
    expect(told).toContain(name);
  expect(await failureOf(config)).toMatchObject({ code: 'SECRET_MISSING', applied: 'no' });
});

test('data of the state can never name a secret', async () => {
  const imitation = { name: 'TOKEN', prefix: '' };
  const sent = await echoOf(
    { method: 'POST', url: origin, body: ({ state }) => state.input },
    { state: { input: [imitation, 'secret:TOKEN'] }, secrets: { TOKEN: 't-s3cret' } },
  );
  expect(JSON.parse(sent.body)).toEqual([imitation, 'secret:TOKEN']);
});

test('N6 after a 401 a secret is read again, and if it was replaced, the request is sent once more', async () => {
  let [key, asked] = ['old-key-0001', 0];
  const origin = await serve((request, response) => {
    asked += 1;
    response.statusCode = request.headers['x-key'] === 'new-key-0002' ? 200 : 401;
    response.end('{}');
    key = 'new-key-0002';
  });
  const send = (secrets: object): unknown => {
    const node = httpNode({ url: origin, method: 'POST', headers: { 'X-Key': secret('KEY') } });
    return node.implementation.run(createFakeContext({ secrets } as FakeContextOptions));
  };
  await expect(send({ KEY: 'same-key-0003' })).rejects.toMatchObject({ code: 'HTTP_STATUS' });
  expect(asked).toBe(1);
  [key, asked] = ['old-key-0001', 0];
  const changing = {
    get KEY() {
      return key;
    },
  };
  expect(await send(changing)).toMatchObject({ status: 200 });
  expect(asked).toBe(2);
});
