/**
 * Requests made from the OpenAPI document, random and mutated: each is answered, never with a 5xx or with what a driver said, and what it
 * says fits the document.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApp, type App } from '../../src/app/open-app.ts';
import { errorTable } from '../../src/errors.ts';
import type { JsonSchema } from '../../src/graph/contracts/node-type.ts';
import { bearerTokens, createHandler } from '../../src/http/index.ts';
import { schemaFaults } from '../../src/schema/json-schema.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { within } from '../support/awaited.ts';
import { scale } from '../support/scale.ts';

const token = 'token-of-ann-0123456789';
const scopes = ['read', 'run', 'answer', 'fork', 'admin'] as const;
let cwd = '';
let app: App;
let handler: ReturnType<typeof createHandler>;
const faults: unknown[] = [];

const workflow = `name: ask
inputs: { amount: { type: num, default: 1 } }
blocks:
  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }
  - { id: e, type: EchoBlock, depends_on: [q], inputs: { message: "\${inputs.amount}" } }
outputs: { said: "\${e.echoed}" }
`;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-http-'));
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(join(cwd, 'workflows/ask.yaml'), workflow);
  app = await openApp({ cwd, storeUrl: 'runs.db' });
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes }]);
  handler = createHandler({
    app,
    authorize,
    bodyBytes: 64_000,
    onError: (error) => faults.push(error),
  });
  for (const runId of ['waits', 'ended', 'spare'])
    await send({ method: 'POST', path: '/v1/runs', body: { workflow: 'ask', runId } });
  await send({ method: 'POST', path: '/v1/runs/ended/answer', body: { value: 'yes' } });
});
afterAll(async () => {
  handler.close();
  await app.close();
  rmSync(cwd, { recursive: true, force: true });
});

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function send({ method, path, body, headers = {} }: Sent): Promise<Response> {
  const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD';
  const text = hasBody ? (typeof body === 'string' ? body : JSON.stringify(body)) : undefined;
  const all = {
    authorization: `Bearer ${token}`,
    ...(text !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  };
  return handler(
    new Request(`http://localhost${path}`, { method, headers: all, ...(text !== undefined && { body: text }) }),
  );
}

/** What a person may send where a text is expected. */
const texts = [
  ['waits', 'ended', 'spare', 'ask', 'q', 'e', 'yes', 'waits@0', 'ended@1', 'ended@head', 'none', 'input', 'outputs.e'],
  [
    '',
    ' ',
    '-1',
    '0',
    '@',
    'waits@',
    '@1',
    'waits@-1',
    'waits@1.5',
    'waits@1e9',
    `waits@${'9'.repeat(40)}`,
    '1'.repeat(5000),
  ],
  [
    '..',
    '../../etc/passwd',
    '/',
    '\\',
    '%',
    '%00',
    '\0',
    'a\0b',
    '\n',
    '\u{2028}',
    '\u{202e}',
    '\u{d800}',
    '🪨',
    'é',
    'e\u{301}',
  ],
  [
    "'; drop table runs --",
    '" or 1=1',
    '{{ secrets.x }}',
    '${inputs.amount}',
    '${',
    '<script>',
    '__proto__',
    'constructor',
    'toString',
  ],
  [
    'true',
    'null',
    '{}',
    '[',
    '1970-01-01',
    '2099-13-45',
    'yesterday',
    'PT1H',
    'failures.size() > 0',
    '((((',
    'a.b.c[0]',
    "input['x']",
    '*',
  ],
  [
    'paused',
    'failed',
    'queued',
    'user:ann',
    ':',
    'user:',
    'name: x\nblocks: []',
    workflow,
    `blocks: ${'['.repeat(3000)}`,
  ],
].flat();

const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const values = JSON.parse(`[
  null, true, false, 0, -1, 1.5, 1e308, 9007199254740991, [], {}, [null], [[]], ["a", "a"], {"a": 1}, {"length": 3}, {"then": "x"},
  {"toJSON": 1}, {"$ref": "#"}, {"type": "undefined"}, {"q": "yes"}, {"amount": "x"}, {"__proto__": {"x": 1}, "constructor": {"prototype": 1}}
]`) as readonly unknown[];

interface Schema extends JsonSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
}
interface Described {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly schema: { readonly properties: Record<string, Schema>; readonly required: readonly string[] };
      };
    };
  };
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: JsonSchema }> }>;
}

