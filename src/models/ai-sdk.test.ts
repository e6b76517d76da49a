/** The AI SDK's models against a local server that speaks the OpenAI-compatible protocol. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
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
    (response) => Promise.reject(new Error(`answered ${response.text}`)),
    (error: unknown) => error,
  );

test('X6 a call carries the messages, the settings and the key, and is counted by the provider', async () => {
  respond = completion('Hi.');
  await expect(models.generate(request({ temperature: 0, tokensMax: 40 }))).resolves.toEqual({
    text: 'Hi.',
    model: 'small-2026',
    finishReason: 'stop',
    usage: { inputTokens: 12, outputTokens: 3 },
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
    const answer = models.generate(request(isStreamed ? { onText: () => undefined } : {}));
    await expect(answer).resolves.toMatchObject({ text: message.content, finishReason: 'tool-calls' });
    expect(calls).toHaveLength(1);
  },
);

test('a profile names a model, and its settings hold where the request has none', async () => {
  respond = completion('Hi.');
  await models.generate(request({ model: 'cheap', temperature: 1 }));
  expect(calls[0]?.body).toMatchObject({ model: 'small', temperature: 1, max_tokens: 9 });
});

test('a schema asks the provider for JSON, and what comes is handed on as it is', async () => {
  respond = completion('no JSON at all');
  const { text } = await models.generate(request({ schema: { type: 'object', required: ['a'] } }));
  expect(text).toBe('no JSON at all');
  expect(calls[0]?.body['response_format']).toMatchObject({ json_schema: { schema: { required: ['a'] } } });
});

test('pieces of the answer are told as they come', async () => {
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'small-2026', choices: [{ index: 0, delta, finish_reason: finish }], usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 } })}\n\n`;
  respond = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      `${chunk({ role: 'assistant', content: 'one ' })}${chunk({ content: 'two' })}${chunk({}, 'stop')}data: [DONE]\n\n`,
    );
  };
  const pieces: string[] = [];
  const response = await models.generate(request({ onText: (piece) => pieces.push(piece) }));
  expect(pieces).toEqual(['one ', 'two']);
  expect(response).toMatchObject({ text: 'one two', finishReason: 'stop', usage: { inputTokens: 2, outputTokens: 2 } });
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
  expect(await failureOf({ onText: () => undefined })).toMatchObject({ code: 'MODEL_UNAVAILABLE' });
});

test('the provider says when to come again', async () => {
  respond = refusal(429, 'slow down', { 'retry-after': '7' });
  expect(await failureOf()).toMatchObject({ retryAfterMs: 7_000 });
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
