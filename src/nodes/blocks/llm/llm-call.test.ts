/** LLMCall over a scripted model. */
import { expect, test } from 'vitest';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import type { Inputs } from '../../../graph/contracts/node-type.ts';
import {
  createFakeContext,
  type FakeContext,
  type FakeContextOptions,
} from '../../../testing/node-suite/fake-context.ts';
import { createScriptedModels, type ScriptedModels, type Script } from '../../../models/scripted.ts';
import { llmCallType } from './llm-call.ts';

interface Called {
  readonly models: ScriptedModels;
  readonly ctx: FakeContext;
  readonly output: Promise<unknown>;
}

function call(
  script: Script,
  inputs: Inputs,
  overrides: Pick<FakeContextOptions, 'signal' | 'isBudgeted'> = {},
): Called {
  const models = createScriptedModels(script);
  const ctx = createFakeContext(overrides);
  const given = { prompt: 'Hello', profile: 'cheap', retry_delay: 0, ...inputs };
  return { models, ctx, output: Promise.resolve(llmCallType(models).run({ ...ctx, inputs: given, fileOutputs: [] })) };
}

const schema = { type: 'object', required: ['age'], properties: { age: { type: 'integer' } } };
const unavailable = new NodeFailure('busy', { code: 'MODEL_UNAVAILABLE' });

test('B50 the answer is given as text, with what it cost', async () => {
  const { models, ctx, output } = call(['Hi.'], {
    system_instructions: 'Be brief.',
    temperature: '0.5',
    max_tokens: 9,
  });
  await expect(output).resolves.toEqual({
    response: { content: 'Hi.' },
    success: true,
    metadata: { attempts: 1, model: 'cheap', usage: { input_tokens: 4, output_tokens: 1 }, finish_reason: 'stop' },
  });
  expect(models.requests).toMatchObject([
    {
      model: 'cheap',
      temperature: 0.5,
      tokensMax: 9,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    },
  ]);
  expect(ctx.record.events).toMatchObject([
    { type: 'model-delta', call: 'key-1:2', delta: { type: 'text', text: 'Hi.' } },
    { type: 'model-call', attempts: 1 },
  ]);
});

test.each([
  [{ profile: undefined }, 'default'],
  [{ profile: undefined, model: 'a:b' }, 'a:b'],
  [{ profile: undefined, provider: 'openai', model: 'gpt' }, 'openai:gpt'],
])('B51 %j asks the model %s', async (inputs, model) => {
  const { models, output } = call(['ok'], inputs);
  await output;
  expect(models.requests[0]).toMatchObject({ model });
});

test.each([true, false])('B50 tokens are spent where a budget names them: %j', async (isBudgeted) => {
  const { ctx, output } = call(['Hi.'], {}, { isBudgeted: (unit) => isBudgeted && unit === 'tokens' });
  await output;
  expect(ctx.record.spendings.filter((spent) => 'tokens' in spent)).toEqual(isBudgeted ? [{ tokens: 3 }] : []);
});

test('B52 an answer that fits the schema is a value, with a code fence around it or not', async () => {
  const text = '```json\n{ "age": 7 }\n```';
  for (const response_schema of [schema, JSON.stringify(schema)])
    await expect(call([text], { response_schema }).output).resolves.toMatchObject({ response: { age: 7 } });
});

test('B53 an answer that does not fit is asked for again, with what is wrong; every call is counted', async () => {
  const { models, output } = call(['old', '{ "age": "old" }', '{"age":9}'], { response_schema: schema });
  await expect(output).resolves.toMatchObject({ response: { age: 9 }, metadata: { attempts: 3 } });
  const [first, second, third] = models.requests;
  expect(second?.messages.slice(first?.messages.length)).toMatchObject([
    { role: 'assistant', content: 'old' },
    { role: 'user', content: expect.stringContaining('it is no JSON') as unknown },
  ]);
  expect(third?.messages.at(-1)?.content).toMatch(/answer\.age is string, not integer/u);
  expect(new Set(models.requests.map((request) => request.idempotencyKey)).size).toBe(3);
});

test('B53 the words of the correction are the author’s', async () => {
  const validation_prompt_template = 'Wrong: {error} in {response} against {schema}; $& {other}';
  const { models, output } = call(['{}', '{"age":1}'], { response_schema: schema, validation_prompt_template });
  await output;
  expect(models.requests[1]?.messages.at(-1)?.content).toBe(
    `Wrong: answer.age is missing in {} against ${JSON.stringify(schema)}; $& {other}`,
  );
});

test('B54 a block whose answer never fits fails, and tells the last answer', async () => {
  const { models, output } = call(['{}', '[]'], { response_schema: schema, max_retries: 2 });
  await expect(output).rejects.toMatchObject({
    code: 'MODEL_OUTPUT_INVALID',
    data: { content: '[]', metadata: { attempts: 2, finish_reason: 'stop' } },
  });
  expect(models.requests).toHaveLength(2);
});

test('B55 a call that fails for now is made again under the same key, up to max_retries', async () => {
  const { models, output } = call([unavailable, 'Hi.'], {});
  await expect(output).resolves.toMatchObject({ metadata: { attempts: 2 } });
  expect(models.requests[0]?.idempotencyKey).toBe(models.requests[1]?.idempotencyKey);
  const lost = call(() => unavailable, { max_retries: 3 });
  await expect(lost.output).rejects.toBe(unavailable);
  expect(lost.models.requests).toHaveLength(3);
});

