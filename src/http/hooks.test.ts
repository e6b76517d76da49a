/** Deliveries of other systems: verified over their raw bytes, taken once, and answered when they are durable (WH6). */
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HookAction, HookDelivery } from '../app/webhooks/hook.ts';
import { AgentGraph, createMemoryStore, END, START } from '../index.ts';
import type { CompiledGraph } from '../dialects/code/compiled-graph.ts';
import { createHandler, type Handler } from './handler.ts';

const secret = 'from the provider';
const sign = (body: string): string => createHmac('sha256', secret).update(body).digest('hex');

let handler: Handler;
let taken: HookAction | undefined;
let seen: HookDelivery[] = [];
let order: CompiledGraph;

beforeEach(() => {
  seen = [];
  order = new AgentGraph({}, { id: 'order' })
    .addNode('paid', (ctx) => ctx.receive('paid'), { effectClass: 'read' })
    .addEdge(START, 'paid')
    .addEdge('paid', END)
    .compile({ store: createMemoryStore() });
  handler = createHandler({
    graphs: [order],
    authorize: () => undefined,
    bodyBytes: 1000,
    hooks: {
      pay: {
        verify: ({ body, headers, now }) => {
          if (headers.get('x-broken') !== null) throw new Error('no');
          const isYoung = Math.abs(now / 1000 - Number(headers.get('x-at') ?? now / 1000)) < 300;
          return isYoung && headers.get('x-signature') === sign(Buffer.from(body).toString('latin1'));
        },
        take: (delivery) => {
          seen.push(delivery);
          return taken;
        },
      },
    },
  });
});
afterEach(async () => {
  handler.close();
  await order.close();
});

const deliver = (body: string, headers: Readonly<Record<string, string>> = {}, at = 'pay'): Promise<Response> =>
  handler(
    new Request(`http://localhost/v1/hooks/${at}`, {
      method: 'POST',
      headers: { 'x-signature': sign(Buffer.from(body).toString('latin1')), ...headers },
      body,
    }),
  );

test('WH6.1 a delivery that is not verified does nothing, and is told nothing', async () => {
  const refused = [
    await deliver('{}', { 'x-signature': '00' }),
    await deliver('{}', { 'x-broken': 'yes' }),
    await deliver('{}', { 'x-at': '1' }),
  ];
  for (const response of refused) {
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: 'DELIVERY_UNVERIFIED', title: 'the delivery is not verified' });
  }
  expect(seen).toEqual([]);
});

test('WH6.1 a name that no hook has, another method, and a longer body are refused before anything is asked', async () => {
  const statuses = [
    (await deliver('{}', {}, 'toString')).status,
    (await deliver('{}', {}, 'pay/more')).status,
    (await handler(new Request('http://localhost/v1/hooks/pay'))).status,
    (await deliver('x'.repeat(1001))).status,
  ];
  expect(statuses).toEqual([401, 401, 401, 413]);
  expect(seen).toEqual([]);
});

test('WH6.1 the bytes are those that came, whatever their encoding is said to be', async () => {
  taken = undefined;
  const response = await deliver('{"a": "é"}');
  expect([response.status, seen[0]?.text, seen[0]?.body.byteLength]).toEqual([204, '{"a": "é"}', 11]);
});

test('WH6.2 a delivery starts a run under its id, and comes twice without harm', async () => {
  taken = { start: 'order', runId: 'evt_1', input: { amount: 40 }, labels: { by: 'pay' } };
  const [first, second] = [await deliver('{}'), await deliver('{}')];
  expect([first.status, await first.json(), second.status]).toEqual([200, { runId: 'evt_1' }, 200]);
  const history = order.history;
  expect((await history.find('evt_1')).labels).toEqual({ by: 'pay' });
  expect((await history.log('evt_1').next()).value).toMatchObject({ runId: 'evt_1' });
  taken = { start: 'order', runId: 'evt_1', input: { amount: 41 } };
  expect((await deliver('{}')).status).toBe(409);
});

