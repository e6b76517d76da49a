/** Agents whose conversations are told in short: what is sent, and what stays in the live state. */
import { expect, test } from 'vitest';
import { agentKit } from '../../../test/agents/agent-kit.ts';
import { afterCrash, resumeToRest, rowOf, runToRest } from '../../../test/engine-kit.ts';
import { loadState } from '../../history/load/load.ts';
import type { Script, ScriptedAnswer } from '../../models/scripted.ts';
import type { ModelRequest } from '../../ports/model.ts';
import { agent, type AgentConfig } from '../agent.ts';
import { tool } from '../tools/tool-box.ts';

const look = tool({
  description: 'Looks.',
  input: { type: 'object' },
  effect: 'read',
  cacheable: true,
  run: (args) => ({ args }),
});
const limited = tool({
  description: 'Limited.',
  input: { type: 'object' },
  effect: 'read',
  callsMax: 1,
  run: () => 'once',
});
const ask = tool({
  description: 'Asks.',
  input: { type: 'object' },
  composed: true,
  run: (_, ctx) => ctx.ask({ prompt: 'Which?' }),
});
const config: Partial<AgentConfig> = {
  instructions: 'Work.',
  tools: { look, limited, ask },
  history: { messagesMax: 5, summary: { model: 'small', messagesKept: 2 } },
};
/** Looks, and looks again; after the summary it asks, looks a third time, and is done. */
const script = ({ model, messages }: ModelRequest): ScriptedAnswer => {
  if (model === 'small') return 'It looked.';
  const answers = messages.filter(({ role }) => role === 'assistant').length;
  const isShort = JSON.stringify(messages).includes('in short');
  if (!isShort) return { calls: [{ tool: answers === 1 ? 'limited' : 'look', input: { n: answers % 2 } }] };
  if (answers === 1)
    return { calls: [{ tool: 'ask', id: 'q' }, { tool: 'look', input: { n: 0 } }, { tool: 'limited' }] };
  return 'Done.';
};

test('A11 a summary stands for the oldest messages; what it was made of leaves the live state, and a resume goes on from it', async () => {
  const { bench, models, graph } = agentKit(script, config);
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect(paused.status).toBe('paused');
  expect(models.requests.map(({ model }) => model)).toEqual(['m', 'm', 'm', 'small', 'm']);
  const [first] = models.requests;
  const summary = models.requests[3];
  expect(summary?.tools).toBeUndefined();
  expect(summary?.messages[1]?.content).toBe(
    '[user]\nGo.\n\n[assistant]\ncalls look with {"n":0}\n\n[tool]\nlook gave {"args":{"n":0}}\n\n[assistant]\ncalls limited with {"n":1}\n\n[tool]\nlimited gave "once"',
  );
  expect(models.requests[4]?.messages.slice(0, 2)).toEqual([
    first?.messages[0],
    { role: 'user', content: 'The conversation so far, in short:\nIt looked.' },
  ]);
  expect(models.requests[4]?.messages.slice(2).map(({ role }) => role)).toEqual(['assistant', 'tool']);
  const { store, options } = bench;
  const { root } = await loadState(store, options.blobs, await rowOf(bench, 'r'));
  const live = Object.keys(root.frame.nodes['a']?.steps ?? {}).map((key) => key.split(' ').slice(0, 2).join(' '));
  expect(live.map((key) => key.replace(/ [\w-]{20,}$/u, ''))).toEqual(['model', 'tool ask']);
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'this');
  const done = await resumeToRest(engine, 'r', graph);
  expect([done.state.outputs, models.requests.length]).toEqual([{ a: 'Done.' }, 6]);
  const told = models.requests[5]?.messages.at(-1)?.content as readonly { output: unknown }[];
  // The bound of calls and the cache hold across the summary.
  expect(told.map(({ output }) => output)).toEqual([
    'this',
    { args: { n: 0 } },
    'limited may be called 1 times, and was: go on without it',
  ]);
});

test('A3 A11 where the model that summarises says nothing, messages are left out, and the next summary is asked for', async () => {
  let summaries = 0;
  const silentOnce: Script = (request) => {
    if (request.model === 'small') return (summaries += 1) === 1 ? '' : 'It looked.';
    return script(request);
  };
  const { bench, models, graph } = agentKit(silentOnce, config);
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, summaries]).toEqual(['paused', 2]);
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'this');
  const asked = models.requests.length;
  const done = await resumeToRest(engine, 'r', graph);
  expect([done.state.outputs, summaries, models.requests.length]).toEqual([{ a: 'Done.' }, 2, asked + 1]);
});

