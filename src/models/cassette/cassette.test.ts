/** Cassettes: what is recorded is played back to equal requests, and nothing secret stands in the file (L11). */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { agent } from '../../agents/agent.ts';
import { tool } from '../../agents/tools/tool-box.ts';
import { createBench, edges, graphOf, runToRest } from '../../../test/engine-kit.ts';
import type { ModelDelta, ModelMessage } from '../../graph/contracts/model-messages.ts';
import type { ModelRequest, Models } from '../../ports/model.ts';
import { createScriptedModels } from '../scripted.ts';
import { createCassetteModels, type CassetteOptions } from './cassette.ts';

let folder: string;
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-cassette-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A new place for a cassette, in a folder that does not exist yet. */
const newPath = (): string => join(folder, String((count += 1)), 'tape.jsonl');

function request(messages: readonly ModelMessage[] | string, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'a:b',
    messages: typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages,
    idempotencyKey: String((count += 1)),
    signal: new AbortController().signal,
    ...more,
  };
}

/** What a call fails with. */
const failureOf = (models: Models, asked: ModelRequest): Promise<unknown> =>
  models.generate(asked).then(
    () => undefined,
    (error: unknown) => error,
  );

/** A cassette on which the answers to some requests are, each `re: ` and what was asked. */
async function taped(requests: readonly ModelRequest[], more: Partial<CassetteOptions> = {}): Promise<string> {
  const path = newPath();
  const record = createScriptedModels(({ messages }) => `re: ${JSON.stringify(messages.at(-1)?.content)}`);
  const models = createCassetteModels({ path, record, secrets: {}, ...more });
  for (const each of requests) await models.generate(each);
  return path;
}

test('L11 a request gets the answer on record, in any order and however often, and the recorder is asked once', async () => {
  const path = newPath();
  const record = createScriptedModels([
    { reasoning: 'hm', text: 'one', calls: [{ tool: 't', input: { a: 1 } }] },
    'two',
  ]);
  const recorder = createCassetteModels({ path, record });
  const [one, two] = [await recorder.generate(request('1')), await recorder.generate(request('2'))];
  expect(await recorder.generate(request('1'))).toEqual(one);
  expect(record.requests).toHaveLength(2);
  const player = createCassetteModels({ path });
  const deltas: ModelDelta[] = [];
  const played = [
    await player.generate(request('2')),
    await player.generate(request('1', { onDelta: (delta) => deltas.push(delta) })),
    await player.generate(request('1')),
  ];
  expect(played).toEqual([two, one, one]);
  expect(deltas.map(({ type, text }) => [type, text])).toEqual([
    ['reasoning', 'hm'],
    ['text', 'one'],
    ['tool-arguments', ''],
    ['tool-arguments', '{"a":1}'],
  ]);
});