test('WH6.2 a delivery signals a run under its id, and starts it where it says so', async () => {
  taken = { signal: 'paid', runId: 'A-1', id: 'evt_2', value: 40, start: 'order', input: {} };
  expect((await deliver('{}')).status).toBe(200);
  const done = await order.resume('A-1');
  expect([done.status, done.state.outputs]).toEqual(['completed', { paid: 40 }]);
  await order.start({}, { runId: 'A-2' });
  taken = { signal: 'paid', runId: 'A-2', id: 'evt_3', value: 41 };
  expect(
    [(await deliver('{}')).status, (await deliver('{}')).status].every((status) => status === 200 || status === 409),
  ).toBe(true);
  taken = { signal: 'paid', runId: 'A-3', id: 'evt_4' };
  expect((await deliver('{}')).status).toBe(404);
});

test('WH6.2 a delivery is taken under an id or not at all', async () => {
  taken = { start: 'order', runId: '' };
  expect((await deliver('{}')).status).toBeGreaterThanOrEqual(400);
  taken = { reply: 'challenge' };
  expect(await (await deliver('{}')).text()).toBe('challenge');
});

test('WH6.1 a server that changes nothing has no hooks, and what is no hook is refused when it begins', async () => {
  const options = { graphs: [order], authorize: () => undefined };
  const hooks = { pay: { verify: () => true, take: () => undefined } };
  const reading = createHandler({ ...options, readOnly: true, hooks });
  expect((await reading(new Request('http://localhost/v1/hooks/pay', { method: 'POST' }))).status).toBe(401);
  reading.close();
  expect(() => createHandler({ ...options, hooks: { 'a b': hooks.pay } })).toThrow('no part of an address');
  expect(() => createHandler({ ...options, hooks: { pay: { verify: () => true } as never } })).toThrow(
    'no verify and take',
  );
});

test('WH6.1 the hooks of a server are in its OpenAPI document, without a token, and nowhere else', async () => {
  const authorize = () => ({ principal: 'ann', kind: 'person', scopes: ['read'] }) as const;
  const read = async (of: Handler): Promise<Readonly<Record<string, unknown>>> =>
    ((await (await of(new Request('http://localhost/v1/openapi.json'))).json()) as { paths: Record<string, unknown> })
      .paths;
  const verify = () => true;
  const take = () => undefined;
  const served = createHandler({
    graphs: [order],
    authorize,
    hooks: { pay: { verify, take }, ship: { verify, take } },
  });
  const bare = createHandler({ graphs: [order], authorize });
  expect((await read(served))['/hooks/{hook}']).toMatchObject({
    post: { security: [], parameters: [{ name: 'hook', schema: { enum: ['pay', 'ship'] } }] },
  });
  expect((await read(bare))['/hooks/{hook}']).toBeUndefined();
  served.close();
  bare.close();
});

test.each([
  [{ start: 'order' }, 'runId'],
  [{ start: 'order', runId: '' }, 'runId'],
  [{ signal: 'paid', runId: 'o-1' }, 'id'],
  [{ signal: 'paid', runId: 'o-1', id: 7, start: 'order' }, 'id'],
])(
  'WH6.2 a delivery without its ids starts and signals nothing, however often it comes: %j',
  async (action, missing) => {
    taken = action as unknown as HookAction;
    const answers = [await deliver('{}'), await deliver('{}')];
    for (const answer of answers)
      expect([answer.status, ((await answer.json()) as { code: string; title: string }).title]).toEqual([
        expect.any(Number),
        expect.stringContaining(`has no ${missing}`),
      ]);
    expect(answers.map(({ ok }) => ok)).toEqual([false, false]);
    const runs = [];
    for await (const run of order.history.list()) runs.push(run);
    expect(runs).toEqual([]);
  },
);
