/** Requests that are sent again under their key (D47), and what every refusal has in common (D46). */
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, END, humanNode, START } from '../index.ts';
import { errorTable } from '../error-table.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { bearerTokens, createHandler } from './index.ts';
import { hintOverHttp } from './hints.ts';
import { CairnError, type ErrorCode } from '../errors.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Answer = readonly [status: number, body: Readonly<Record<string, unknown>>];

/** @param advance - who goes on with runs */
function serve(
  advance: 'here' | 'elsewhere' = 'elsewhere',
): (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer> {
  const graph = new AgentGraph({}, { id: 'cart' })
    .addNode('wait', (ctx) => ctx.receive('item'))
    .addEdge(START, 'wait')
    .addEdge('wait', END)
    .compile({ store: createMemoryStore() });
  const schema = {
    type: 'object',
    properties: { mail: { type: 'string' }, 'a/b': { type: 'string' } },
    required: ['mail'],
    additionalProperties: false,
  };
  const claim = new AgentGraph({ input: z.object({ price: z.number(), parts: z.array(z.string()) }) }, { id: 'claim' })
    .addNode('ask', humanNode({ prompt: 'What?', schema }))
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile({ engine: graph.engine });
  const all = ['read', 'run', 'answer'] as const;
  const handler = createHandler({
    graphs: [graph, claim],
    advance,
    origins: ['https://pages.example.org'],
    bodyBytes: 1_000,
    callerStreams: 0,
    authorize: bearerTokens([
      { token: 'token-of-ann-0123456789', principal: 'ann', kind: 'person', scopes: all },
      { token: 'token-of-bob-0123456789', principal: 'bob', kind: 'person', scopes: all },
      { token: 'token-of-eve-0123456789', principal: 'eve', kind: 'person', scopes: [] },
    ]),
  });
  closing.push(
    () => handler.close(),
    () => graph.close(),
  );
  return async (path, body, headers = {}) => {
    const own = { authorization: 'Bearer token-of-ann-0123456789', 'content-type': 'application/json', ...headers };
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await handler(new Request(`http://localhost${path}`, { headers: own, ...sent }));
    return [response.status, (await response.json()) as Answer[1]];
  };
}

test('D47 a start that is sent again under its key is the same run, of that caller alone; another input is 409', async () => {
  const send = serve();
  const start = (input: unknown, key: string, more = {}): Promise<Answer> =>
    send('/v1/runs', { workflow: 'cart', input }, { 'idempotency-key': key, ...more });
  const [status, first] = await start({ n: 1 }, 'order-7');
  expect([status, first['isNew']]).toEqual([201, true]);
  expect(await start({ n: 1 }, 'order-7')).toMatchObject([200, { runId: first['runId'], isNew: false }]);
  // In quotation marks it is the same key.
  expect(await start({ n: 1 }, '"order-7"')).toMatchObject([200, { runId: first['runId'] }]);
  expect(await start({ n: 2 }, 'order-7')).toMatchObject([409, { code: 'RUN_EXISTS' }]);
  const [, other] = await start({ n: 1 }, 'order-8');
  const [, ofBob] = await start({ n: 2 }, 'order-7', { authorization: 'Bearer token-of-bob-0123456789' });
  expect(new Set([first['runId'], other['runId'], ofBob['runId']]).size).toBe(3);
  const [, { runs }] = await send('/v1/runs');
  expect(runs).toHaveLength(3);
});

test('D47 a signal that is sent again under its key is one signal, and another one under it is 409 and not sent', async () => {
  const send = serve();
  await send('/v1/runs', { workflow: 'cart', runId: 'r' });
  const signal = (value: unknown, name = 'item'): Promise<Answer> =>
    send('/v1/runs/r/signals', { name, value }, { 'idempotency-key': 'k' });
  expect((await signal('apple'))[0]).toBe(200);
  expect((await signal('apple'))[0]).toBe(200);
  expect(await signal('pear')).toMatchObject([409, { code: 'SIGNAL_EXISTS', status: 409 }]);
  expect(await signal('apple', 'other')).toMatchObject([409, { code: 'SIGNAL_EXISTS' }]);
  const both = { name: 'item', value: 1, id: 'x' };
  expect(await send('/v1/runs/r/signals', both, { 'idempotency-key': 'k' })).toMatchObject([
    400,
    { code: 'USAGE_INVALID' },
  ]);
  const first = { workflow: 'cart', runId: 'new', name: 'item' };
  const begin = (value: unknown): Promise<Answer> =>
    send('/v1/signal-with-start', { ...first, value }, { 'idempotency-key': 'k' });
  expect(await begin(1)).toMatchObject([200, { isNew: true }]);
  expect(await begin(1)).toMatchObject([200, { isNew: false }]);
  expect(await begin(2)).toMatchObject([409, { code: 'SIGNAL_EXISTS' }]);
});

test('D47 a key that is none is refused, and nothing is started', async () => {
  const send = serve();
  for (const key of ['', 'a b', 'x'.repeat(256), '"'])
    expect(await send('/v1/runs', { workflow: 'cart' }, { 'idempotency-key': key })).toMatchObject([
      400,
      { code: 'REQUEST_MALFORMED' },
    ]);
  expect((await send('/v1/runs'))[1]['runs']).toEqual([]);
});

test('D46 each refusal of the transport has a code of the table and says for HTTP what to do', async () => {
  const send = serve();
  const refused: readonly (readonly [ErrorCode, number, Answer])[] = [
    ['TOKEN_NEEDED', 401, await send('/v1/runs', undefined, { authorization: '' })],
    ['SCOPE_NEEDED', 403, await send('/v1/runs', undefined, { authorization: 'Bearer token-of-eve-0123456789' })],
    ['ORIGIN_REFUSED', 403, await send('/v1/runs', undefined, { origin: 'https://evil.example' })],
    ['ROUTE_NOT_FOUND', 404, await send('/v1/nothing')],
    ['METHOD_NOT_SERVED', 405, await send('/v1/waits', {})],
    ['BODY_TOO_LARGE', 413, await send('/v1/runs', { workflow: 'cart', input: 'x'.repeat(2_000) })],
    ['MEDIA_TYPE_UNKNOWN', 415, await send('/v1/runs', {}, { 'content-type': 'text/plain' })],
    ['REQUESTS_TOO_MANY', 429, await send('/v1/events')],
    ['RUN_NOT_FOUND', 404, await send('/v1/runs/none')],
    ['USAGE_INVALID', 400, await send('/v1/runs', { none: 1 })],
  ];
  for (const [code, status, answer] of refused) {
    const { retry } = errorTable[code];
    expect(answer).toEqual([
      status,
      {
        type: `urn:cairn:error:${code}`,
        code,
        status,
        retry,
        title: expect.any(String) as string,
        hint: expect.any(String) as string,
        ...(code === 'USAGE_INVALID' && { errors: [{ pointer: '/none', detail: 'there is no field none' }] }),
      },
    ]);
    expect(answer[1]['hint']).not.toMatch(/cairn [a-z]|--[a-z]|--help/);
  }
});

test('D46 all that is wrong with a request is told at once, each with a pointer to its field', async () => {
  const send = serve('here');
  const wrong = await send('/v1/runs', { workflow: 'claim', runId: 7, label: 'x' });
  expect(wrong).toMatchObject([400, { code: 'USAGE_INVALID' }]);
  expect(pointersOf(wrong)).toEqual(['/runId', '/label']);
  expect(await send('/v1/runs?limit=1001')).toMatchObject([
    400,
    { title: expect.stringContaining('limit is from 1 to 1000') as string },
  ]);
  expect(await send('/v1/runs?limit=1000')).toMatchObject([200, {}]);
  // Of an input, by its schema.
  const input = await send('/v1/runs', { workflow: 'claim', input: { price: 'much', parts: [1] } });
  expect(input).toMatchObject([400, { code: 'INPUT_INVALID' }]);
  expect(pointersOf(input)).toEqual(['/input/price', '/input/parts/0']);
  // Of an answer, by the schema of its question.
  const [, { runId }] = await send(
    '/v1/runs',
    { workflow: 'claim', input: { price: 1, parts: [] } },
    { prefer: 'wait=30' },
  );
  const answer = await send(`/v1/runs/${String(runId)}/answer`, { value: { 'a/b': 5, more: 1 } });
  expect(answer).toMatchObject([422, { code: 'ANSWER_INVALID' }]);
  expect(answer[1]['errors']).toEqual([
    { pointer: '/value/mail', detail: 'is missing' },
    { pointer: '/value/a~1b', detail: 'is integer, not string' },
    { pointer: '/value/more', detail: 'is not expected' },
  ]);
});

const pointersOf = ([, { errors }]: Answer): readonly string[] =>
  (errors as readonly { readonly pointer: string }[]).map(({ pointer }) => pointer);

test('D46 no hint of the table names a command or an option to who calls over HTTP', () => {
  for (const [code, { http }] of Object.entries(errorTable)) {
    if (http >= 500) continue;
    for (const data of [{}, { command: 'cairn answer r', known: 'a' }]) {
      const { hint } = new CairnError(code as ErrorCode, data);
      const { hint: said } = hintOverHttp(code as ErrorCode, hint);
      expect([code, said]).toEqual([code, expect.stringMatching(/^[A-Z`]/)]);
      expect(said).not.toMatch(/\bcairn [a-z]|(^|\s)--[a-z]|command/);
    }
  }
  expect(hintOverHttp('RUN_HELD', 'Held runs: cairn ls --status held')).toEqual({
    hint: expect.stringContaining('admin') as string,
  });
  expect(hintOverHttp('NODE_FAILED', 'Run: cairn x')).toEqual({});
});