/** A value that mostly fits the schema. */
function valueFor(random: SeededRandom, schema: Schema): unknown {
  if (random.chance(0.2)) return random.chance(0.5) ? random.pick(values) : random.pick(texts);
  if (schema.enum !== undefined) return random.pick(schema.enum);
  if (schema.type === 'integer') return random.integer(random.chance(0.5) ? 5 : 2 ** 31);
  if (schema.type === 'boolean') return random.chance(0.5);
  if (schema.type === 'array') return Array.from({ length: random.integer(3) }, () => random.pick(texts));
  if (schema.type === 'object') return { [random.pick(texts)]: random.pick(values) };
  if (schema.type === 'string') return random.pick(texts);
  return random.chance(0.5) ? random.pick(values) : random.pick(texts);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

/** A request of a route, some of its parts replaced by what nobody should send. */
function requestFor(random: SeededRandom, template: string, method: string, of: Described): Sent {
  let path = `/v1${template}`;
  const query: string[] = [];
  for (const { name, in: place, required, schema } of of.parameters ?? []) {
    const text = textOf(valueFor(random, schema));
    if (place === 'path')
      path = path.replace(`{${name}}`, () =>
        random.chance(0.7) ? random.pick(['waits', 'ended', 'waits@1']) : encode(text),
      );
    else if (required ? random.chance(0.9) : random.chance(0.4)) query.push(`${name}=${encode(text)}`);
  }
  if (random.chance(0.05)) query.push(`${encode(random.pick(texts))}=${encode(random.pick(texts))}`, '&&=', '%zz');
  if (random.chance(0.03)) path = path.replace('/v1', random.pick(['//v1', '/v1/', '/V1', '/v1/%2e%2e/v1', '/v1/%ff']));
  const schema = of.requestBody?.content['application/json'].schema;
  let body: unknown;
  if (schema !== undefined) {
    const names = Object.keys(schema.properties).filter((name) =>
      schema.required.includes(name) ? random.chance(0.9) : random.chance(0.4),
    );
    body = Object.fromEntries(names.map((name) => [name, valueFor(random, schema.properties[name] as Schema)]));
    if (random.chance(0.05)) body = random.pick(values);
    if (random.chance(0.05))
      body = random.pick(['', '{', '{"a":', '\u{feff}{}', deep(20_000), 'x'.repeat(70_000), '{"run":1,"run":2}']);
  }
  const headers: Record<string, string> = {};
  if (random.chance(0.1))
    headers['content-type'] = random.pick([
      'text/plain',
      'application/json; charset=utf-16',
      'x',
      'multipart/form-data',
    ]);
  if (random.chance(0.1)) headers['if-match'] = random.pick(['*', '"x"', 'W/"', '""', 'x'.repeat(2000)]);
  if (random.chance(0.1)) headers['last-event-id'] = random.pick(['1', '1.ab', '-1.00', 'x', '9'.repeat(50)]);
  if (random.chance(0.1)) headers['prefer'] = random.pick(['wait=0', 'wait', 'wait=-1', 'respond-async', 'wait=wait=']);
  return {
    method: random.chance(0.03) ? random.pick(['PUT', 'PATCH', 'HEAD', 'GET', 'POST', 'DELETE']) : method,
    path,
    body,
    headers,
  };
}

/** What only the server's side may know: drivers, statements, places in the sources, folders of the machine. */
const ownWords =
  /sqlite|SQLITE_|constraint|node:internal|\bat \w+.*\.[cm]?[jt]s:\d|TypeError|RangeError|Cannot read prop|is not a function|Maximum call/i;

interface Asked extends Sent {
  readonly template: string;
  readonly of: Described;
  /** Whether method and path are those of the route. */
  readonly isItself: boolean;
}

/** What is wrong with an answer, in words; undefined if nothing is. */
async function faultOf({ method, body, of, isItself }: Asked, response: Response): Promise<unknown> {
  const { status } = response;
  if (faults.length > 0) return faults;
  if (status >= 500) return `status ${status}`;
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return undefined;
  }
  const text = await response.text();
  if (method === 'HEAD' || status === 204) return undefined;
  if (text.includes(cwd)) return `it names a folder of the server: ${text}`;
  const answer = JSON.parse(text) as Record<string, unknown>;
  if (status >= 400) {
    const { code, title } = answer;
    if (type !== 'application/problem+json') return type;
    if (code !== undefined && !(typeof code === 'string' && Object.hasOwn(errorTable, code)))
      return `no code of the table: ${text}`;
    return ownWords.test(String(title).replaceAll(textOf(body), '')) ? text : undefined;
  }
  const schema = of.responses[String(status)]?.content?.['application/json']?.schema;
  const misfits = isItself && schema !== undefined ? schemaFaults(schema, answer, 'answer') : [];
  return misfits.length > 0 ? misfits : undefined;
}

test('each answer to random requests fits the OpenAPI document, and none is a defect of the server', async () => {
  const document = (await (await send({ method: 'GET', path: '/v1/openapi.json' })).json()) as {
    readonly paths: Record<string, Record<string, Described>>;
  };
  const routes = Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, of]) => ({ template, method: method.toUpperCase(), of })),
  );
  const statuses = new Map<number, number>();
  const count = scale(500, 50_000);
  for (let seed = 1; seed <= count; seed += 1) {
    const { template, method, of } = routes[seed % routes.length] as (typeof routes)[number];
    const sent = requestFor(createSeededRandom(seed), template, method, of);
    const said = [sent.path, JSON.stringify(sent.body), JSON.stringify(sent.headers)].map((text) =>
      text?.slice(0, 300),
    );
    const name = `seed ${seed}: ${sent.method} ${said.join(' ')}`;
    const response = await within(name, send(sent));
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    const isPlain = new URL(sent.path, 'http://localhost').pathname === sent.path.split('?', 1)[0];
    const fault = await faultOf({ ...sent, template, of, isItself: isPlain && sent.method === method }, response);
    expect([name, fault]).toEqual([name, undefined]);
  }
  // Requests that all fail at the door would prove little.
  expect(statuses.get(200) ?? 0).toBeGreaterThan(count / 6);
  expect([400, 404].every((status) => (statuses.get(status) ?? 0) > count / 50)).toBe(true);
}, 900_000);
