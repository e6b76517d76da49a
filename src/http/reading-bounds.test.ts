/** What one request may read, who comes in between, and that no caller takes another's place. */
import { afterEach, expect, test } from 'vitest';
import type { CairnError } from '../errors.ts';
import { boundReading } from '../history/stored/pace.ts';
import { AgentGraph, END, outcome, START } from '../index.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { z } from 'zod';
import { bearerTokens, createHandler, type Handler } from './index.ts';

const numbers = '[1,2,3,4,5,6,7,8,9,10]';
/** True, and so costly that it takes the most that one evaluation may. */
const costly = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].reduce((inner, name) => `${numbers}.all(${name}, ${inner})`, 'true');
const when = `scratch.n > 99999 || !(${costly})`;
const visits = 40;
const tokenOf = (who: string): string => `token-of-${who}-0123456789`;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A run of many visits, each of which changes what conditions read, and how often checkpoints were read. */
async function longRun() {
  let pages = 0;
  const memory = createMemoryStore();
  const store = new Proxy(memory, {
    get(target, name) {
      if (name === 'readCheckpoints') pages += 1;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const graph = new AgentGraph({ scratch: z.object({ n: z.number().default(0) }) }, { id: 'loop' })
    .addNode('a', ({ state }) => outcome({ scratch: { n: state.scratch.n + 1 } }), {
      maxVisits: visits + 1,
      effectClass: 'write',
    })
    .addEdge(START, 'a')
    .addConditionalEdge('a', ({ state }) => (state.scratch.n < visits ? 'again' : 'end'), { again: 'a', end: END })
    .compile({ store });
  await graph.invoke({ topic: 'x' }, { runId: 'loop1' });
  const callers = ['ann', 'ro'].map(
    (principal) => ({ token: tokenOf(principal), principal, kind: 'person', scopes: ['read', 'admin'] }) as const,
  );
  const handler = createHandler({ graphs: [graph], authorize: bearerTokens(callers) });
  closing.push(
    () => handler.close(),
    () => graph.close(),
  );
  return { graph, handler, pagesRead: () => pages };
}

const ask = (handler: Handler, who: string, path: string, signal?: AbortSignal): Promise<Response> =>
  handler(
    new Request(`http://localhost${path}`, {
      headers: { authorization: `Bearer ${tokenOf(who)}` },
      ...(signal && { signal }),
    }),
  );

/** How often the event loop turns until something is over. */
async function turnsUntil(over: Promise<unknown>): Promise<number> {
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    timer = setImmediate(turn);
  };
  let timer = setImmediate(turn);
  await over;
  clearImmediate(timer);
  return turns;
}

const bisecting = `/v1/runs/loop1/checkpoints/head/bisect?when=${encodeURIComponent(when)}`;

test('P8 a search that costs much at each checkpoint lets everybody else in between them', async () => {
  const { handler } = await longRun();
  const searched = ask(handler, 'ro', bisecting);
  const turns = await turnsUntil(searched);
  const { status, ...rest } = await searched.then(async (response) => ({
    status: response.status,
    ...((await response.json()) as { code?: string; evaluated?: number }),
  }));
  // A slow machine comes to its bound after a few checkpoints, and a fast one asks at several in a slice: without slices there is a turn or two.
  expect([200, 413]).toContain(status);
  expect(rest.code ?? 'READ_TOO_COSTLY').toBe('READ_TOO_COSTLY');
  expect(turns).toBeGreaterThan(4);
});

test('P8 a search ends when its caller is gone', async () => {
  const { handler, pagesRead } = await longRun();
  const leaving = new AbortController();
  const searched = ask(handler, 'ro', bisecting, leaving.signal);
  const before = pagesRead();
  while (pagesRead() === before) await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  const turns = await turnsUntil(searched);
  const text = await (await searched).text();
  expect(text).toContain('READ_TOO_COSTLY');
  expect(text).toContain('gone');
  expect(turns).toBeLessThan(10);
});

test('P8 whatever reads a history counts the checkpoints that it reads, and ends at its bound', async () => {
  const { graph, handler } = await longRun();
  const { history } = graph;
  const head = { runId: 'loop1' };
  const drain = async (pieces: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of pieces);
  };
  const readings: Readonly<Record<string, () => Promise<unknown>>> = {
    bisect: () => history.bisect(head, 'scratch.n > 39'),
    blame: () => history.blame(head, 'input.topic'),
    diff: () => history.diff({ runId: 'loop1', seq: 1 }, { runId: 'loop1', seq: 39 }),
    postMortem: () => history.postMortem(head),
    verify: () => history.verify(head),
    export: () => drain(history.export(head)),
    masked: () => drain(history.export(head, { masked: true })),
    log: () => drain(history.log(head)),
  };
  for (const [name, read] of Object.entries(readings)) {
    const reached = await boundReading({ rows: 10 }, read).then(
      () => 'read all',
      (error: unknown) => (error as CairnError).code,
    );
    expect([name, reached]).toEqual([name, 'READ_TOO_COSTLY']);
    expect([name, await boundReading({}, read).then(() => 'read', String)]).toEqual([name, 'read']);
  }
  expect((await ask(handler, 'ann', '/v1/runs/loop1/checkpoints/head/story')).status).toBe(200);
});

test('P8 one caller takes a quarter of the streams, and the others have the rest', async () => {
  const { handler } = await longRun();
  const statuses: number[] = [];
  const open: Response[] = [];
  for (let index = 0; index < 40; index += 1) {
    const response = await ask(handler, 'ro', '/v1/events');
    statuses.push(response.status);
    open.push(response);
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(25);
  const other = await ask(handler, 'ann', '/v1/events');
  expect(other.status).toBe(200);
  await open[0]!.body!.cancel();
  expect((await ask(handler, 'ro', '/v1/events')).status).toBe(200);
  await other.body!.cancel();
});
