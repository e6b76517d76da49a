/** How runs and checkpoints are named over HTTP. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../test/engine-kit.ts';
import { createDefaultEngine } from '../app/default-engine.ts';
import { createSystemIds } from '../app/process/process-ids.ts';
import { bearerTokens, createHandler } from './index.ts';

test('H1 a run is named whole, and a checkpoint by its run and seq, whatever the ids of older runs are', async () => {
  const { engine, store } = createBench();
  const graph = graphOf('g', [node('a', 'read', (ctx) => ctx.ask({ prompt: '?' }))], edges('> a', 'a >'));
  for (const runId of ['victim', 'lone-1']) await runToRest(engine, graph, {}, runId);
  const ids = { ...createSystemIds(), createRunId: () => 'victim@2' };
  const older = createDefaultEngine({ store, ids });
  await older.start(graph, {}, { detach: true });
  const token = 'token-of-ann-0123456789';
  const ann = { token, principal: 'ann', kind: 'person', scopes: ['read', 'run', 'answer', 'fork'] } as const;
  const handler = createHandler({ graphs: [{ graph, engine }], authorize: bearerTokens([ann]) });
  const call = async (path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
    const response = await handler(new Request(`http://localhost/v1${path}`, request));
    return { ...((await response.json()) as object), status: response.status };
  };
  expect(await call('/runs', { workflow: 'g', runId: 'victim@head' })).toMatchObject({ code: 'ID_INVALID' });
  // The text alone could mean both; the address cannot.
  expect(await call('/checkpoints/victim@2')).toMatchObject({ code: 'CHECKPOINT_AMBIGUOUS' });
  const places = [
    { runId: 'victim', seq: 2 },
    { runId: 'victim@2', seq: 0 },
  ];
  for (const place of places)
    for (const part of ['', '/progress', '/story'])
      expect(await call(`/runs/${encodeURIComponent(place.runId)}/checkpoints/${place.seq}${part}`)).toMatchObject(
        place,
      );
  expect(await call('/runs/victim/checkpoints/head')).toMatchObject({ runId: 'victim', seq: 2 });
  expect(await call('/runs/victim%402')).toMatchObject({ runId: 'victim@2' });
  const reads = ['/runs/lone', '/runs/lone/events', '/checkpoints/lone', '/runs/lone/checkpoints/1', '/diff?a=lone&b=lone']; // prettier-ignore
  for (const path of reads) expect([path, (await call(path)).status]).toEqual([path, 404]);
  const writes = [
    ['/runs/lone/answer', { value: 'y' }],
    ['/runs/lone/cancel', {}],
    ['/checkpoints/lone/forks', {}],
  ] as const;
  for (const [path, body] of writes) expect([path, (await call(path, body)).status]).toEqual([path, 404]);
  await older.close();
});