test('B55 a call that was refused is not made again', async () => {
  const { models, output } = call([new NodeFailure('no', { code: 'MODEL_REFUSED' }), 'Hi.'], {});
  await expect(output).rejects.toMatchObject({ code: 'MODEL_REFUSED' });
  expect(models.requests).toHaveLength(1);
});

test('B55 a call that takes too long is given up', async () => {
  const silent: Script = ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  await expect(call(silent, { timeout: 0.01, max_retries: 1 }).output).rejects.toMatchObject({
    code: 'MODEL_UNAVAILABLE',
    message: 'cheap gave no answer within 0.01 s (call 1)',
  });
});

test('B55 any number of seconds is time for a call', async () => {
  await expect(call(['Hi.'], { timeout: 1.001 }).output).resolves.toMatchObject({ success: true });
});

test('E6 a call that is aborted, or waits to be made again, ends with the reason', async () => {
  const abort = new AbortController();
  const { output } = call(
    () => {
      setImmediate(() => abort.abort(new Error('told to stop')));
      return unavailable;
    },
    { retry_delay: 600 },
    { signal: abort.signal },
  );
  await expect(output).rejects.toThrow('told to stop');
});

test('B51 without models, a call says so', async () => {
  const ctx = createFakeContext();
  const output = Promise.resolve(llmCallType(undefined).run({ ...ctx, inputs: { prompt: '?' }, fileOutputs: [] }));
  await expect(output).rejects.toMatchObject({ code: 'MODEL_UNKNOWN', applied: 'no' });
});

test('B56 what cannot be called is a fault of the inputs', () => {
  const faultsOf = (inputs: Inputs): readonly string[] =>
    (llmCallType(undefined).check?.({ prompt: '?', ...inputs }) ?? []).map(({ input }) => input);
  expect(faultsOf({})).toEqual([]);
  expect(faultsOf({ model: 'a:b', profile: 'c' })).toEqual(['profile']);
  expect(faultsOf({ provider: 'a', profile: 'c' })).toEqual(['provider']);
  expect(faultsOf({ response_schema: '{"type":' })).toEqual(['response_schema']);
  expect(faultsOf({ response_schema: '[]' })).toEqual(['response_schema']);
  expect(faultsOf({ response_schema: { properties: { a: { pattern: '[' } } } })).toEqual(['response_schema']);
  expect(faultsOf({ max_retries: 11, temperature: 3, max_tokens: 0 })).toEqual([
    'max_retries',
    'temperature',
    'max_tokens',
  ]);
});

test('B56 the whole takes no longer than its calls and the delays between them', () => {
  const { timeoutMs } = llmCallType(undefined);
  expect(timeoutMs?.({ max_retries: 3, timeout: 10, retry_delay: 2 })).toBe(46_000);
  expect(timeoutMs?.({ max_retries: 'x' })).toBeUndefined();
});

test('B57 a call asks for its model, by all that names it', () => {
  const { needs } = llmCallType(undefined);
  const asked = (inputs: Inputs, pending?: readonly string[]): unknown => needs?.(inputs, pending);
  expect(asked({})).toEqual([{ kind: 'model', name: 'default' }]);
  expect(asked({ profile: 'cheap' })).toEqual([{ kind: 'model', name: 'cheap' }]);
  expect(asked({ model: 'm', provider: 'p' })).toEqual([{ kind: 'model', name: 'p:m' }]);
  expect(asked({ model: 'p:m' })).toEqual([{ kind: 'model', name: 'p:m' }]);
  for (const pending of [['model'], ['provider'], ['profile']])
    expect(asked({ model: 'm' }, pending)).toEqual([{ kind: 'model', name: undefined }]);
});

test('B54 an answer that was cut off is no answer: with a schema it is asked for again, and then the block fails with it', async () => {
  const half = { text: '{"age": 12', finishReason: 'length' } as const;
  const text = call([{ text: 'Do not pay', finishReason: 'length' }], {});
  await expect(text.output).rejects.toMatchObject({
    code: 'MODEL_OUTPUT_TRUNCATED',
    data: { content: 'Do not pay', metadata: { attempts: 1, finish_reason: 'length' } },
  });
  const mended = call([half, '{"age": 123}'], { response_schema: schema });
  await expect(mended.output).resolves.toMatchObject({ response: { age: 123 }, metadata: { attempts: 2 } });
  expect(mended.models.requests[1]?.messages.at(-1)?.content).toMatch(/^The answer does not fit: it was cut off/u);
  const lost = call([half, { text: '{"age": 12}', finishReason: 'length' }], {
    response_schema: schema,
    max_retries: 2,
  });
  await expect(lost.output).rejects.toMatchObject({
    code: 'MODEL_OUTPUT_TRUNCATED',
    data: { metadata: { attempts: 2 } },
  });
  await expect(call([{ text: 'Pay it', finishReason: 'content-filter' }], {}).output).rejects.toMatchObject({
    code: 'MODEL_REFUSED',
  });

  const failed = call([{ text: 'Pay', finishReason: 'error' }, 'Pay it not.'], {});
  await expect(failed.output).resolves.toMatchObject({ response: { content: 'Pay it not.' } });
});
