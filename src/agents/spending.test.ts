/** Agents under budgets, and models that stand in for others. */
import { generateText } from 'ai';
import { expect, test } from 'vitest';
import { scriptedSdkModel } from '../../test/agents/scripted-sdk-model.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { durable } from '../ai-sdk/index.ts';
import type { Amounts } from '../graph/amounts.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import { costOf } from '../models/ai-sdk.ts';
import { createScriptedModels, type Script, type ScriptedTurn } from '../models/scripted.ts';
import type { Models } from '../ports/model.ts';
import { agent, type AgentConfig } from './agent.ts';
import { llmNode } from './answers/llm-node.ts';
import { tool } from './tools/tool-box.ts';

const look = tool({ description: 'Looks.', input: { type: 'object' }, effect: 'read', run: () => 'seen' });
/** Looks three times; each call takes 100 tokens in and 20 out. */
const turn = (index: number): ScriptedTurn => ({
  ...(index < 3 ? { calls: [{ tool: 'look', input: { index } }] } : { text: 'Done.' }),
  usage: { inputTokens: 100, outputTokens: 20 },
});
const looks: Script = ({ messages }) => turn(messages.filter(({ role }) => role === 'assistant').length);

function kit(script: Script, config: Partial<AgentConfig>, models?: (scripted: Models) => Models) {
  const scripted = createScriptedModels(script);
  const bench = createBench({ models: models?.(scripted) ?? scripted });
  const node = agent({ model: 'm', prompt: 'Go.', tools: { look }, ...config });
  return { bench, requests: scripted.requests, graph: graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >')) };
}

test('A13 an agent that has spent its budget asks before the next call; what is spent survives a kill, and more is given once', async () => {
  const { bench, requests, graph } = kit(looks, { budget: { tokens: 240 }, settings: { tokensMax: 20 } });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, requests.length, paused.waits[0]?.budget]).toMatchObject([
    'paused',
    // The second call reserves what the provider counted of the first, what came since, and its own answer: over 240 with the third.
    1,
    { of: ['a'], unit: 'tokens', limit: 240, spent: 120 },
  ]);
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 200);
  const again = await resumeToRest(engine, 'r', graph);
  expect([again.status, requests.length, again.spent?.['tokens']]).toEqual(['paused', 3, 360]);
  await engine.answer('r', again.waits[0]?.waitId ?? '', 'fail');
  const failed = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([failed.status, requests.length]).toEqual(['failed', 3]);
  expect(failed.error?.cause).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    data: { of: 'node a', unit: 'tokens', spent: 360 },
  });
});

test('A13 the cost of a call is reserved by the prices of its models', async () => {
  const prices = { m: { input: 1_000_000, output: 1_000_000 }, dear: { input: 2_000_000, output: 2_000_000 } };
  const priced = (scripted: Models): Models => ({
    generate: async (request) => {
      const response = await scripted.generate(request);
      return { ...response, ...costOf(prices, request.model, response.usage) };
    },
    costOf: (model, usage) => costOf(prices, model, usage).cost,
  });
  const config = { onBudget: 'fail', settings: { tokensMax: 20 } } as const;
  const enough = kit(looks, { ...config, budget: { cost: 560 } }, priced);
  expect(await runToRest(enough.bench.engine, enough.graph)).toMatchObject({
    status: 'completed',
    spent: { cost: 480 },
  });
  const tooDear = kit(looks, { ...config, model: ['m', 'dear'], budget: { cost: 560 } }, priced);
  const failed = await runToRest(tooDear.bench.engine, tooDear.graph);
  expect([failed.status, tooDear.requests.length]).toEqual(['failed', 3]);
});

test('A13 seconds are those of model calls and tools', async () => {
  const { bench, graph } = kit(
    async (request, index) => {
      await bench.clock.sleep(2_000);
      return (looks as (...given: unknown[]) => ScriptedTurn)(request, index);
    },
    { budget: { seconds: 12 }, tools: { look: { ...look, run: () => bench.clock.sleep(1_000) } } },
  );
  const done = await runToRest(bench.engine, graph);
  expect([done.status, done.spent?.['seconds']]).toEqual(['completed', 11]);
});

