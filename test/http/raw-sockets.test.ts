/**
 * `cairn serve` spoken with over bare sockets, as nobody's library would: each route without a token, without its scope, as another tenant,
 * with ids that are none, bodies that are too large or never come, names of hosts and origins of others, and bytes that are changed at random.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operationRoutes } from '../../src/http/routes.ts';
import { startServer, type Server } from '../../src/http/serve.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { within } from '../support/awaited.ts';
import { exchange, type RawAnswer } from '../support/raw-socket.ts';
import { seeds } from '../support/scale.ts';

const tokens = {
  ann: 'token-of-ann-0123456789',
  reader: 'token-of-reader-0123456789',
  nobody: 'token-of-nobody-0123456789',
  stranger: 'token-of-stranger-0123456789',
};
const all = ['read', 'run', 'answer', 'fork', 'admin', 'chat'];
let cwd = '';
let server: Server;
let port = 0;
const faults: unknown[] = [];

const workflow = `name: ask
inputs: { amount: { type: num, default: 1 } }
blocks:
  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }
outputs: { said: "\${q.response}" }
`;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-raw-'));
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(join(cwd, 'workflows/ask.yaml'), workflow);
  const people = [
    { token: tokens.ann, principal: 'ann', kind: 'person', scopes: all },
    { token: tokens.reader, principal: 'reader', kind: 'person', scopes: ['read'] },
    { token: tokens.nobody, principal: 'nobody', kind: 'person', scopes: [] },
    { token: tokens.stranger, principal: 'stranger', kind: 'person', tenant: 'elsewhere', scopes: all },
  ];
  writeFileSync(join(cwd, 'tokens.json'), JSON.stringify(people));
  const tokenFile = join(cwd, 'tokens.json');
  const onError = (error: unknown): void => void faults.push(error);
  // Without the page of the studio, which is there only if it was built.
  server = await startServer({ cwd, storeUrl: 'runs.db', port: 0, tokenFile, requestMs: 1_000, pages: cwd, onError });
  port = Number(new URL(server.url).port);
  const started = await ask({ method: 'POST', path: '/v1/runs', body: { workflow: 'ask', runId: 'r' } });
  if (started.status !== 201) throw new Error(started.text);
});
afterAll(async () => {
  await server.close();
  rmSync(cwd, { recursive: true, force: true });
});

/** Sends bytes and takes the answer to its end, or until it is known to be a stream; at the end of a chunked body nothing follows. */
function send(bytes: string | Uint8Array): Promise<RawAnswer> {
  const isDone = (text: string): boolean => text.includes('text/event-stream') || text.endsWith('\r\n0\r\n\r\n');
  const start = Buffer.from(bytes).toString('latin1').slice(0, 300);
  return within(`an answer to ${start}`, exchange(port, bytes, { isDone }));
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
  /** Added to the others, or in their place. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

function bytesOf({ method, path, token = tokens.ann, body, headers = {} }: Sent): string {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const fields = {
    host: `127.0.0.1:${port}`,
    connection: 'close',
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
    }),
    ...headers,
  };
  const lines = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`;
}

const ask = (sent: Sent): Promise<RawAnswer> => send(bytesOf(sent));

/** What only the server's side may know. */
const ownWords = /sqlite|SQLITE_|node:internal|\bat \w+.*\.[cm]?[jt]s:\d|TypeError|RangeError/i;

/** A request of each route, which would be served to who may. */
const fitting: Readonly<Record<string, object>> = {
  run: { workflow: 'ask' },
  answer: { value: 'yes' },
  answers: { answers: { q: 'yes' } },
  signal: { name: 'n', value: 1 },
  tag: { name: 'n' },
};
const queries: Readonly<Record<string, string>> = { blame: '?path=input', bisect: '?when=true', diff: '?to=r@1' };
interface Request {
  readonly id: string;
  readonly method: string;
  readonly path: (run: string) => string;
  readonly body?: object;
}
const own = ['/runs/{run}/events', '/checkpoints/{checkpoint}/file', '/me', '/graphs', '/events', '/openapi.json'];
const requests: readonly Request[] = [
  ...operationRoutes.map(({ id, method, segments, inPath }) => ({
    id,
    method,
    path: (run: string) => {
      const names = segments.map((part) => {
        const name = part.startsWith('{') ? part.slice(1, -1) : '';
        return name === '' ? part : name === 'run' || name.startsWith('checkpoint') || name === 'a' ? run : `${run}@0`;
      });
      return `/v1/${names.join('/')}${inPath.has('b') ? '' : (queries[id] ?? '')}`;
    },
    ...(method === 'POST' && { body: fitting[id] ?? {} }),
  })),
  ...own.map((path) => ({
    id: path,
    method: 'GET',
    path: (run: string) => `/v1${path.replace(/\{\w+\}/, run)}${path.endsWith('file') ? '?path=input' : ''}`,
  })),
];

test('each route refuses who has no token or a wrong one, and tells others no more than that a run is not there', async () => {
  const isOfRun = ({ path }: Request): boolean => /\/r(?=[/?@]|$)/.test(path('r'));
  for (const { id, method, path, body } of requests)
    for (const token of ['', 'wrong-token-0123456789'])
      expect([id, token, (await ask({ method, path: path('r'), body, token })).status]).toEqual([id, token, 401]);
  for (const { id, method, path, body } of requests.filter(isOfRun)) {
    const statusOf = async (run: string, token: string): Promise<number> =>
      (await ask({ method, path: path(run), body, token })).status;
    const statuses = [
      await statusOf('r', tokens.stranger),
      await statusOf('none', tokens.stranger),
      await statusOf('none', tokens.ann),
    ];
    expect([id, ...statuses]).toEqual([id, 404, 404, 404]);
  }
  expect(requests.filter(isOfRun).length).toBeGreaterThan(20);
});

test('each route asks for its scope', async () => {
  const scopeOf = ({ id }: Request): string =>
    operationRoutes.find((route) => route.id === id)?.operation.scope ?? 'read';
  for (const { id, method, path, body } of requests.filter(({ id }) => !['/me', '/openapi.json'].includes(id)))
    expect([id, (await ask({ method, path: path('r'), body, token: tokens.nobody })).status]).toEqual([id, 403]);
  for (const { id, method, path, body } of requests.filter((request) => scopeOf(request) !== 'read'))
    expect([id, (await ask({ method, path: path('r'), body, token: tokens.reader })).status]).toEqual([id, 403]);
});

test('each route that takes a body refuses wrong types, what is too large, and what never comes, and hangs at none', async () => {
  const posts = requests.filter(({ method }) => method === 'POST');
  const mib = 1024 * 1024;
  const json = { 'content-type': 'application/json' };
  for (const { id, path } of posts) {
    const to = { method: 'POST', path: path('r') };
    const statusOf = async (sent: Omit<Sent, 'method' | 'path'>): Promise<number> =>
      (await ask({ ...to, ...sent })).status;
    for (const body of ['{', '[]', '7', '"x"', 'null', '\u0000'])
      expect([id, body, await statusOf({ body })]).toEqual([id, body, 400]);
    expect([id, await statusOf({ body: { nothing: 1 } })]).toEqual([id, 400]);
    expect([id, await statusOf({ body: '{}', headers: { 'content-type': 'text/plain' } })]).toEqual([id, 415]);
    // Too large by what the header says; then without a header that says so.
    expect([id, await statusOf({ headers: { ...json, 'content-length': String(5 * mib) } })]).toEqual([id, 413]);
    const head = bytesOf({ ...to, headers: { ...json, 'transfer-encoding': 'chunked' } });
    const chunk = `${mib.toString(16)}\r\n${' '.repeat(mib)}\r\n`;
    expect([id, (await send(head + chunk.repeat(5))).status]).toEqual([id, 413]);
  }
  // A body that stops in the middle: its time runs out.
  const stopped = posts.map(async ({ path }) => {
    const headers = { ...json, 'content-length': '100' };
    const { status } = await send(`${bytesOf({ method: 'POST', path: path('r'), headers })}{"a":`);
    return status;
  });
  expect(await Promise.all(stopped)).toEqual(posts.map(() => 408));
});

test('requests that are none, names of hosts and origins of others are refused', async () => {
  const path = '/v1/runs';
  const rows: readonly (readonly [statuses: readonly number[], sent: Sent | string])[] = [
    [[404], { method: 'GET', path: '//' }],
    [[404], { method: 'GET', path: '//v1/runs' }],
    [[404, 400], { method: 'GET', path: '//evil.example/v1/runs' }],
    [[400], { method: 'GET', path: 'http://evil.example/v1/runs' }],
    [[400], { method: 'GET', path: '*' }],
    [[400], { method: 'OPTIONS', path: '*' }],
    [[405], { method: 'CONNECT', path: 'evil.example:443' }],
    [[405], { method: 'TRACE', path }],
    [[400], { method: 'NONSENSE', path }],
    [[404], { method: 'GET', path: '/v1/../../etc/passwd' }],
    [[404, 400], { method: 'GET', path: '/..%2f..%2fetc%2fpasswd' }],
    [[400, 404], { method: 'GET', path: '/%00' }],
    [[400], { method: 'GET', path, headers: { host: undefined } }],
    ...[
      'evil.example',
      'evil.example:80',
      '127.0.0.1.evil.example',
      'a@127.0.0.1',
      '127.0.0.1/x',
      '',
      '127.0.0.1:x',
    ].map((host) => [[400, 403], { method: 'GET', path, headers: { host } }] as const),
    ...[
      'null',
      'http://evil.example',
      `https://127.0.0.1:${port}`,
      `http://127.0.0.1:${port + 1}`,
      `http://localhost:${port}.evil.example`,
      `http://127.0.0.1:${port}@evil.example`,
      'file://',
      'x',
    ].map((origin) => [[403], { method: 'GET', path, headers: { origin } }] as const),
    [[403], { method: 'POST', path, body: {}, headers: { 'sec-fetch-site': 'cross-site' } }],
    [[431], { method: 'GET', path, headers: { 'x-long': 'x'.repeat(100_000) } }],
    [[400], 'GET /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\n\r\n'],
    [[400], 'GET /v1/runs HTTP/9.9\r\n\r\n'],
    [[400], '\u0016\u0003\u0001\u0002\u0000\u0001'],
    [
      [400],
      'POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ];
  for (const [statuses, sent] of rows) {
    const { status, text } = await send(typeof sent === 'string' ? sent : bytesOf(sent));
    expect([sent, statuses.includes(status) ? statuses : status]).toEqual([sent, statuses]);
    expect(text).not.toMatch(ownWords);
  }
});

/** Bytes of a request, some of them changed. */
function mutate(random: SeededRandom): Buffer {
  const { method, path, body } = random.pick(requests);
  const run = random.pick(['r', 'r', 'none', 'r@0', '%00', '..']);
  const bytes = Buffer.from(bytesOf({ method, path: path(run), body }), 'latin1');
  const changes = random.integer(4);
  let changed = bytes;
  for (let nth = 0; nth < changes; nth += 1) {
    const at = random.integer(changed.length);
    const length = 1 + random.integer(random.chance(0.3) ? 40 : 3);
    const rest = changed.subarray(at + length);
    const kind = random.integer(4);
    const middle =
      kind === 0
        ? Buffer.alloc(0)
        : kind === 1
          ? Buffer.from(Array.from({ length }, () => random.integer(256)))
          : kind === 2
            ? Buffer.from(
                random.pick(['\r\n', '\0', ':', ' ', '%', '"', '{', '\r\n\r\n', 'ÿ', ',,', '9'.repeat(30)]),
                'latin1',
              )
            : Buffer.concat([changed.subarray(at, at + length), changed.subarray(at, at + length)]);
    changed = Buffer.concat([changed.subarray(0, at), middle, rest]);
  }
  return changed;
}

test('requests with bytes changed at random get an answer or an end, never one of a defect, and the server goes on', async () => {
  const statuses = new Map<number, number>();
  const trial = async (seed: number): Promise<void> => {
    const bytes = mutate(createSeededRandom(seed));
    const { status, text } = await send(bytes);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const name = `seed ${seed}: ${bytes.toString('latin1').slice(0, 200)}`;
    expect([name, status < 500, faults]).toEqual([name, true, []]);
    expect([name, ownWords.exec(text)?.[0]]).toEqual([name, undefined]);
  };
  // Many at once, since what is cut off is answered when its time has run out.
  const remaining = [...seeds(200, 10_000)].toReversed();
  const follow = async (): Promise<void> => {
    for (let seed = remaining.pop(); seed !== undefined; seed = remaining.pop()) await trial(seed);
  };
  await Promise.all(Array.from({ length: 40 }, follow));
  expect(statuses.size).toBeGreaterThan(3);
  expect((await ask({ method: 'GET', path: '/healthz', token: '' })).status).toBe(200);
  expect(faults).toEqual([]);
}, 900_000);
