/** Limits over all workers that agents, their tools and the agents in texts name: real runs over scripted models (FL15). */
import { generateText, jsonSchema, stepCountIs, tool as sdkTool } from 'ai';
import { expect, test } from 'vitest';
import { agent, tool } from '../../src/agents/index.ts';
import { durable } from '../../src/ai-sdk/index.ts';
import { systemClock } from '../../src/app/process/system-clock.ts';
import { agentBlock } from '../../src/agents/block/agent-block.ts';
import { judgeBlock } from '../../src/agents/block/judge-block.ts';
import { stageAgent } from '../../src/agents/stage/stage-agent.ts';
import { readDot } from '../../src/dialects/dot/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { defineLimit } from '../../src/graph/limit.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { LimitStore } from '../../src/ports/limits.ts';
import type { Models } from '../../src/ports/model.ts';
import { limitModels } from '../../src/models/limit/limit-models.ts';
import { createScriptedModels, type Script } from '../../src/models/scripted.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { shellBlock } from '../../src/nodes/blocks/shell.ts';
import { createMemoryStore } from '../../src/stores/memory/memory-store.ts';
import { createVirtualClock } from '../../src/ports/virtual-clock.ts';
import { createBench, edges, graphOf, node, runToRest, testIds } from '../engine-kit.ts';
import { read } from '../yaml-kit.ts';

/** Counts what is in progress at once. */
class Gauge {
  now = 0;
  most = 0;
  calls = 0;

  async call(): Promise<void> {
    this.calls += 1;
    this.most = Math.max(this.most, (this.now += 1));
    await new Promise((resolve) => setImmediate(resolve));
    this.now -= 1;
  }
}

/** Models of which each call is counted. */
function countedModels(gauge: Gauge, answer: Extract<Script, (...args: never) => unknown>): Models {
  return createScriptedModels(async (request, index) => {
    await gauge.call();
    return answer(request, index);
  });
}

/** Runs a graph several times at once, on two engines over one store. */
async function runAll(
  graph: Graph,
  models: Models,
  count: number,
  clock: Clock = createVirtualClock({ isAutomatic: true }),
): Promise<readonly string[]> {
  const store = createMemoryStore({ now: () => clock.now() });
  const engines = ['one', 'two'].map((name) => createBench({ store, clock, ids: testIds(name), models }).engine);
  const runs = Array.from({ length: count }, (_, index) =>
    runToRest(engines[index % 2] as (typeof engines)[number], graph),
  );
  const statuses = (await Promise.all(runs)).map(({ status }) => status);
  const limits = store.limits as LimitStore;
  const taken = async (): Promise<boolean> =>
    (await limits.list('default', { prefix: 'place ', limit: 9 })).some(({ body }) => body.includes('holders'));
  await expect.poll(taken).toBe(false);
  return statuses;
}

const completed = (count: number): readonly string[] => Array.from({ length: count }, () => 'completed');

test('FL15 the calls of agents and of their tools keep the limits that they name, over all engines', async () => {
  defineLimit('agent-models', { concurrency: 2 });
  const toolLimit = defineLimit('agent-tools', { concurrency: 1 });
  const [asked, fetched] = [new Gauge(), new Gauge()];
  const fetchPage = tool({
    description: 'Fetches a page.',
    input: { type: 'object', properties: { page: { type: 'integer' } } },
    effect: 'external',
    approval: 'never',
    limit: toolLimit,
    run: () => fetched.call(),
  });
  const models = countedModels(asked, ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Done.'
      : { calls: [1, 2, 3].map((page) => ({ tool: 'fetchPage', input: { page } })) },
  );
  const worker = agent({ model: 'm', prompt: 'Go.', tools: { fetchPage }, calls: { limit: ['agent-models'] } });
  const graph = graphOf('agents', [{ id: 'a', ...worker }], edges('> a', 'a >'));
  expect(await runAll(graph, models, 4)).toEqual(completed(4));
  expect([asked.calls, asked.most, fetched.calls, fetched.most]).toEqual([8, 2, 12, 1]);
});

test('FL15 an agent that names the limit of its provider has one place for a call, and its tokens are corrected', async () => {
  defineLimit('single', { concurrency: 1, tokensPerMinute: 60_000 });
  const clock = createVirtualClock();
  const store = createMemoryStore({ now: clock.now });
  const usage = { inputTokens: 300, outputTokens: 400 };
  const models = limitModels(createScriptedModels(() => ({ text: 'Done.', usage })));
  const { engine } = createBench({ store, clock, models });
  const worker = agent({
    model: 'single:large',
    prompt: 'Go.',
    calls: { limit: 'single' },
    settings: { tokensMax: 9_000 },
  });
  const begun = clock.now();
  const result = await runToRest(engine, graphOf('one', [{ id: 'a', ...worker }], edges('> a', 'a >')));
  expect(result.status).toBe('completed');
  const tokensUntil = async (): Promise<unknown> => {
    const [record] = await (store.limits as LimitStore).list('default', { prefix: 'place ', limit: 9 });
    const { tokensUntil: until, holders = [] } = JSON.parse(record?.body ?? '{}') as Record<string, unknown>;
    return [Number(until) - begun, holders];
  };
  // A thousand tokens a second: what was reserved would be nine seconds.
  await expect.poll(tokensUntil).toEqual([700, []]);
});

