/** A conversation of several nodes: read by all, appended to by each, in an order that no schedule changes. */
import { expect, test } from 'vitest';
import { AgentGraph, END, flow, outcome, START } from '../../index.ts';
import { afterCrash, createBench, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { crashEverywhere } from '../../testing/crash-kit/crash-everywhere.ts';
import { sampleCrashes } from '../../../test/support/scale.ts';
import type { Graph } from '../../graph/graph.ts';
import { agent } from '../agent.ts';
import { askPerson } from '../people/ask-person.ts';

const models = () =>
  createScriptedModels(
    ({ model, messages }) => `${model} heard ${messages.filter(({ role }) => role !== 'system').length}`,
  );
const speaker = (model: string) => agent({ model, instructions: 'Talk.', chat: 'chat' });

/** A person opens; one answers, two side by side, and the first has the last word. */
const graph = (): Graph =>
  new AgentGraph({}, { id: 'talk' })
    .addNode('user', () => outcome({ scratch: { chat: [{ author: 'user', content: 'What is for tea?' }] } }))
    .addNode('host', speaker('host'))
    .addNode('cook', speaker('cook'))
    .addNode('guest', speaker('guest'))
    .addNode('end', speaker('host'), { join: 'all' })
    .addEdge(START, 'user')
    .addEdge('user', 'host')
    .addEdge('host', 'cook')
    .addEdge('host', 'guest')
    .addEdge('cook', 'end')
    .addEdge('guest', 'end')
    .addEdge('end', END)
    .toGraph();

test('A45 each turn has its author, is read by all, and of two side by side none is lost', async () => {
  const scripted = models();
  const { engine } = createBench({ models: scripted });
  const { state } = await runToRest(engine, graph(), {});
  expect(state.scratch['chat']).toEqual([
    { author: 'user', content: 'What is for tea?' },
    { author: 'host', content: 'host heard 1' },
    { author: 'cook', content: 'cook heard 2' },
    { author: 'guest', content: 'guest heard 2' },
    { author: 'end', content: 'host heard 4' },
  ]);
  expect(scripted.requests.at(-1)?.messages.slice(1)).toEqual([
    { role: 'user', content: 'user: What is for tea?' },
    { role: 'user', content: 'host: host heard 1' },
    { role: 'user', content: 'cook: cook heard 2' },
    { role: 'user', content: 'guest: guest heard 2' },
  ]);
});

test('A45 one that speaks again finds its own turns as its answers, and a prompt comes after the conversation', async () => {
  const scripted = models();
  const { engine } = createBench({ models: scripted });
  const loop = new AgentGraph({}, { id: 'loop' })
    .addNode('host', agent({ model: 'm', prompt: 'Go on.', chat: 'chat' }), { maxVisits: 3 })
    .addEdge(START, 'host')
    .addConditionalEdge(
      'host',
      ({ state }) => ((state.scratch as { chat: readonly unknown[] }).chat.length < 2 ? 'host' : END),
      ['host', END],
    )
    .toGraph();
  await runToRest(engine, loop, {});
  expect(scripted.requests.at(-1)?.messages).toEqual([
    { role: 'assistant', content: 'm heard 1' },
    { role: 'user', content: 'Go on.' },
  ]);
});

test('A45 P1 killed anywhere, the conversation is the same', async () => {
  const report = await crashEverywhere(
    { graph, input: {}, models, answer: () => undefined },
    { open: (now) => ({ store: createMemoryStore({ now }) }), choose: sampleCrashes(10) },
  );
  expect([report.trials > 5, report.faults]).toEqual([true, []]);
});

test('A45 what others say meanwhile is not heard by one that waits for a person, and is there for the next', async () => {
  const scripted = createScriptedModels(({ model, messages }) => {
    if (model !== 'slow' || messages.at(-1)?.role === 'tool') return `${model} done`;
    return { calls: [{ tool: 'ask', input: { message: 'Which?' } }] };
  });
  const bench = createBench({ models: scripted });
  const waiting = flow('waiting', {
    slow: { run: agent({ model: 'slow', prompt: 'Ask.', tools: { ask: askPerson() }, chat: 'chat' }) },
    quick: { run: agent({ model: 'quick', prompt: 'Say.', chat: 'chat' }) },
  }).toGraph();
  const { waits } = await runToRest(bench.engine, waiting, {}, 'r');
  const engine = afterCrash(bench);
  await engine.answer('r', waits[0]?.waitId ?? '', 'this');
  const { state } = await resumeToRest(engine, 'r', waiting);
  expect(state.scratch['chat']).toEqual([
    { author: 'quick', content: 'quick done' },
    { author: 'slow', content: 'slow done' },
  ]);
  expect(JSON.stringify(scripted.requests.filter(({ model }) => model === 'slow'))).not.toContain('quick');
});

test('A45 a name that is none, and a prompt that nobody gives, are refused', async () => {
  expect(() => agent({ model: 'm', chat: 'a.b' })).toThrow('chat');
  const { engine } = createBench({ models: models() });
  const alone = flow('alone', { a: { run: agent({ model: 'm', chat: 'chat' }) } }).toGraph();
  expect((await runToRest(engine, alone, {})).error?.message).toContain('no prompt');
});