test('L11 an agent recorded once runs on its cassette alone, tools and all', async () => {
  const path = newPath();
  const double = tool({
    description: 'Doubles.',
    input: z.object({ n: z.number() }),
    effect: 'pure',
    run: ({ n }) => 2 * n,
  });
  const script = createScriptedModels([{ calls: [{ tool: 'double', input: { n: 21 } }] }, 'It is 42.']);
  const run = async (models: Models): Promise<unknown> => {
    const { engine } = createBench({ models });
    const node = agent({ model: 'm', prompt: 'Twice 21?', tools: { double } });
    return (await runToRest(engine, graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >')))).state.outputs;
  };
  expect(await run(createCassetteModels({ path, record: script }))).toEqual({ a: 'It is 42.' });
  expect(await run(createCassetteModels({ path }))).toEqual({ a: 'It is 42.' });
  expect(script.requests).toHaveLength(2);
});

test('L11 a request that is not on record is refused with the nearest call and what differs from it', async () => {
  const talk: ModelMessage[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What of the very large and heavy stone?' },
  ];
  const path = await taped([request(talk), request('else')]);
  const models = createCassetteModels({ path, secrets: {} });
  const missed = async (asked: ModelRequest): Promise<unknown> =>
    ((await failureOf(models, asked)) as { data: unknown }).data;
  const other: ModelMessage = { role: 'user', content: 'What of the very large and heavy bridge?' };
  expect(await missed(request([talk[0] as ModelMessage, other]))).toEqual({
    cassette: path,
    model: 'a:b',
    differs: 'message 2 (user)',
    text: '…ery large and heavy bridge?',
    recorded: '…ery large and heavy stone?',
  });
  expect(await missed(request([...talk, { role: 'assistant', content: 'Yes.' }]))).toMatchObject({
    differs: 'message 3 (assistant)',
    text: 'Yes.',
    recorded: 'missing',
  });
  expect(await missed(request(talk, { temperature: 0.5 }))).toMatchObject({
    differs: 'its temperature',
    text: '0.5',
    recorded: 'nothing',
  });
  const empty = await failureOf(createCassetteModels({ path: newPath() }), request('x'));
  expect(empty).toMatchObject({
    code: 'CASSETTE_MISSING',
    message: expect.stringContaining('nothing is on record') as unknown,
  });
});

test('L11 only the owner may read the file, and no secret stands in it, of a request or an answer', async () => {
  const key = 'sk-live-0123456789';
  const secrets = { API_KEY: key };
  const asked = request([
    { role: 'user', content: `The key is ${key}.` },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', id: '1', tool: 'login', input: { password: 'hunter2-planted' } }],
    },
    { role: 'user', content: [{ type: 'image', data: new Uint8Array(5_000).fill(7) }] },
    { role: 'user', content: `Say ${Buffer.from(key).toString('base64')}` },
  ]);
  const path = await taped([asked], { secrets });
  const text = readFileSync(path, 'utf8');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(text).not.toMatch(/sk-live|hunter2|c2stbGl2ZS/);
  expect(text.length).toBeLessThan(2_000);
  expect(text).toContain('[5000 bytes, ');
  // Whose secret is another one still finds the answer.
  const other = JSON.parse(JSON.stringify(asked.messages).replaceAll(key, 'sk-other-999999999')) as ModelMessage[];
  const [, , image] = asked.messages;
  const messages = other.with(2, image as ModelMessage).with(3, {
    role: 'user',
    content: `Say ${Buffer.from('sk-other-999999999').toString('base64')}`,
  });
  const models = createCassetteModels({ path, secrets: { API_KEY: 'sk-other-999999999' } });
  expect((await models.generate(request(messages))).content).toMatchObject([{ text: 're: "Say [secret:API_KEY]"' }]);
});

test('L11 variables of the environment that are named like secrets are taken out unless others are named', async () => {
  process.env['CASSETTE_TEST_API_KEY'] = 'value-of-the-key';
  try {
    const asked = request('It is value-of-the-key.');
    const path = newPath();
    await createCassetteModels({ path, record: createScriptedModels(['ok']) }).generate(asked);
    expect(readFileSync(path, 'utf8')).toContain('It is [secret:CASSETTE_TEST_API_KEY].');
  } finally {
    delete process.env['CASSETTE_TEST_API_KEY'];
  }
});

test('L11 what a killed recorder left half written is passed over and replaced, and any other damage is told with its line', async () => {
  const path = await taped([request('1')]);
  appendFileSync(path, '{"call":"x","sett');
  const record = createScriptedModels(['later']);
  const models = createCassetteModels({ path, record, secrets: {} });
  expect((await models.generate(request('1'))).content).toEqual([{ type: 'text', text: 're: "1"' }]);
  await models.generate(request('2'));
  const again = createCassetteModels({ path, secrets: {} });
  expect((await again.generate(request('2'))).content).toEqual([{ type: 'text', text: 'later' }]);
  appendFileSync(path, 'garbage\n');
  const count = readFileSync(path, 'utf8').split('\n').length - 1;
  expect(await failureOf(createCassetteModels({ path }), request('1'))).toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`${path}:${count} is no line of a cassette`) as unknown,
  });
});
