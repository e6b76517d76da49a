/** Secrets planted wherever a run can carry them: nothing of them is in the store's files afterwards. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import {
  AgentGraph,
  END,
  functionNode,
  httpNode,
  humanNode,
  NodeFailure,
  outcome,
  secret,
  shellNode,
  START,
} from '../../src/index.ts';
import { environmentSecrets } from '../../src/app/environment-secrets.ts';
import { systemClock } from '../../src/app/system-clock.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { testIds } from '../engine-kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-secrets-'));
const planted = 'hunter2-planted-6f1c';
const value = (place: string): string => `${planted}-${place}`;
process.env['PLANTED'] = value('environment');
afterAll(() => {
  delete process.env['PLANTED'];
  rmSync(folder, { recursive: true, force: true });
});

function filesUnder(place: string): readonly string[] {
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .map((name) => join(place, name))
    .filter((name) => statSync(name).isFile());
}

test('P6 no secret is in the store, whichever way it came: input, state, outputs, errors, answers, steps, shells, requests', async () => {
  // It sends back what it was sent, as servers do.
  const server = createServer((request, reply) =>
    reply
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ seen: request.headers['x-key'], token: value('reply') })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const store = openSqliteStore({ path: join(folder, 'store.db') });
  const blobs = createFileBlobs(join(folder, 'blobs'));
  const engine = createEngine({ store, blobs, clock: systemClock, ids: testIds(), secrets: environmentSecrets });
  const graph = new AgentGraph({}, { id: 'secrets' })
    .addNode('request', httpNode({ url, headers: { 'x-key': secret('PLANTED') } }))
    .addNode(
      'shell',
      shellNode({ command: ['sh', '-c', 'echo "$KEY"; echo "$KEY" >&2'], env: { KEY: secret('PLANTED') } }),
    )
    .addNode(
      'state',
      functionNode(() =>
        outcome({
          output: {
            deep: [{ password: value('output') }],
            map: new Map([['api_key', value('map')]]),
            big: { token: value('big').repeat(20_000) },
          },
          scratch: { token: value('channel'), nested: { Authorization: value('nested') } },
        }),
      ),
    )
    .addNode(
      'steps',
      functionNode(
        (ctx) =>
          ctx.step('s', { effect: 'write', input: { password: value('step input') } }, () => ({
            cookie: value('step output'),
          })),
        { effectClass: 'read' },
      ),
    )
    .addNode('ask', humanNode({ prompt: '?', metadata: () => ({ client_secret: value('question') }) }))
    .addNode(
      'fail',
      functionNode(
        () => {
          throw new NodeFailure('refused', { data: { access_token: value('error') } });
        },
        { onFailure: 'continue' },
      ),
    )
    .addNode(
      'fail step',
      functionNode(
        (ctx) =>
          ctx.step('s', {}, () => {
            throw Object.assign(new Error('refused'), { data: { refresh_token: value('step error') } });
          }),
        { onFailure: 'continue', effectClass: 'read' },
      ),
    )
    .addEdge(START, 'request')
    .addEdge('request', 'shell')
    .addEdge('shell', 'state')
    .addEdge('state', 'steps')
    .addEdge('steps', 'ask')
    .addEdge('ask', 'fail')
    .addEdge('fail', 'fail step')
    .addEdge('fail step', END)
    .compile();
  const handle = await engine.start(graph.graph, {
    user: 'ada',
    password: value('input'),
    list: [{ apiKey: value('list') }],
  });
  const paused = await handle.result();
  expect(paused.status).toBe('paused');
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', { token: value('answer') });
  await engine.signal(paused.runId, 'go', { secret: value('signal') });
  const done = await (await engine.resume(paused.runId, { graph: graph.graph })).result();
  expect(done.status).toBe('completed');
  const fork = await engine.fork(
    { runId: done.runId, seq: done.seq },
    {
      set: [
        { path: ['scratch', 'token'], value: value('patch') },
        { path: ['scratch', 'box'], value: { password: value('patch value') } },
      ],
    },
  );
  expect(fork.seq).toBeGreaterThan(done.seq);
  await store.close();
  server.close();
  const found = filesUnder(folder).flatMap((file) => {
    const text = readFileSync(file, 'latin1');
    return [...text.matchAll(new RegExp(`${planted}-[a-z ]+`, 'gu'))].map(
      ([hit]) => `${file.slice(folder.length)}: ${hit}`,
    );
  });
  expect([...new Set(found)]).toEqual([]);
});
