/** A host over HTTP: who may call it, what a tick and a sweep answer, and which graphs it refuses. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, type Bench } from '../../test/engine-kit.ts';
import type { Graph } from '../graph/graph.ts';
import { fetchHost } from './fetch-host.ts';

const post = (path: string, body?: unknown, headers: Record<string, string> = {}, host = 'localhost'): Request =>
  new Request(`http://${host}/cairn${path}`, {
    method: 'POST',
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });

const asking = (): Graph =>
  graphOf('asking', [node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Yes?' }), {})], edges('> ask', 'ask >'));

async function begin(bench: Bench, graph: Graph): Promise<string> {
  bench.engine.know(graph);
  return (await bench.engine.start(graph, {}, { detach: true })).runId;
}

test('HO4 a tick advances a run and says where it stands, again and again', async () => {
  const bench = createBench();
  const graph = asking();
  const runId = await begin(bench, graph);
  const host = fetchHost({ graphs: [{ graph, engine: bench.engine }], maxMs: 10_000 });
  for (let again = 0; again < 2; again += 1)
    expect(await (await host(post('/tick', { runId }))).json()).toEqual({ status: 'paused', asks: true });
  const [wait] = await bench.engine.waits(runId);
  await bench.engine.answer(runId, wait?.waitId ?? '', 'yes');
  expect(await (await host(post('/sweep'))).json()).toEqual({ runs: [{ runId, status: 'completed' }] });
  expect(await (await host(post('/sweep'))).json()).toEqual({ runs: [] });
});

test('HO3 Retry-After tells when a paused run is due', async () => {
  const bench = createBench();
  const nap = node('nap', 'read', (ctx) => ctx.sleepUntil(ctx.now() + 30_000));
  const graph = graphOf('nap', [nap], edges('> nap', 'nap >'));
  const runId = await begin(bench, graph);
  const host = fetchHost({ graphs: [{ graph, engine: bench.engine }], maxMs: 10_000 });
  const response = await host(post('/tick', { runId }));
  expect(response.headers.get('retry-after')).toBe('30');
});

test('HO7 only who knows the token is answered; without a token, only this machine and no page', async () => {
  const bench = createBench();
  const graphs = [{ graph: asking(), engine: bench.engine }];
  const guarded = fetchHost({ graphs, token: 'secret', maxMs: 10_000 });
  const status = async (host: typeof guarded, request: Request): Promise<number> => (await host(request)).status;
  expect(await status(guarded, post('/sweep', undefined, { authorization: 'Bearer secret' }, 'example.org'))).toBe(200);
  for (const authorization of ['Bearer secreT', 'Bearer', 'secret', ''])
    expect(await status(guarded, post('/sweep', undefined, { authorization }))).toBe(401);
  const open = fetchHost({ graphs, maxMs: 10_000 });
  expect(await status(open, post('/sweep'))).toBe(200);
  expect(await status(open, post('/sweep', undefined, {}, 'example.org'))).toBe(403);
  expect(await status(open, post('/sweep', undefined, { origin: 'http://evil.example' }))).toBe(403);
  expect(await status(open, new Request('http://localhost/sweep'))).toBe(405);
  expect(await status(open, post('/other'))).toBe(404);
  expect(await status(open, post('/tick', { run: 1 }))).toBe(400);
  expect(await status(open, post('/tick', { runId: 'none' }))).toBe(404);
});

test('HO2 a graph whose effect may take longer than the host is refused, with the node and both numbers', () => {
  const { engine } = createBench({ bounds: { effectMs: 600_000 } });
  const graph = (timeoutMs?: number): Graph =>
    graphOf(
      'pays',
      [node('pay', 'external', () => 1, timeoutMs === undefined ? {} : { timeoutMs })],
      edges('> pay', 'pay >'),
    );
  const make = (timeoutMs?: number) => fetchHost({ graphs: [{ graph: graph(timeoutMs), engine }], maxMs: 60_000 });
  expect(() => make()).toThrow(
    expect.objectContaining({ code: 'HOST_TOO_SHORT', data: { node: 'pay', neededMs: 605_000, maxMs: 60_000 } }),
  );
  expect(() => make(60_000)).toThrow(expect.objectContaining({ code: 'HOST_TOO_SHORT' }));
  expect(() => make(10_000)).not.toThrow();
  const quick = createBench({ bounds: { effectMs: 20_000, cancelGraceMs: 1_000 } }).engine;
  expect(() => fetchHost({ graphs: [{ graph: graph(), engine: quick }], maxMs: 60_000 })).not.toThrow();
});

test('HO9 a body is read no further than a run id is long, whatever its headers say', async () => {
  const host = fetchHost({ graphs: [{ graph: asking(), engine: createBench().engine }], maxMs: 1e15 });
  let chunks = 0;
  const body = new ReadableStream({
    pull(controller) {
      chunks += 1;
      controller.enqueue(new Uint8Array(8_192));
    },
  });
  const request = new Request('http://localhost/tick', { method: 'POST', body, duplex: 'half' });
  expect((await host(request)).status).toBe(400);
  expect(chunks).toBeLessThan(10);
});

test('HO4 an engine behind a host resumes nothing by itself', async () => {
  const bench = createBench({ wakes: true });
  const nap = node('nap', 'read', (ctx) => ctx.sleepUntil(ctx.now() + 30_000));
  const graph = graphOf('nap', [nap], edges('> nap', 'nap >'));
  const runId = await begin(bench, graph);
  const host = fetchHost({ graphs: [{ graph, engine: bench.engine }], maxMs: 1e15 });
  await host(post('/tick', { runId }));
  await bench.clock.sleep(60_000);
  expect((await bench.store.readRun({ tenant: 'default', runId }))?.status).toBe('paused');
  expect(await (await host(post('/tick', { runId }))).json()).toEqual({ status: 'completed' });
});
