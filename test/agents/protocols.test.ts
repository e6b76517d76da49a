/** Models by name through the real packages of OpenAI, Anthropic and OpenAI-compatible servers, against a local server that speaks their protocols. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool, ToolLoopAgent } from 'ai';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { durable } from '../../src/ai-sdk/index.ts';
import type { ModelDelta } from '../../src/graph/contracts/model-messages.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { createAiSdkModels } from '../../src/models/index.ts';
import type { ModelRequest } from '../../src/ports/model.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';
import { startProviderServer, type ProviderServer } from './provider-server.ts';

let server: ProviderServer;
beforeAll(async () => {
  server = await startProviderServer();
});
afterAll(() => server.close());
afterEach(() => {
  vi.unstubAllEnvs();
});

const compatible = '@ai-sdk/openai-compatible';
const modelsOf = (apiKey: string | (() => string) | undefined = 'sk-planted'): ReturnType<typeof createAiSdkModels> => {
  const reached = { baseURL: server.url, ...(apiKey !== undefined && { apiKey }) };
  return createAiSdkModels({
    providers: { openai: reached, anthropic: reached, local: { package: compatible, ...reached }, ollama: reached },
  });
};

const names = ['openai:gpt-5', 'anthropic:claude-opus-5', 'local:small', 'ollama:llama3.2'] as const;
const ways = names.flatMap((name) => [[name, false] as const, [name, true] as const]);

const request = (model: string, isStreamed: boolean, more: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ],
  tools: [
    {
      name: 'search',
      description: 'Searches.',
      inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
    },
  ],
  idempotencyKey: 'key-1',
  signal: new AbortController().signal,
  ...(isStreamed && { onDelta: () => {} }),
  ...more,
});

test.each(ways)('L2 L4 L5 %s, streamed: %s: text and tool calls, usage and finish reason', async (name, isStreamed) => {
  server.answer({ text: 'I will look.', calls: [{ id: 'c1', tool: 'search', input: { q: 'tea' } }] });
  const deltas: ModelDelta[] = [];
  const response = await modelsOf().generate(
    request(name, isStreamed, isStreamed ? { onDelta: (delta) => deltas.push(delta) } : {}),
  );
  expect(response).toMatchObject({
    content: [
      { type: 'text', text: 'I will look.' },
      { type: 'tool-call', id: 'c1', tool: 'search', input: { q: 'tea' } },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 10, outputTokens: 5 },
    model: 'served-model',
  });
  const texts = deltas.flatMap((delta) => (delta.type === 'text' ? [delta.text] : []));
  expect(texts).toEqual(isStreamed ? ['I ', 'will ', 'look.'] : []);
  const asked = JSON.stringify(server.calls[0]?.body);
  for (const part of ['Be brief.', 'Hello', 'Searches.', '"q"']) expect(asked).toContain(part);
  expect([server.calls.length, server.calls[0]?.headers['idempotency-key']]).toEqual([1, 'key-1']);
  expect(JSON.stringify(response)).not.toContain('planted');
});

test.each(names)('L3 %s: an answer and the results of its tools go back as the protocol has them', async (name) => {
  server.answer({ calls: [{ id: 'c1', tool: 'search', input: { q: 'tea' } }] }, { text: 'Tea.' });
  const models = modelsOf();
  const first = await models.generate(request(name, false));
  const { messages } = request(name, false);
  const result = { type: 'tool-result', id: 'c1', tool: 'search', output: { found: 'a shop' } } as const;
  const second = await models.generate(
    request(name, false, {
      messages: [...messages, { role: 'assistant', content: first.content }, { role: 'tool', content: [result] }],
    }),
  );
  expect(second.content).toMatchObject([{ type: 'text', text: 'Tea.' }]);
  const asked = JSON.stringify(server.calls[1]?.body);
  expect(asked.split('c1').length).toBeGreaterThanOrEqual(2);
  expect(asked).toContain('a shop');
});

test.each(
  ways.flatMap(([name, isStreamed]) => [
    [name, isStreamed, 429, 'MODEL_UNAVAILABLE', 'no', 20] as const,
    [name, isStreamed, 503, 'MODEL_UNAVAILABLE', 'unknown', undefined] as const,
    [name, isStreamed, 401, 'MODEL_REFUSED', 'no', undefined] as const,
  ]),
)(
  'L6 %s, streamed: %s: status %i is %s, applied %s, after one call',
  async (name, isStreamed, status, code, applied, retryAfterMs) => {
    server.answer({ status, ...(retryAfterMs !== undefined && { retryAfter: String(retryAfterMs / 1_000) }) });
    const failure = await modelsOf()
      .generate(request(name, isStreamed))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, applied, retryAfterMs, data: { status } });
    expect(server.calls).toHaveLength(1);
  },
);

test.each(names.flatMap((name) => (['cut', 'error', 'end'] as const).map((breaks) => [name, breaks] as const)))(
  'L6 %s: a stream that ends by %s may be asked for again',
  async (name, breaks) => {
    server.answer({ text: 'One two three.', breaks });
    const deltas: ModelDelta[] = [];
    const onDelta = (delta: ModelDelta): unknown => deltas.push(delta);
    const failure = await modelsOf()
      .generate(request(name, true, { onDelta }))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    expect(deltas).toEqual([{ type: 'text', text: 'One ' }]);
  },
);

test.each(names)(
  'L7 %s: the key is read at each call, from where it is given or from the environment',
  async (name) => {
    const keyIn = (): string => {
      const { authorization = '', 'x-api-key': own } = server.calls.at(-1)?.headers ?? {};
      return String(own ?? authorization.replace('Bearer ', ''));
    };
    server.answer({ text: 'Hi.' });
    let key = 'sk-first';
    const models = modelsOf(() => key);
    await models.generate(request(name, false));
    expect(keyIn()).toBe('sk-first');
    key = 'sk-second';
    await models.generate(request(name, false));
    expect(keyIn()).toBe('sk-second');
    // Servers of one's own have no key in the environment.
    if (name.startsWith('local') || name.startsWith('ollama')) return;
    const variable = name.startsWith('openai') ? 'OPENAI_API_KEY' : 'ANTHROPIC_API_KEY';
    const ofEnvironment = createAiSdkModels({
      providers: { openai: { baseURL: server.url }, anthropic: { baseURL: server.url } },
    });
    for (const own of ['sk-third', 'sk-fourth']) {
      vi.stubEnv(variable, own);
      await ofEnvironment.generate(request(name, false));
      expect(keyIn()).toBe(own);
    }
  },
);

test.each([
  ['google:gemini-pro', 'ai @ai-sdk/google'],
  ['gemini:gemini-pro', 'ai @ai-sdk/google'],
  ['mistral:large', 'ai @ai-sdk/mistral'],
])('L7 %s asks for its package by name', async (name, needed) => {
  const failure = await createAiSdkModels()
    .generate(request(name, false))
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'CONFIG_MISSING_PEER', data: { package: needed } });
});

const sdkModels = {
  'openai responses': () => createOpenAI({ baseURL: server.url, apiKey: 'k' })('gpt-5'),
  'openai chat': () => createOpenAI({ baseURL: server.url, apiKey: 'k' }).chat('gpt-5'),
  anthropic: () => createAnthropic({ baseURL: server.url, apiKey: 'k' })('claude-opus-5'),
  compatible: () => createOpenAICompatible({ name: 'local', baseURL: server.url })('small'),
};

test.each(
  Object.entries(sdkModels).flatMap(([name, create]) => [
    [name, 'generate', create] as const,
    [name, 'stream', create] as const,
  ]),
)(
  'U1 U3 U4 %s, %s: a loop under durable waits out a rate limit, and is not asked again when its node is repeated',
  async (_, way, create) => {
    server.answer(
      { text: 'I look.', calls: [{ id: 'c1', tool: 'search', input: { q: 'tea' } }] },
      { status: 429, retryAfter: '3' },
      { text: 'Tea it is.' },
    );
    const searched: unknown[] = [];
    const bench = createBench();
    const run = async (ctx: NodeContext): Promise<string> => {
      const d = durable(ctx, { name: 'support' });
      const search = tool({
        inputSchema: z.object({ q: z.string() }),
        execute: (args) => (searched.push(args), 'a shop'),
      });
      const agent = new ToolLoopAgent({ model: d.model(create()), tools: d.tools({ search }), ...d.settings });
      const options = { prompt: 'Tea?', abortSignal: d.signal };
      const text = way === 'generate' ? (await agent.generate(options)).text : await (await agent.stream(options)).text;
      await ctx.ask({ prompt: 'Fine?' });
      return text;
    };
    const graph = graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    const engine = afterCrash(bench);
    await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
    expect((await resumeToRest(engine, 'r', graph)).state.outputs).toEqual({ a: 'Tea it is.' });
    expect([server.calls.length, searched]).toEqual([3, [{ q: 'tea' }]]);
    const rows = await bench.store.readCheckpoints({ tenant: 'default', runId: 'r' }, { from: 0, to: 99 });
    expect(rows.map(({ body }) => Buffer.from(body).toString()).join()).not.toContain('planted');
  },
);