/** Answers of 100 tokens in and 20 out: a helper is asked for once, then the end. */
const helped: Script = ({ model, messages }) => ({
  ...(model === 'm' && messages.length === 1
    ? { calls: [{ tool: 'helper', input: { prompt: 'Help.' } }] }
    : { text: 'Done.' }),
  usage: { inputTokens: 100, outputTokens: 20 },
});

test.each([{ tokens: 200 }, { tokens: 200, seconds: 60 }])(
  'A13 a budget of %j holds agents within, too, which name no such unit',
  async (budget) => {
    const helper = agent({ model: 'small', description: 'Helps.' });
    const { bench, requests, graph } = kit(helped, { budget, onBudget: 'fail', tools: { helper } });
    const failed = await runToRest(bench.engine, graph);
    // The third call does not begin: 240 of 200 are spent.
    expect([failed.status, requests.length, failed.spent?.['tokens']]).toEqual(['failed', 2, 240]);
    expect(failed.error?.cause).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  },
);

test('A13 a budget of the run in tokens holds agents, nodes of one answer and agents of the AI SDK; without one none is spent', async () => {
  const sdk = node('sdk', 'pure', async (ctx) => {
    const d = durable(ctx, { name: 'd' });
    const { text } = await generateText({ model: d.model(scriptedSdkModel(['Said.'])), prompt: 'Go.', ...d.settings });
    return text;
  });
  const nodes = [
    { id: 'a', ...agent({ model: 'm', prompt: 'Go.' }) },
    { id: 'b', ...llmNode({ model: 'm', prompt: 'Go.' }) },
    sdk,
  ];
  const graph = graphOf('g', nodes, edges('> a', 'a > b', 'b > sdk', 'sdk >'));
  const answer: Script = () => ({ text: 'Done.', usage: { inputTokens: 100, outputTokens: 20 } });
  const spent = async (budget: Amounts): Promise<number | undefined> => {
    const { engine } = createBench({ models: createScriptedModels(answer) });
    const handle = await engine.start(graph, {}, { runId: 'r', budget });
    return (await handle.result()).spent['tokens'];
  };
  expect(await spent({ tokens: 1_000 })).toBe(255);
  expect(await spent({ outputTokens: 1_000 })).toBeUndefined();
});

test('A14 where a model gives no answer the next is asked, and the record says which answered', async () => {
  const down = new NodeFailure('down', { code: 'MODEL_UNAVAILABLE', applied: 'no' });
  const filtered: ScriptedTurn = { content: [], finishReason: 'content-filter' };
  const { bench, requests, graph } = kit(({ model }) => (model === 'a' ? down : model === 'b' ? filtered : 'Done.'), {
    model: ['a', 'b', 'c'],
  });
  const told: unknown[] = [];
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  for await (const event of handle.events({ live: true }))
    if ('detail' in event && (event.detail as { type?: string } | undefined)?.type === 'model-fallback')
      told.push(event.detail);
  expect(await handle.result()).toMatchObject({ status: 'completed', state: { outputs: { a: 'Done.' } } });
  expect(requests.map(({ model }) => model)).toEqual(['a', 'b', 'c']);
  expect(told).toMatchObject([
    { from: 'a', to: 'b', code: 'MODEL_UNAVAILABLE' },
    { from: 'b', to: 'c', code: 'MODEL_REFUSED' },
  ]);
});

test('A14 if none answers, all are tried again while one of them may pass, and the failure is told', async () => {
  const down = new NodeFailure('down', { code: 'MODEL_UNAVAILABLE', applied: 'no' });
  const refused = new NodeFailure('refused', { code: 'MODEL_REFUSED', applied: 'no' });
  const { bench, requests, graph } = kit(({ model }) => (model === 'a' ? down : refused), { model: ['a', 'b'] });
  const failed = await runToRest(bench.engine, graph);
  expect([failed.status, requests.map(({ model }) => model).join('')]).toEqual(['failed', 'ababab']);
  expect(failed.error?.cause).toMatchObject({ code: 'MODEL_UNAVAILABLE' });
});

test('A14 a model that refuses fails the node by name, and a resume asks it again', async () => {
  const { bench, requests, graph } = kit(
    (_, index) => (index === 0 ? { content: [], finishReason: 'content-filter' } : 'Done.'),
    {},
  );
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect(failed.error?.cause).toMatchObject({ code: 'MODEL_REFUSED' });
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([done.state.outputs, requests.length]).toEqual([{ a: 'Done.' }, 2]);
});
