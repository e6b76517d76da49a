/**
 * Request lines, hosts and origins that are made to break an HTTP server, or to reach it from a web page. The oracle is a raw socket: each
 * request gets an answer, and the server goes on.
 */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as fc from 'fast-check';
import { createLineLog } from '../../src/app/log/line-log.ts';
import { listenHttp } from '../../src/app/http/listen-http.ts';
import { startServer, type Server } from '../../src/http/serve.ts';
import { startMcpServer, type RunningMcpServer } from '../../src/mcp/index.ts';
import { createWorkspace, serveHttp } from '../mcp/mcp-kit.ts';
import { exchange, type RawAnswer } from '../support/raw-socket.ts';
import { scale, seeds } from '../support/scale.ts';

const lines: string[] = [];
const page = 'http://localhost:6274';
let server: RunningMcpServer;
let api: Server;
let port = 0;
beforeAll(async () => {
  server = await startMcpServer({
    cwd: tmpdir(),
    storeUrl: 'memory:',
    http: { port: 0, origins: [page] },
    log: createLineLog({ write: (line) => void lines.push(line), isPlain: true }),
  });
  port = Number(new URL(server.url ?? '').port);
  const onError = (error: unknown): void => void lines.push(`failed: ${String(error)}`);
  api = await startServer({ cwd: tmpdir(), storeUrl: 'memory:', port: 0, worker: false, onError });
});
afterAll(async () => {
  await server.close();
  await api.close();
});

/** The whole answer of a server to a client that closes its side. */
const say = (to: number, bytes: string): Promise<RawAnswer> => exchange(to, bytes, { closesAfterSend: true });

const opening = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

function requestOf(line: string, headers: Readonly<Record<string, string>> = {}, body = ''): string {
  const all = { host: `127.0.0.1:${port}`, connection: 'close', 'content-length': String(body.length), ...headers };
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`;
}

const initialize = (headers: Readonly<Record<string, string>> = {}): Promise<RawAnswer> =>
  say(
    port,
    requestOf(
      'POST /mcp',
      { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      opening,
    ),
  );

test('M10 a GET of // and other lines that no address can be made of leave a server process alive', async () => {
  const workspace = createWorkspace();
  try {
    const { url, process: child } = await serveHttp(workspace, ['--allow-origin', page]);
    const to = Number(new URL(url).port);
    for (const target of ['//', '//mcp', '///', '/\\', '//[', 'http://', '*', '/mcp?%', '//a:b:c/'])
      expect([
        target,
        (await say(to, `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${to}\r\nConnection: close\r\n\r\n`)).text,
      ]).toEqual([target, expect.stringMatching(/^HTTP\/1\.1 4\d\d /)]);
    const paged = `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${to}\r\nOrigin: ${page}\r\nConnection: close\r\n\r\n`;
    expect((await say(to, paged)).text.toLowerCase()).toContain(`access-control-allow-origin: ${page}`);
    expect(child.exitCode).toBe(null);
  } finally {
    await workspace.remove();
  }
});

test('M10 a method that is not served, an absolute address and a host with a user in it are faults of the client', async () => {
  for (const method of ['TRACE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'CONNECT'])
    expect([method, (await say(port, requestOf(`${method} /mcp`))).status]).toEqual([method, 405]);
  expect((await say(port, requestOf(`GET http://127.0.0.1:${port}/mcp`))).status).toBe(400);
  for (const host of [
    'evil.com@127.0.0.1',
    `evil.com@127.0.0.1:${port}`,
    '127.0.0.1:99999',
    'a b',
    '127.0.0.1/',
    '',
    '[::1',
    '127.0.0.1#',
  ])
    expect([host, (await initialize({ host })).status]).toEqual([host, 400]);
  for (const host of ['evil.com', '127.0.0.1.evil.com', 'localhost.evil.com:80'])
    expect([host, (await initialize({ host })).status]).toEqual([host, 403]);
});

