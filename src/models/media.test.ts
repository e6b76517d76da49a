/** Speech and images: asked of providers by the AI SDK, priced by the call, bought once. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { generateImages, transcribeAudio } from '../agents/model/media-steps.ts';
import type { Models } from '../ports/model.ts';
import { createAiSdkModels } from './ai-sdk.ts';
import { createScriptedModels } from './scripted.ts';

const options = { idempotencyKey: 'key-1', signal: new AbortController().signal };
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
let server: Server;
let models: Models;
const asked: { readonly path: string | undefined; readonly key: unknown; readonly text: string }[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    request.on('end', () => {
      asked.push({ path: request.url, key: request.headers['idempotency-key'], text });
      const answer = request.url?.endsWith('/images/generations')
        ? { data: [{ b64_json: Buffer.from(png).toString('base64') }] }
        : { text: 'Tea is ready', language: 'english', duration: 2.5, words: [{ word: 'Tea', start: 0, end: 1 }] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  models = createAiSdkModels({
    providers: {
      local: { package: '@ai-sdk/openai', baseURL, apiKey: 'none' },
      plain: { package: '@ai-sdk/openai-compatible', baseURL, apiKey: 'none' },
    },
    profiles: { ear: { model: 'local:whisper-1' } },
    prices: { 'local:whisper-1': { input: 0, output: 0, call: 0.25 } },
  });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

test('L14 the AI SDK hears speech and makes images, with the key, and the price of the call', async () => {
  const audio = new TextEncoder().encode('ID3 speech');
  expect(await models.transcribe?.({ model: 'ear', audio, ...options })).toMatchObject({
    text: 'Tea is ready',
    seconds: 2.5,
    segments: [{ text: 'Tea', from: 0, to: 1 }],
    usage: { inputTokens: 0, outputTokens: 0 },
    cost: 0.25,
  });
  const drawn = await models.generateImages?.({
    model: 'local:dall-e-3',
    prompt: 'A bridge',
    size: '64x64',
    ...options,
  });
  expect(drawn?.images).toMatchObject([{ data: png, mediaType: 'image/png' }]);
  expect(asked).toMatchObject([
    { path: '/v1/audio/transcriptions', key: 'key-1' },
    { path: '/v1/images/generations', key: 'key-1', text: expect.stringContaining('A bridge') as unknown },
  ]);
});

test('L14 a provider without such models says so', async () => {
  const made = models.transcribe?.({ model: 'plain:x', audio: png, ...options });
  await expect(made).rejects.toMatchObject({ code: 'MODEL_UNKNOWN', message: expect.stringContaining('no transcription models') as unknown }); // prettier-ignore
});

test('L14 X4 what was bought before a crash is not bought again, and its bytes are files of the run', async () => {
  const bought: string[] = [];
  const scripted = createScriptedModels([], {
    image: (prompt) => (bought.push(prompt), png),
    transcribe: () => (bought.push('heard'), 'words'),
  });
  let isFirst = true;
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        const [image] = await generateImages(ctx, { model: 'm', prompt: 'A bridge' });
        const { text } = await transcribeAudio(ctx, { model: 'm', audio: image! });
        if (isFirst) {
          isFirst = false;
          throw new Error('down');
        }
        return { image, text };
      }),
    ],
    edges('> a', 'a >'),
  );
  const bench = createBench({ models: scripted });
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('failed');
  const result = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(result.state.outputs['a']).toMatchObject({ image: { type: 'image/png' }, text: 'words' });
  expect(bought).toEqual(['A bridge', 'heard']);
});

test('L14 models of one’s own without them fail such a call, and nothing is asked', async () => {
  const { generate } = createScriptedModels([]);
  const bench = createBench({ models: { generate } });
  const graph = graphOf('g', [node('a', 'read', (ctx) => generateImages(ctx, { model: 'm', prompt: 'x' }, { retry: { attempts: 1 } }))], edges('> a', 'a >')); // prettier-ignore
  expect((await runToRest(bench.engine, graph, {})).error?.message).toContain('the configured models make no images');
});
