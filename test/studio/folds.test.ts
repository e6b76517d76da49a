/** What a page puts together of streams and pages is what a page sees that is loaded cold. */
import { describe, expect, test } from 'vitest';
import { AgentGraph, END, START } from '../../src/index.ts';
import { bearerTokens, createHandler } from '../../src/http/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { listRuns } from '../../src/operations/runs/list-runs.ts';
import { readEvents, takeEvent } from '../../studio/data/events.ts';
import { takeNewest, takeOlder, type Listing, type RunPage } from '../../studio/data/listing.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { seeds } from '../support/scale.ts';

describe('P6 after any stream a page equals the page loaded cold at that cursor', () => {
  test.each(seeds(20, 200))('a run that is followed over breaks, seed %i', async (seed) => {
    const random = createSeededRandom(seed);
    const steps = 1 + random.integer(30);
    const turns = Array.from({ length: steps }, () => Promise.withResolvers<void>());
    const graph = new AgentGraph({}, { id: 'steps', checkpointPolicy: 'every_node' })
      .addNode('step', async ({ visit }) => {
        await turns[visit - 1]?.promise;
        return visit;
      })
      .addEdge(START, 'step')
      .addConditionalEdge('step', ({ state }) => (Number(state.outputs['step']) < steps ? 'more' : 'end'), {
        more: 'step',
        end: END,
      })
      .compile({ store: createMemoryStore() });
    const token = 'a-token-of-this-test-alone';
    const handler = createHandler({
      graphs: [graph],
      authorize: bearerTokens([{ token, principal: 'p', kind: 'person', scopes: ['read'] }]),
    });
    const get = (path: string, signal?: AbortSignal): Promise<Response> =>
      handler(
        new Request(`http://localhost/v1${path}`, {
          headers: { authorization: `Bearer ${token}` },
          ...(signal !== undefined && { signal }),
        }),
      );
    const done = graph.invoke({}, { runId: 'r' });
    let head = 0;
    let opened = 0;
    for (let isOver = false; !isOver;) {
      const leaving = new AbortController();
      const response = await get(`/runs/r/events?after=${head}`, leaving.signal);
      if (response.status === 204 || response.body === null) break;
      turns[opened]?.resolve();
      opened += 1;
      let left = 1 + random.integer(4);
      for await (const event of readEvents(cut(response.body, random))) {
        const before = head;
        const heard = takeEvent(head, event);
        ({ head } = heard);
        expect(head).toBeGreaterThanOrEqual(before);
        isOver = heard.state === 'ended';
        turns[opened]?.resolve();
        opened += 1;
        left -= 1;
        if (isOver || left === 0) break;
      }
      leaving.abort();
    }
    await done;
    const cold = (await (await get('/runs/r')).json()) as { readonly seq: number };
    expect(head).toBe(cold.seq);
    handler.close();
    await graph.close();
  });

  test.each(seeds(20, 200))('a list of runs that are started while it is scrolled, seed %i', async (seed) => {
    const random = createSeededRandom(seed);
    const store = createMemoryStore();
    const graph = new AgentGraph({}, { id: 'g' })
      .addNode('a', () => 1)
      .addEdge(START, 'a')
      .compile({ store });
    const context = { store, tenant: 'default', isWorkerDead: () => undefined, now: () => Date.now() };
    const page = async (limit: number, cursor?: string): Promise<RunPage> =>
      listRuns.run(context, { limit, ...(cursor !== undefined && { cursor }) });
    let started = 0;
    const start = async (): Promise<void> => {
      await graph.invoke({}, { runId: `r${started}` });
      started += 1;
    };
    for (let run = random.integer(40); run > 0; run -= 1) await start();
    const size = 3 + random.integer(8);
    let listing: Listing | undefined;
    for (let turn = 0; turn < 30; turn += 1) {
      const what = random.integer(3);
      if (what === 0) await start();
      else if (what === 1 || listing === undefined) listing = takeNewest(listing, await page(size));
      else if (listing.cursor !== undefined) listing = takeOlder(listing, await page(2 * size, listing.cursor));
    }
    listing = takeNewest(listing, await page(size));
    const cold = (await page(1_000)).runs.map(({ runId }) => runId);
    const live = listing.runs.map(({ runId }) => runId);
    expect(live).toEqual(cold.slice(0, live.length));
    expect(listing.cursor === undefined).toBe(live.length === cold.length);
    while (listing.cursor !== undefined) listing = takeOlder(listing, await page(size, listing.cursor));
    expect(listing.runs.map(({ runId }) => runId)).toEqual(cold);
    await graph.close();
  });
});

/** The same bytes in other pieces. */
async function* cut(body: AsyncIterable<Uint8Array>, random: SeededRandom): AsyncGenerator<Uint8Array> {
  for await (const piece of body)
    for (let at = 0; at < piece.length;) {
      const size = 1 + random.integer(piece.length);
      yield piece.slice(at, at + size);
      at += size;
    }
}
