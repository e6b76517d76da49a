import { expect, test } from 'vitest';
import type { ModelRequest } from '../ports/model.ts';
import { createScriptedModels } from './scripted.ts';

const request = (content: string): ModelRequest => ({
  model: 'a:b',
  messages: [{ role: 'user', content }],
  idempotencyKey: 'k',
  signal: new AbortController().signal,
});

test('answers come in order, calls are counted, and a call too many is refused', async () => {
  const models = createScriptedModels(['one', { text: 'two', finishReason: 'length' }, new Error('three')]);
  await expect(models.generate(request('12345'))).resolves.toEqual({
    text: 'one',
    model: 'a:b',
    finishReason: 'stop',
    usage: { inputTokens: 2, outputTokens: 1 },
  });
  await expect(models.generate(request(''))).resolves.toMatchObject({ text: 'two', finishReason: 'length' });
  await expect(models.generate(request(''))).rejects.toThrow('three');
  await expect(models.generate(request(''))).rejects.toMatchObject({ code: 'MODEL_REFUSED', applied: 'no' });
  expect(models.requests).toHaveLength(4);
});

test('a function answers each request; its text is told as it comes', async () => {
  const pieces: string[] = [];
  const models = createScriptedModels(({ messages }, index) => `${index}: ${messages[0]?.content ?? ''}`);
  await models.generate(request('a'));
  const { text } = await models.generate({ ...request('b'), onText: (piece) => pieces.push(piece) });
  expect([text, ...pieces]).toEqual(['1: b', '1: b']);
});

test('a call under an aborted signal is not made', async () => {
  const models = createScriptedModels(['one']);
  const signal = AbortSignal.abort(new Error('stop'));
  await expect(models.generate({ ...request(''), signal })).rejects.toThrow('stop');
  expect(models.requests).toEqual([]);
});
