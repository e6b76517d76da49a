/** The AI SDK's models against a local server that speaks the OpenAI-compatible protocol. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { textOf, type ModelDelta } from '../graph/contracts/model-messages.ts';
import type { ModelRequest, Models } from '../ports/model.ts';
import { createAiSdkModels } from './ai-sdk.ts';

interface Call {
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
}

let server: Server;
let models: Models;
let calls: Call[] = [];
let respond: (response: ServerResponse) => void;

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  return (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
};
const completion = (content: string) =>
  json(200, {
    id: '1',
    object: 'chat.completion',
    created: 1,
    model: 'small-2026',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
  });
const refusal = (status: number, message: string, headers = {}) => json(status, { error: { message } }, headers);

async function listen(listener: Server): Promise<string> {
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}/v1`;
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      calls.push({ headers: request.headers, body: JSON.parse(text) as Call['body'] });
      respond(response);
    });
  });
  const baseURL = await listen(server);
  const gone = createServer();
  const closedURL = await listen(gone);
  await new Promise((resolve) => gone.close(resolve));
  models = createAiSdkModels({
    providers: {
      local: { package: '@ai-sdk/openai-compatible', baseURL, apiKey: 'sk-planted', supportsStructuredOutputs: true },
      closed: { package: '@ai-sdk/openai-compatible', baseURL: closedURL },
      odd: { package: 'zod' },
    },
    prices: { 'local:small': { input: 2, output: 10, cached: 0.5 } },
    profiles: { cheap: { model: 'local:small', temperature: 0.5, tokensMax: 9 } },
  });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  calls = [];
});

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'local:small',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ],
  idempotencyKey: 'key-1',
  signal: new AbortController().signal,
  ...more,
});
const failureOf = (more: Partial<ModelRequest> = {}): Promise<unknown> =>
  models.generate(request(more)).then(
    (response) => Promise.reject(new Error(`answered ${textOf(response.content)}`)),
    (error: unknown) => error,
  );

test('X6 a call carries the messages, the settings and the key, and is counted by the provider', async () => {
  respond = completion('Hi.');
  await expect(models.generate(request({ temperature: 0, tokensMax: 40 }))).resolves.toEqual({
    content: [{ type: 'text', text: 'Hi.' }],
    model: 'small-2026',
    finishReason: 'stop',
    usage: { inputTokens: 12, outputTokens: 3 },
    cost: (12 * 2 + 3 * 10) / 1_000_000,
    id: '1',
    at: 1_000,
  });
  expect(calls).toHaveLength(1);
  expect(calls[0]?.headers).toMatchObject({ 'idempotency-key': 'key-1', authorization: 'Bearer sk-planted' });
  expect(calls[0]?.body).toMatchObject({
    model: 'small',
    temperature: 0,
    max_tokens: 40,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ],
  });
});

test.each([false, true])(
  'B50 one call is one turn: a model that asks for tools, or for more, is not answered (streamed: %s)',
  async (isStreamed) => {
    const message = {
      role: 'assistant',
      content: 'I will look that up. Shall I go on?',
      tool_calls: [{ index: 0, id: 't1', type: 'function', function: { name: 'search', arguments: '{"q":"tea"}' } }],
    };
    const head = { id: '1', created: 1, model: 'small-2026' };
    respond = isStreamed
      ? (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          const chunk = {
            ...head,
            object: 'chat.completion.chunk',
            choices: [{ index: 0, delta: message, finish_reason: 'tool_calls' }],
          };
          response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
        }
      : json(200, {
          ...head,
          object: 'chat.completion',
          choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
        });
    const tools = [{ name: 'search', inputSchema: { type: 'object', properties: { q: { type: 'string' } } } }];
    const deltas: ModelDelta[] = [];
    const onDelta = (delta: ModelDelta): unknown => deltas.push(delta);
    const answer = models.generate(request({ tools, toolChoice: 'auto', ...(isStreamed && { onDelta }) }));
    await expect(answer).resolves.toMatchObject({
      content: [
        { type: 'text', text: message.content },
        { type: 'tool-call', id: 't1', tool: 'search', input: { q: 'tea' } },
      ],
      finishReason: 'tool-calls',
    });
    const named = { type: 'tool-arguments', id: 't1', tool: 'search' };
    expect(deltas).toEqual(
      isStreamed
        ? [
            { type: 'text', text: message.content },
            { ...named, text: '' },
            { ...named, text: '{"q":"tea"}' },
          ]
        : [],
    );
    expect(calls[0]?.body).toMatchObject({
      tools: [{ type: 'function', function: { name: 'search', parameters: tools[0]?.inputSchema } }],
      tool_choice: 'auto',
    });
    expect(calls).toHaveLength(1);
  },
);

test('a profile names a model, and its settings hold where the request has none', async () => {
  respond = completion('Hi.');
  await models.generate(request({ model: 'cheap', temperature: 1, reasoning: 'low' }));
  const settings = { temperature: 1, max_tokens: 9, reasoning_effort: 'low' };
  expect(calls[0]?.body).toMatchObject({ model: 'small', ...settings });
});

test('a schema asks the provider for JSON, and what comes is handed on as it is', async () => {
  respond = completion('no JSON at all');
  const { content } = await models.generate(request({ schema: { type: 'object', required: ['a'] } }));
  expect(textOf(content)).toBe('no JSON at all');
  expect(calls[0]?.body['response_format']).toMatchObject({ json_schema: { schema: { required: ['a'] } } });
});

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'small-2026', choices: [{ index: 0, delta, finish_reason: finish }], usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 } })}\n\n`;
const stream =
  (...chunks: readonly string[]) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${chunks.join('')}data: [DONE]\n\n`);
  };

test('pieces of the answer, its reasoning and the arguments of its tool calls are told as they come', async () => {
  const call = (delta: object): object => ({ tool_calls: [{ index: 0, ...delta }] });
  respond = stream(
    chunk({ role: 'assistant', reasoning_content: 'tea ' }),
    chunk({ reasoning_content: 'or coffee' }),
    chunk({ content: 'one ' }),
    chunk({ content: 'two' }),
    chunk(call({ id: 't1', type: 'function', function: { name: 'search', arguments: '{"q":' } })),
    chunk(call({ function: { arguments: '"tea"}' } })),
    chunk({}, 'tool_calls'),
  );
  const deltas: ModelDelta[] = [];
  const tools = [{ name: 'search', inputSchema: { type: 'object' } }];
  const response = await models.generate(request({ tools, onDelta: (delta) => deltas.push(delta) }));
  const named = { type: 'tool-arguments', id: 't1', tool: 'search' };
  expect(deltas.filter((delta) => delta.type !== 'tool-arguments' || delta.text !== '')).toEqual([
    { type: 'reasoning', text: 'tea ' },
    { type: 'reasoning', text: 'or coffee' },
    { type: 'text', text: 'one ' },
    { type: 'text', text: 'two' },
    { ...named, text: '{"q":' },
    { ...named, text: '"tea"}' },
  ]);
  expect(response).toMatchObject({
    content: [
      { type: 'reasoning', text: 'tea or coffee' },
      { type: 'text', text: 'one two' },
      { type: 'tool-call', id: 't1', tool: 'search', input: { q: 'tea' } },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 2, outputTokens: 2 },
  });
  expect(calls[0]?.body['stream_options']).toEqual({ include_usage: true });
});

test('a stream that is cut off is MODEL_UNAVAILABLE, whatever was told of it', async () => {
  respond = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant', content: 'half' }), () => response.destroy());
  };
  const deltas: ModelDelta[] = [];
  const failure = await failureOf({ onDelta: (delta) => deltas.push(delta) });
  expect(failure).toMatchObject({ code: 'MODEL_UNAVAILABLE', applied: 'unknown' });
});

test('a conversation with images, files, tool calls and their results reaches the provider whole', async () => {
  respond = completion('A cat.');
  await models.generate(
    request({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image', data: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]), mediaType: 'image/png' },
            { type: 'image', data: 'https://example.test/cat.png' },
            { type: 'file', data: new TextEncoder().encode('%PDF-1.7'), mediaType: 'application/pdf', name: 'cat.pdf' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'look' },
            { type: 'text', text: 'I look.' },
            { type: 'tool-call', id: 't1', tool: 'look', input: { at: 1 } },
            { type: 'tool-call', id: 't2', tool: 'look', input: '{"at', fault: 'no JSON' },
          ],
        },
        {
          role: 'tool',
          content: [
            { type: 'tool-result', id: 't1', tool: 'look', output: { seen: ['cat'] } },
            { type: 'tool-result', id: 't2', tool: 'look', output: 'no JSON', isError: true },
          ],
        },
      ],
      toolChoice: { tool: 'look' },
      tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
      provider: { local: { reasoningEffort: 'low' } },
    }),
  );
  const call = (id: string, given: string): object => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: given },
  });
  expect(calls[0]?.body).toMatchObject({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          { type: 'image_url', image_url: { url: 'https://example.test/cat.png' } },
          { type: 'file', file: { filename: 'cat.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjc=' } },
        ],
      },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'look',
        tool_calls: [call('t1', '{"at":1}'), call('t2', '{}')],
      },
      { role: 'tool', tool_call_id: 't1', content: '{"seen":["cat"]}' },
      { role: 'tool', tool_call_id: 't2', content: 'no JSON' },
    ],
    tool_choice: { type: 'function', function: { name: 'look' } },
    reasoning_effort: 'low',
  });
});

test('calls of tools that were not offered, and arguments that are no JSON, are handed on with what is wrong', async () => {
  const called = (id: string, name: string, given: string): object => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  });
  respond = json(200, {
    id: '1',
    created: 1,
    model: 'small-2026',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [called('a', 'fly', '{}'), called('b', 'look', '{"at')],
        },
        finish_reason: 'tool_calls',
      },
    ],
  });
  const { content } = await models.generate(request({ tools: [{ name: 'look', inputSchema: { type: 'object' } }] }));
  expect(content).toMatchObject([
    { id: 'a', tool: 'fly', fault: expect.stringContaining("unavailable tool 'fly'") as unknown },
    { id: 'b', tool: 'look', input: '{"at', fault: expect.stringContaining('Invalid input for tool look') as unknown },
  ]);
});

test('tokens from the cache and of reasoning are counted, and cost what the price table says', async () => {
  respond = json(200, {
    id: '1',
    created: 1,
    model: 'small-2026',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 600 },
      completion_tokens_details: { reasoning_tokens: 40 },
    },
  });
  const { usage, cost } = await models.generate(request());
  expect(usage).toEqual({ inputTokens: 1_000, outputTokens: 100, cachedTokens: 600, reasoningTokens: 40 });
  expect(cost).toBeCloseTo((400 * 2 + 600 * 0.5 + 100 * 10) / 1_000_000, 12);
  expect((await models.generate(request({ model: 'local:other' }))).cost).toBeUndefined();
});

test('what a provider cannot heed is told in words', async () => {
  respond = completion('Hi.');
  const { warnings } = await models.generate(request({ tools: [{ name: 'web', providerTool: 'openai.web_search' }] }));
  expect(warnings).toEqual([expect.stringContaining('web_search')]);
});

test.each([
  [429, 'MODEL_UNAVAILABLE', 'no'],
  [500, 'MODEL_UNAVAILABLE', 'unknown'],
  [503, 'MODEL_UNAVAILABLE', 'unknown'],
  [400, 'MODEL_REFUSED', 'no'],
  [401, 'MODEL_REFUSED', 'no'],
  [404, 'MODEL_UNKNOWN', 'no'],
])('X3 status %i is %s, applied %s, after one call; the key is not told', async (status, code, applied) => {
  respond = refusal(status, 'bad key sk-planted');
  const failure = (await failureOf()) as Error;
  expect(failure).toMatchObject({ code, applied, data: { status } });
  expect(failure.message).toContain('bad key [key]');
  expect(calls).toHaveLength(1);
});

test('a refusal fails the streamed call, too', async () => {
  respond = refusal(500, 'down');
  expect(await failureOf({ onDelta: () => undefined })).toMatchObject({ code: 'MODEL_UNAVAILABLE' });
});

test('the provider says when to come again', async () => {
  respond = refusal(429, 'slow down', { 'retry-after': '0.02' });
  expect(await failureOf()).toMatchObject({ retryAfterMs: 20 });
});

test('X3 a connection that was never made had no effect', async () => {
  expect(await failureOf({ model: 'closed:m' })).toMatchObject({ code: 'MODEL_UNAVAILABLE', applied: 'no' });
});

test('an answer that is not of the protocol is MODEL_UNAVAILABLE', async () => {
  respond = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"half":');
  expect(await failureOf()).toMatchObject({ code: 'MODEL_UNAVAILABLE', applied: 'unknown' });
});

test('E6 a call that is aborted ends with the reason', async () => {
  const abort = new AbortController();
  respond = () => abort.abort(new Error('told to stop'));
  expect(await failureOf({ signal: abort.signal })).toMatchObject({ message: 'told to stop' });
});

test('P6 models, packages and providers that are not there are told by name', async () => {
  expect(await failureOf({ model: 'smal' })).toMatchObject({
    code: 'MODEL_UNKNOWN',
    applied: 'no',
    message: 'no model "smal": name one as provider:model, or a profile (profiles: cheap)',
  });
  expect(await failureOf({ model: 'acme:m' })).toMatchObject({
    code: 'CONFIG_MISSING_PEER',
    data: { package: 'ai @ai-sdk/acme' },
  });
  expect(await failureOf({ model: 'odd:m' })).toMatchObject({ code: 'CONFIG_INVALID' });
});
