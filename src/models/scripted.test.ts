import { expect, test } from 'vitest';
import { textOf, type ModelDelta } from '../graph/contracts/model-messages.ts';
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
    content: [{ type: 'text', text: 'one' }],
    model: 'a:b',
    finishReason: 'stop',
    usage: { inputTokens: 2, outputTokens: 1 },
  });
  await expect(models.generate(request(''))).resolves.toMatchObject({
    content: [{ text: 'two' }],
    finishReason: 'length',
  });
  await expect(models.generate(request(''))).rejects.toThrow('three');
  await expect(models.generate(request(''))).rejects.toMatchObject({ code: 'MODEL_REFUSED', applied: 'no' });
  expect(models.requests).toHaveLength(4);
});

test('in a new process a list goes on behind the answers that the conversation holds', async () => {
  const script = [{ calls: [{ tool: 'look' }] }, { calls: [{ tool: 'mail', id: 'own' }] }, 'done'];
  const { content } = await createScriptedModels(script).generate(request('go'));
  const later = createScriptedModels(script);
  const second = { ...request('go'), messages: [...request('go').messages, { role: 'assistant', content } as const] };
  expect(await later.generate(second)).toMatchObject({ content: [{ tool: 'mail' }] });
  // What is asked here counts, too: an id of the script's own tells no number.
  expect(await later.generate(second)).toMatchObject({ content: [{ text: 'done' }] });
  expect(await createScriptedModels(script).generate(request('go'))).toMatchObject({ content: [{ tool: 'look' }] });
});

test('a function answers each request; its text is told as it comes', async () => {
  const deltas: ModelDelta[] = [];
  const models = createScriptedModels(({ messages }, index) => `${index}: ${textOf(messages[0]?.content ?? '')}`);
  await models.generate(request('a'));
  const { content } = await models.generate({ ...request('b'), onDelta: (delta) => deltas.push(delta) });
  expect([textOf(content), ...deltas]).toEqual(['1: b', { type: 'text', text: '1: b' }]);
});

test('a script reasons, speaks in pieces and calls tools, whole or as a stream', async () => {
  const turn = {
    reasoning: 'hm',
    pieces: ['I ', 'look.'],
    calls: [
      { tool: 'look', input: { at: 1 } },
      { tool: 'end', id: 'own' },
    ],
  };
  const models = createScriptedModels([turn, turn]);
  const deltas: ModelDelta[] = [];
  const response = await models.generate({ ...request('a'), onDelta: (delta) => deltas.push(delta) });
  expect(response).toMatchObject({
    content: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-call', id: 'call-1-1', tool: 'look', input: { at: 1 } },
      { type: 'tool-call', id: 'own', tool: 'end', input: {} },
    ],
    finishReason: 'tool-calls',
  });
  expect(deltas.map((delta) => [delta.type, delta.text])).toEqual([
    ['reasoning', 'hm'],
    ['text', 'I '],
    ['text', 'look.'],
    ['tool-arguments', ''],
    ['tool-arguments', '{"at":1}'],
    ['tool-arguments', ''],
    ['tool-arguments', '{}'],
  ]);
  const again = await models.generate(request('a'));
  expect(again.content.at(2)).toMatchObject({ id: 'call-2-1' });
});

test('a call under an aborted signal is not made', async () => {
  const models = createScriptedModels(['one']);
  const signal = AbortSignal.abort(new Error('stop'));
  await expect(models.generate({ ...request(''), signal })).rejects.toThrow('stop');
  expect(models.requests).toEqual([]);
});
