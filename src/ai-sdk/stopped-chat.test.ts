/** What was told of an answer when its run was stopped is there after a reload (CH6). */
import { expect, test } from 'vitest';
import { until } from '../../test/support/awaited.ts';
import { agent } from '../agents/agent.ts';
import { AgentGraph, END, START } from '../index.ts';
import type { Models } from '../ports/model.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { readUIMessages, toUIMessageStream } from './index.ts';

/** Tells its pieces, and then says nothing more until it is stopped. */
const slow = (pieces: readonly string[]): Models => ({
  generate: async ({ onDelta, signal }) => {
    onDelta?.({ type: 'reasoning', text: 'Let me see. ' });
    for (const text of pieces) onDelta?.({ type: 'text', text });
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    throw new Error('it was not stopped');
  },
});

test('CH6 the text of a stopped chat is there after a reload, in every process, and no part of what is said next', async () => {
  const store = createMemoryStore();
  const make = () =>
    new AgentGraph({}, { id: 'chat' })
      .addNode('bot', agent({ model: 'm' }))
      .addEdge(START, 'bot')
      .addEdge('bot', END)
      .compile({ store, models: slow(['It is ', 'on its ', 'way']) });
  const [one, other] = [make(), make()];
  const run = await one.start({ prompt: 'Where is it?' }, { runId: 'c' });
  let told = '';
  await until('the answer is told', async () => {
    told = '';
    const ending = new AbortController();
    for await (const chunk of toUIMessageStream({ runId: 'c', history: other.history }, 'bot', {
      signal: ending.signal,
    }))
      if (chunk.type === 'text-delta') {
        told += chunk.delta;
        if (told === 'It is on its way') ending.abort();
      }
    return told === 'It is on its way';
  });
  await other.cancel('c', { reason: 'stop' });
  expect((await run.result()).status).toBe('cancelled');
  const [asked, answer, ...rest] = await readUIMessages({ runId: 'c', history: make().history }, 'bot');
  expect([asked?.parts, answer?.role, rest]).toEqual([[{ type: 'text', text: 'Where is it?' }], 'assistant', []]);
  expect(answer?.parts).toEqual([
    { type: 'step-start' },
    { type: 'reasoning', id: '1:1:reasoning', text: 'Let me see. ', state: 'done' },
    { type: 'text', text: 'It is on its way', state: 'done' },
  ]);
  const fork = await other.fork('c@0', { runId: 'next' });
  expect(JSON.stringify(await readUIMessages({ runId: fork.runId, history: other.history }, 'bot'))).not.toContain(
    'way',
  );
});