test('FL15 an agent and a judge in YAML name the limits of their calls', async () => {
  defineLimit('texts', { concurrency: 1 });
  const asked = new Gauge();
  const models = countedModels(asked, ({ messages }) =>
    JSON.stringify(messages).includes('By what') ? '{"score":1,"reason":"fine"}' : 'Done.',
  );
  const types = createNodeTypes();
  const block = (id: string): string => `  - { id: ${id}, type: Agent, limit: texts, inputs: { prompt: Go } }\n`;
  const judge = '  - { id: c, type: Judge, limit: [texts], inputs: { prompt: Go, rubric: By what } }\n';
  const yaml = `name: w\nblocks:\n${block('a')}${block('b')}${judge}`;
  const { graph } = read(yaml, { nodeTypes: [...types, agentBlock(types), judgeBlock] });
  expect(await runAll(graph, models, 2)).toEqual(completed(2));
  expect([asked.calls, asked.most]).toEqual([6, 1]);
});

test('FL15 stages of a pipeline that ask a model, and agents in stages, name the limits of their calls', async () => {
  defineLimit('stages', { concurrency: 1 });
  const asked = new Gauge();
  const models = countedModels(asked, () => 'Done.');
  const dot = `digraph d { start [shape=Mdiamond]; exit [shape=Msquare]; fan [shape=component]; in [shape=tripleoctagon]
    a [prompt="Go", limit="stages"]; b [prompt="Go", tools="read", limit="stages"]; c [prompt="Go", limit="stages"]
    start -> fan; fan -> a -> in; fan -> b -> in; fan -> c -> in; in -> exit }`;
  const { graph } = readDot(dot, { nodeTypes: [shellBlock], source: 'd.dot', agent: stageAgent() });
  expect(await runAll(graph, models, 2)).toEqual(completed(2));
  expect([asked.calls, asked.most]).toEqual([6, 1]);
});

test('FL15 models and tools of the AI SDK under durable keep the limits that they name', async () => {
  defineLimit('sdk-models', { concurrency: 1 });
  defineLimit('sdk-tools', { concurrency: 1 });
  const [asked, fetched] = [new Gauge(), new Gauge()];
  const models = countedModels(asked, ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Done.'
      : { calls: [1, 2].map((page) => ({ tool: 'fetchPage', input: { page } })) },
  );
  const fetchPage = sdkTool({
    description: 'Fetches a page.',
    inputSchema: jsonSchema({ type: 'object', properties: { page: { type: 'integer' } } }),
    execute: () => fetched.call().then(() => 'a page'),
  });
  const work = node('a', 'pure', async (ctx) => {
    const d = durable(ctx, { name: 'd' });
    const tools = d.tools({ fetchPage }, { fetchPage: { limit: 'sdk-tools', approval: 'never' } });
    const model = d.model('m:n', { limit: ['sdk-models'] });
    return (await generateText({ model, tools, prompt: 'Go.', stopWhen: stepCountIs(3), ...d.settings })).text;
  });
  // The SDK takes turns of its own, in which a clock that goes on by itself would let leases run out.
  const graph = graphOf('sdk', [work], edges('> a', 'a >'));
  expect(await runAll(graph, models, 4, systemClock)).toEqual(completed(4));
  expect([asked.calls, asked.most, fetched.calls, fetched.most]).toEqual([8, 1, 8, 1]);
});

test('FL15 what would keep a place while it asks or waits takes no limit, and what is none is refused', () => {
  const parts = { description: 'Asks.', input: { type: 'object' } } as const;
  const draft = agent({ model: 'm', prompt: 'Go.' });
  expect(() => tool({ ...parts, composed: true, limit: 'x', run: () => 1 } as never)).toThrow(/limit/u);
  expect(() => tool({ ...parts, node: draft, limit: 'x' } as never)).toThrow(/limit/u);
  expect(() => tool({ ...parts, limit: 7, run: () => 1 } as never)).toThrow(/limit/u);
  expect(() => agent({ model: 'm', prompt: 'Go.', calls: { limit: 7 as never } })).toThrow(/limit/u);
});