test('M10 no page speaks to the server unless its origin is named, and then the answer says so to its browser', async () => {
  const others = [
    'http://localhost:1',
    'http://localhost',
    'http://127.0.0.1:6274',
    'https://localhost:6274',
    'http://localhost:62740',
    'http://localhost:6274.evil.com',
    'http://evil.com#http://localhost:6274',
    'null',
    'file://',
    '',
  ];
  for (const origin of others) expect([origin, (await initialize({ origin })).status]).toEqual([origin, 403]);
  expect((await initialize({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await initialize()).status).toBe(200);
  const { text: named } = await initialize({ origin: page });
  expect(named).toMatch(/^HTTP\/1\.1 200 /);
  expect(named.toLowerCase()).toContain(`access-control-allow-origin: ${page}\r\n`);
  const requested = {
    origin: page,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  };
  const preflight = (await say(port, requestOf('OPTIONS /mcp', requested))).text.toLowerCase();
  expect(preflight).toMatch(/^http\/1\.1 204 /);
  expect(preflight).toContain('access-control-allow-headers: content-type\r\n');
  expect(
    (await say(port, requestOf('OPTIONS /mcp', { ...requested, origin: 'http://localhost:1' }))).text.toLowerCase(),
  ).not.toContain('access-control');
});

test(
  'M10 whatever the request, the answer of each server is never a failure of the server',
  { timeout: 600_000 },
  async () => {
    const piece = fc.constantFrom(
      '/',
      '//',
      '\\',
      '..',
      '%',
      '%2f',
      '%00',
      '?',
      '#',
      '[',
      ']',
      '@',
      ':',
      'mcp',
      'http:',
      '*',
      ';',
      '\xff',
      '|',
      'v1',
      'runs',
      'events',
      'checkpoints',
      'file',
      'assets',
      'index.html',
      'chat',
      '=',
      '&',
    );
    const target = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(''));
    const method = fc.constantFrom('GET', 'POST', 'DELETE', 'TRACE', 'OPTIONS', 'PUT', 'PROPFIND');
    const name = fc
      .array(fc.constantFrom('localhost', '127.0.0.1', '@', ':', '[', ']', '::1', '/', '80', 'x', '.', '\xe9'), {
        maxLength: 5,
      })
      .map((parts) => parts.join(''));
    const origin = fc.oneof(
      fc.constant(undefined),
      name.map((text) => `http://${text}`),
      name,
    );
    const more = fc.array(
      fc.constantFrom(
        'transfer-encoding: chunked',
        'transfer-encoding: gzip, chunked',
        'content-length: 1',
        'content-length: -1',
        'expect: 100-continue',
        'expect: x',
        'upgrade: websocket',
        'connection: upgrade',
        'content-type: application/json',
        'content-type: text/event-stream; charset=\xff',
        'accept: application/json, text/event-stream',
        'mcp-session-id: ../\xe9',
        'mcp-protocol-version: 1',
        'last-event-id: \xff:9999999999999999999',
        'if-match: "',
        'if-none-match: *',
        'range: bytes=-',
        'sec-fetch-mode: navigate',
        'sec-fetch-site: same-site',
        `authorization: Bearer ${api.token ?? ''}`,
        `authorization: Bearer ${api.token ?? ''}`,
        'authorization: Bearer',
      ),
      { maxLength: 4 },
    );
    const body = fc.constantFrom('', '{', '{}', '[]', 'null', '5\r\n{"a":', '0\r\n\r\n', opening, '\xff\xfe');
    const ports = [port, Number(new URL(api.url).port)];
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ports),
        method,
        target,
        fc.oneof(fc.constant(undefined), fc.constant(undefined), name),
        origin,
        more,
        body,
        async (to, verb, path, host, from, others, sent) => {
          const headers = [`host: ${host ?? `127.0.0.1:${to}`}`, 'connection: close'];
          if (from !== undefined) headers.push(`origin: ${from}`);
          const isOpen = others.some((other) => /^(?:content-length|transfer)/.test(other));
          if (!isOpen) headers.push(`content-length: ${sent.length}`);
          const head = [`${verb} ${path} HTTP/1.1`, ...headers, ...others].join('\r\n');
          const {
            text,
            status,
            errorCode = 'nothing',
          } = await exchange(to, `${head}\r\n\r\n${sent}`, {
            closesAfterSend: isOpen,
            isDone: (received) => received.includes('\r\n'),
          });
          // A server may say nothing to a client that closes its side in the middle of a request.
          if (text === '' && isOpen) return;
          seen.add(status);
          expect(text === '' ? errorCode : status).toBeGreaterThanOrEqual(100);
          expect(status).toBeLessThan(500);
        },
      ),
      // The same requests each time: one draw of 400 in four has no more than four kinds of answers.
      { numRuns: scale(400, 20_000), seed: seeds(1, 1)[0] ?? 1 },
    );
    // It was a contest: requests came through to answers of several kinds.
    expect(seen.size).toBeGreaterThan(4);
    expect(lines.filter((line) => line.includes('failed'))).toEqual([]);
    expect((await initialize()).status).toBe(200);
  },
);

test('M10 what a handler throws is an answer of 500 and a line, and the server goes on', async () => {
  const reported: string[] = [];
  const listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    requestMs: 5_000,
    failed: (error) => void reported.push(String(error)),
    handle: ({ url }, response) => {
      if (url === '/sync') throw new Error('sync');
      if (url === '/async') return Promise.reject(new Error('async'));
      if (url !== '/late') return void response.end('fine');
      response.writeHead(200, { 'content-length': 10 });
      response.write('x');
      throw new Error('late');
    },
  });
  const get = (path: string): Promise<RawAnswer> =>
    say(listener.port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect([(await get('/sync')).status, (await get('/async')).status]).toEqual([500, 500]);
  await get('/late');
  expect((await get('/')).text).toContain('fine');
  expect(reported).toEqual(['Error: sync', 'Error: async', 'Error: late']);
  await listener.close(() => Promise.resolve());
});