test('A11 summaries need to be told when a conversation is too long', () => {
  expect(() => agent({ model: 'm', history: { summary: true } })).toThrow(
    /history\.summary needs messagesMax or tokensMax/u,
  );
  expect(() => agent({ model: 'm', history: { tokensMax: 0 } })).toThrow(
    /history\.tokensMax must be a whole number over 0/u,
  );
});

/** Makes the call and asks; then it looks, until a summary stands for all that, and makes the same call and asks again. */
const twice =
  (call: { readonly tool: string; readonly input: unknown }): Script =>
  ({ model, messages }) => {
    if (model === 'small') return 'It looked.';
    const answers = messages.filter(({ role }) => role === 'assistant').length;
    const isShort = JSON.stringify(messages).includes('in short');
    const looks = [0, 1].map((n) => ({ calls: [{ tool: 'look', input: { n } }] }));
    const turns = [{ calls: [call] }, { calls: [{ tool: 'ask' }] }];
    return (isShort ? [looks[0], ...turns] : [...turns, ...looks])[answers] ?? 'Done.';
  };

test('A4 A11 P1 a call that failed and was told before a pause counts as made, so that an equal one after a summary has its own key', async () => {
  const keys: (string | undefined)[] = [];
  const fails = tool({
    description: 'Fails.',
    input: { type: 'object' },
    run: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      throw new Error('It is down.');
    },
  });
  const { bench, graph } = agentKit(twice({ tool: 'fails', input: {} }), {
    ...config,
    tools: { look, ask, fails },
    allow: ['fails'],
    history: { messagesMax: 7, summary: { model: 'small', messagesKept: 2 } },
  });
  let result = await runToRest(bench.engine, graph, {}, 'r');
  for (let asked = 0; asked < 2; asked += 1) {
    const engine = afterCrash(bench);
    await engine.answer('r', result.waits[0]?.waitId ?? '', 'this');
    result = await resumeToRest(engine, 'r', graph);
  }
  expect(result.state.outputs).toEqual({ a: 'Done.' });
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(2);
});

test('A6 A11 a call that a person was asked about after a summary keeps the arguments that were given', async () => {
  const sent: unknown[] = [];
  const send = tool({
    description: 'Sends.',
    input: { type: 'object' },
    run: (args) => (sent.push(args), 'sent'),
  });
  const { bench, graph } = agentKit(twice({ tool: 'send', input: { to: 'ann' } }), {
    ...config,
    tools: { look, ask, send },
    history: { messagesMax: 7, summary: { model: 'small', messagesKept: 2 } },
  });
  let result = await runToRest(bench.engine, graph, {}, 'r');
  const answers = ['approve', 'this', { decision: 'edit', args: { to: 'bob' } }, 'that'];
  for (const answer of answers) {
    const engine = afterCrash(bench);
    await engine.answer('r', result.waits[0]?.waitId ?? '', answer);
    result = await resumeToRest(engine, 'r', graph);
  }
  expect([result.error, result.state.outputs, sent]).toEqual([
    undefined,
    { a: 'Done.' },
    [{ to: 'ann' }, { to: 'bob' }],
  ]);
});

test('A11 a static message of the prompt is in every request, word for word, and in no summary, over a crash too', async () => {
  const rule = { role: 'user', content: 'Never spend over 10 EUR: ${this} {{stays}}.', static: true } as const;
  const prompt = [{ role: 'user', content: 'Go.' }, rule] as const;
  const { bench, models, graph } = agentKit(script, {
    ...config,
    prompt,
    history: { messagesMax: 6, summary: { model: 'small', messagesKept: 2 } },
  });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'this');
  expect((await resumeToRest(engine, 'r', graph)).state.outputs).toEqual({ a: 'Done.' });
  const [told, asked] = [models.requests.filter(({ model }) => model === 'small'), models.requests.filter(({ model }) => model === 'm')]; // prettier-ignore
  expect([told.length > 0, JSON.stringify(told).includes('Never spend')]).toEqual([true, false]);
  expect(asked.map(({ messages }) => messages.filter(({ content }) => content === rule.content).length)).toEqual(
    asked.map(() => 1),
  );
});
