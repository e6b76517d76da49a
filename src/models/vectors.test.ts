/** Vectors and rankings: priced, limited, recorded, traced and bounded as texts are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { embedTexts, rerankDocuments } from '../agents/model/vector-steps.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import type { Models } from '../ports/model.ts';
import { createVirtualClock } from '../ports/virtual-clock.ts';
import { createAiSdkModels } from './ai-sdk.ts';
import { createCassetteModels } from './cassette/cassette.ts';
import { limitModels } from './limit/limit-models.ts';
import { createScriptedModels } from './scripted.ts';

const options = { idempotencyKey: 'key-1', signal: new AbortController().signal };
const failureOf = (made: Promise<unknown>): Promise<unknown> =>
  made.then(
    () => undefined,
    (error: unknown) => error,
  );

let server: Server;
let models: Models;
const bodies: { readonly key: unknown; readonly body: Readonly<Record<string, unknown>> }[] = [];
let status = 200;

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const body = JSON.parse(text) as { readonly input: readonly string[] };
      bodies.push({ key: request.headers['idempotency-key'], body });
      const data = body.input.map((_, index) => ({ index, embedding: [index, 1] }));
      const answer =
        status === 200 ? { data, usage: { prompt_tokens: 7, total_tokens: 7 } } : { error: { message: 'no' } };
      response
        .writeHead(status, { 'content-type': 'application/json', 'retry-after': '0.02' })
        .end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  models = createAiSdkModels({
    providers: { local: { package: '@ai-sdk/openai-compatible', baseURL, apiKey: 'none' } },
    profiles: { near: { model: 'local:vectors' } },
    prices: { 'local:vectors': { input: 2, output: 0, call: 0.5 } },
  });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

test('L14 the AI SDK makes one vector for each text, with the key, the price by tokens and by call, under a name of the configuration', async () => {
  await expect(models.embed?.({ model: 'near', texts: ['a', 'b'], dimensions: 2, ...options })).resolves.toEqual({
    vectors: [
      [0, 1],
      [1, 1],
    ],
    model: 'vectors',
    usage: { inputTokens: 7, outputTokens: 0 },
    cost: 14 / 1_000_000 + 0.5,
  });
  expect(bodies).toMatchObject([{ key: 'key-1', body: { model: 'vectors', input: ['a', 'b'], dimensions: 2 } }]);
});

test('L14 a provider that is busy, and one without such models, fail as calls for texts do, and nothing is tried again here', async () => {
  const before = bodies.length;
  status = 429;
  expect(await failureOf(models.embed!({ model: 'near', texts: ['a'], ...options }))).toMatchObject({
    code: 'MODEL_UNAVAILABLE',
    applied: 'no',
    retryAfterMs: 20,
  });
  status = 200;
  expect(bodies.length).toBe(before + 1);
  const ranked = models.rerank!({ model: 'near', query: 'q', documents: ['a'], ...options });
  expect(await failureOf(ranked)).toMatchObject({
    code: 'MODEL_UNKNOWN',
    applied: 'no',
    message: expect.stringContaining('no reranking models') as unknown,
  });
});

const texts = ['tea and milk', 'a stone bridge', 'green tea'];

test('L14 vectors and rankings are bought once, batch by batch, over a crash, and what they cost is spent', async () => {
  const scripted = createScriptedModels([]);
  let isDown = true;
  const metered: Models = {
    ...scripted,
    embed: async (request) => {
      if (isDown && scripted.embedded.length === 1)
        throw new NodeFailure('down', { code: 'MODEL_REFUSED', applied: 'no' });
      return { ...(await scripted.embed(request)), cost: 1 };
    },
  };
  const bench = createBench({ models: metered });
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx: NodeContext) => {
        const vectors = await embedTexts(ctx, { model: 'a:b', texts, dimensions: 8 }, { batch: 2 });
        const ranking = await rerankDocuments(ctx, { model: 'a:c', query: 'green tea', documents: texts, top: 2 });
        return { lengths: vectors.map(({ length }) => length), best: ranking.map(({ index }) => index) };
      }),
    ],
    edges('> a', 'a >'),
  );
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('failed');
  isDown = false;
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(done.state.outputs['a']).toEqual({ lengths: [8, 8, 8], best: [2, 0] });
  expect(scripted.embedded.map((request) => request.texts)).toEqual([texts.slice(0, 2), texts.slice(2)]);
  expect(scripted.reranked).toHaveLength(1);
  expect(done.spent).toMatchObject({ cost: 2 });
});

test('L14 an answer that is no vector for each text, or names a document that is not there, is not taken', async () => {
  const odd: Models = {
    ...createScriptedModels([]),
    embed: ({ model }) => Promise.resolve({ vectors: [[1]], model, usage: { inputTokens: 1, outputTokens: 0 } }),
    rerank: ({ model }) =>
      Promise.resolve({ ranking: [{ index: 9, score: 1 }], model, usage: { inputTokens: 1, outputTokens: 0 } }),
  };
  const { engine } = createBench({ models: odd });
  const failing = async (run: (ctx: NodeContext) => Promise<unknown>, id: string): Promise<unknown> =>
    (await runToRest(engine, graphOf('g', [node('a', 'read', run)], edges('> a', 'a >')), {}, id)).error;
  const once = { retry: { attempts: 1 } };
  expect(await failing((ctx) => embedTexts(ctx, { model: 'a:b', texts }, once), 'r1')).toMatchObject({
    message: expect.stringContaining('one list of numbers for each of the 3 texts') as unknown,
  });
  expect(
    await failing((ctx) => rerankDocuments(ctx, { model: 'a:b', query: 'q', documents: texts }, once), 'r2'),
  ).toMatchObject({ message: expect.stringContaining('rank some of the 3 documents') as unknown });
});

test("L14 models of one's own that make no vectors say so", async () => {
  const { engine } = createBench({ models: { generate: createScriptedModels([]).generate } });
  const graph = graphOf(
    'g',
    [node('a', 'read', (ctx) => embedTexts(ctx, { model: 'a:b', texts }))],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, graph, {}, 'r')).error).toMatchObject({
    message: expect.stringContaining('make no vectors: a:b') as unknown,
  });
});

test('L11 a cassette gives the vectors and rankings on record, and names the text that differs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-vectors-'));
  try {
    const path = join(folder, 'tape.jsonl');
    const record = createScriptedModels([]);
    const [embedded, ranked] = [
      { model: 'a:b', texts, ...options },
      { model: 'a:b', query: 'tea', documents: texts, ...options },
    ];
    const recorder = createCassetteModels({ path, record, secrets: {} });
    const made = [await recorder.embed?.(embedded), await recorder.rerank?.(ranked)];
    const player = createCassetteModels({ path, secrets: {} });
    expect([await player.embed?.(embedded), await player.rerank?.(ranked)]).toEqual(made);
    expect([record.embedded.length, record.reranked.length]).toEqual([1, 1]);
    expect(await failureOf(player.embed!({ ...embedded, texts: texts.with(1, 'a stone wall') }))).toMatchObject({
      code: 'CASSETTE_MISSING',
      data: { differs: 'message 2 (text)', text: 'a stone wall', recorded: 'a stone bridge' },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('L9 calls for vectors share the limits of their provider with calls for texts', async () => {
  const clock = createVirtualClock();
  const scripted = createScriptedModels(['yes']);
  const limited = limitModels(scripted, { openai: { requestsPerMinute: 1 } }, { clock });
  const beganAt = clock.now();
  const endedAt: number[] = [];
  const note = (): void => void endedAt.push(clock.now() - beganAt);
  const made = [
    limited.generate({ model: 'openai:a', messages: [], ...options }).then(note),
    limited.embed!({ model: 'openai:b', texts, ...options }).then(note),
    limited.rerank!({ model: 'openai:c', query: 'q', documents: texts, ...options }).then(note),
  ];
  await clock.runUntilIdle();
  await Promise.all(made);
  expect(endedAt).toEqual([0, 60_000, 120_000]);
});
