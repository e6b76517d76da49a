/** Fixtures: masked exports that can be imported, and replayed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, END, START, createMemoryStore } from '../../index.ts';

const desk = () =>
  new AgentGraph({ input: z.object({ amount: z.number(), password: z.string(), email: z.string() }) }, { id: 'desk' })
    .addNode('login', ({ state }) => ({ token: `t-${state.input.password}`, ok: true }), { effectClass: 'pure' })
    .addNode('token', ({ state }) => `of ${state.input.amount}`, { effectClass: 'pure' })
    .addNode(
      'pay',
      (ctx) => ctx.step('transfer', { effect: 'external', input: ctx.state.input.amount }, () => 'paid'),
      {
        effectClass: 'read',
      },
    )
    .addEdge(START, 'login')
    .addEdge('login', 'token')
    .addEdge('token', 'pay')
    .addEdge('pay', END);

async function* whole(text: string): AsyncGenerator<string> {
  yield text;
}

test('H4.3 a fixture holds no secret and nothing under a name that was given, and is imported and replayed', async () => {
  const app = desk().compile({ store: createMemoryStore() });
  const input = { amount: 7, password: 'hunter22', email: 'ann@example.org' };
  const meta = { labels: { apiToken: 'k-123456' } };
  const { state } = await app.invoke(input, { runId: 'r', meta });
  let text = '';
  for await (const piece of app.history.export('r', { fixture: true, mask: ['email'] })) text += piece;
  const decoded =
    text + Buffer.from((JSON.parse(text.split('\n')[0] ?? '') as { meta: string }).meta, 'base64').toString();
  expect(/hunter22|ann@|k-123456/.exec(decoded)).toBeNull();

  const other = desk().compile({ store: createMemoryStore() });
  const { runId } = await other.history.import(whole(text));
  const imported = await other.history.state(runId);
  expect([imported.input, imported.outputs]).toEqual([
    { amount: 7, password: '[redacted]', email: '[redacted]' },
    { ...state.outputs, login: { token: '[redacted]', ok: true }, token: '[redacted]' },
  ]);
  const fork = await other.fork(`${runId}@0`, { effects: 'refuse' });
  const replayed = await other.resume(fork.runId);
  expect([replayed.status, replayed.state.outputs['pay']]).toEqual(['completed', 'paid']);
});

test('H4.3 a fixture of a fork stands for itself', async () => {
  const app = desk().compile({ store: createMemoryStore() });
  await app.invoke({ amount: 7, password: 'x', email: 'y' }, { runId: 'r' });
  const { runId } = await app.fork('r@2');
  const { state } = await app.resume(runId);
  let text = '';
  for await (const piece of app.history.export(runId, { fixture: true })) text += piece;
  const other = desk().compile({ store: createMemoryStore() });
  const { runId: copy } = await other.history.import(whole(text));
  expect((await other.history.state(copy)).outputs['pay']).toBe(state.outputs['pay']);
});
