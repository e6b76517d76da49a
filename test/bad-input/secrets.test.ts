/** Secrets planted wherever a run can carry them, and what of them is in the store's files afterwards; masks that come back. */
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
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { environmentSecrets } from '../../src/app/config/config.ts';
import { systemClock } from '../../src/app/process/system-clock.ts';
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

/** Names of all keys under which something is planted below. */
const everyKey = [
  'password',
  'api_key',
  'token',
  'authorization',
  'cookie',
  'client_secret',
  'access_token',
  'refresh_token',
  'secret',
];

test('P6 V4 what rules name is not in the store, whichever way it came: input, state, outputs, errors, answers, steps, shells, requests', async () => {
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
  const engine = createEngine({
    store,
    blobs,
    clock: systemClock,
    ids: testIds(),
    secrets: environmentSecrets,
    redact: { store: everyKey },
  });
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

const echo = new AgentGraph({}, { id: 'echo' })
  .addNode('ask', humanNode({ prompt: 'Which?' }))
  .addNode(
    'read',
    functionNode(({ state }) => {
      const { password, list } = state.input as {
        readonly password: string;
        readonly list: readonly { readonly apiKey: string }[];
      };
      return { password: `${password}!`, echoed: list[0]?.apiKey, answer: state.outputs['ask'] };
    }),
  )
  .addEdge(START, 'ask')
  .addEdge('ask', 'read')
  .addEdge('read', END)
  .compile();
const given = { password: value('given'), list: [{ apiKey: value('in a list') }] };

test('C2.1 a run computes with what it was given, whatever the keys are called, and a library returns what is stored', async () => {
  const engine = createDefaultEngine({ ids: testIds(), findGraph: async () => echo.graph });
  const paused = await (await engine.start(echo.graph, given)).result();
  expect(paused.state.input).toEqual(given);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', { token: value('answered') });
  const { state } = await (await engine.resume(paused.runId, { graph: echo.graph })).result();
  expect(state.outputs['read']).toEqual({
    password: `${value('given')}!`,
    echoed: value('in a list'),
    answer: { token: value('answered') },
  });
});

test('C2.2 what holds our marker is refused by a code, as an input, an answer, a signal, a patch and an answer of a fork', async () => {
  const engine = createDefaultEngine({ ids: testIds(), findGraph: async () => echo.graph });
  const refused = (path: readonly string[]): object => ({ code: 'VALUE_MASKED', data: { path } });
  await expect(engine.start(echo.graph, { ...given, list: [{ apiKey: '[redacted]' }] })).rejects.toMatchObject(
    refused(['list', '0', 'apiKey']),
  );
  const { runId, seq, waits } = await (await engine.start(echo.graph, given)).result();
  const waitId = waits[0]?.waitId ?? '';
  await expect(engine.answer(runId, waitId, { token: '[redacted]' })).rejects.toMatchObject(refused(['token']));
  await expect(engine.answer(runId, waitId, 'it is [secret:API_KEY]')).rejects.toMatchObject(refused([]));
  await expect(engine.signal(runId, 'go', ['[redacted]'])).rejects.toMatchObject(refused(['0']));
  const set = [{ path: ['input'], value: { password: '[redacted]' } }];
  await expect(engine.fork({ runId, seq }, { set })).rejects.toMatchObject(refused(['password']));
  await expect(engine.fork({ runId, seq }, { answers: { [waitId]: '[redacted]' } })).rejects.toMatchObject(refused([]));
  await expect(engine.preview({ runId, seq }, { set, graph: echo.graph })).rejects.toMatchObject(refused(['password']));
  // Nothing came of any of it.
  expect((await engine.inspect(runId)).seq).toBe(seq);
});

test('V4 a rule that keeps something out is no marker that came back', async () => {
  const engine = createDefaultEngine({
    ids: testIds(),
    findGraph: async () => echo.graph,
    redact: { store: ['password'] },
  });
  const { state, runId, seq, waits } = await (await engine.start(echo.graph, given)).result();
  expect(state.input).toEqual({ ...given, password: '[redacted]' });
  await engine.answer(runId, waits[0]?.waitId ?? '', { password: value('answered') });
  const patched = await engine.fork(
    { runId, seq },
    { set: [{ path: ['input', 'password'], value: value('patched') }] },
  );
  expect((await engine.inspect(patched.runId)).state.input).toEqual({ ...given, password: '[redacted]' });
  await expect(engine.start(echo.graph, { password: '[redacted]' })).rejects.toMatchObject({ code: 'VALUE_MASKED' });
});
