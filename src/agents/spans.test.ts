/** What a telemetry is told of agents: their calls of models and tools, by the conventions of OpenTelemetry for generative AI. */
import { generateText, isStepCount, streamText, tool as sdkTool } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { scriptedSdkModel } from '../../test/agents/scripted-sdk-model.ts';
import { recordTelemetry } from '../../test/support/recorded-telemetry.ts';
import { durable } from '../ai-sdk/index.ts';
import { type NodeContext, NodeFailure } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { createScriptedModels, type Script } from '../models/scripted.ts';
import { agent, type AgentConfig } from './agent.ts';
import { embedTexts, rerankDocuments } from './model/vector-steps.ts';
import { tool } from './tools/tool-box.ts';

const look = tool({
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  effect: 'read',
  run: ({ at }) => {
    if (at === 'nothing') throw new NodeFailure('there is nothing', { code: 'NOTHING' });
    return `planted in ${at}`;
  },
});
const helper = agent({ model: 'anthropic:small', description: 'Helps.' });

function kit(script: Script, config: Partial<AgentConfig>, more: Partial<Telemetry> = {}) {
  const told = recordTelemetry(more);
  const models = createScriptedModels(script);
  const bench = createBench({ models, telemetry: told.telemetry, secrets: { read: () => 'planted-secret' } });
  const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'openai:gpt', ...config }) }], edges('> a', 'a >'));
  return { ...told, models, bench, graph };
}

const ends = ({ spans }: ReturnType<typeof recordTelemetry>, name: string): unknown => {
  const span = spans.find((one) => one.name === name);
  const own = Object.entries({ ...span?.attributes, ...span?.ended }).filter(([key]) => !key.startsWith('cairn.'));
  return Object.fromEntries(own);
};

test('E10.5 an agent, its model calls and its tool calls are spans within each other, with the attributes of the conventions, and say nothing of contents', async () => {
  const one = kit(
    [
      {
        text: 'planted',
        calls: [
          { tool: 'look', input: { at: 'planted' }, id: 'c1' },
          { tool: 'look', input: { at: 'nothing' } },
        ],
        id: 'resp-1',
        model: 'gpt-1',
      },
      { calls: [{ tool: 'helper', input: { prompt: 'planted' } }] },
      'planted',
      'planted',
    ],
    {
      prompt: 'planted',
      instructions: 'planted',
      tools: { look, helper },
      settings: { tokensMax: 50, temperature: 0 },
    },
  );
  await runToRest(one.bench.engine, one.graph, {}, 'r');
  expect(one.tree()).toEqual([
    'cairn.run',
    '  cairn.attempt',
    '    invoke_agent a',
    '      chat gpt',
    '      execute_tool look',
    '      execute_tool look!',
    '      chat gpt',
    '      execute_tool helper',
    '      chat gpt',
    '    cairn.attempt',
    '      invoke_agent helper',
    '        chat small',
  ]);
  expect(ends(one, 'chat gpt')).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt',
    'gen_ai.request.max_tokens': 50,
    'gen_ai.request.temperature': 0,
    'gen_ai.response.model': 'gpt-1',
    'gen_ai.response.id': 'resp-1',
    'gen_ai.response.finish_reasons': ['tool-calls'],
    'gen_ai.usage.input_tokens': expect.any(Number),
    'gen_ai.usage.output_tokens': expect.any(Number),
  });
  expect(ends(one, 'execute_tool look')).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look',
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.type': 'function',
  });
  expect(ends(one, 'invoke_agent helper')).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'helper',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'small',
  });
  expect(one.spans.find(({ ended }) => ended?.['error'] === 'NOTHING')?.ended).toMatchObject({
    'error.type': 'NOTHING',
  });
  expect(JSON.stringify(one.spans.map(({ attributes, ended }) => [attributes, ended]))).not.toContain('planted');
});

test('E10.5 a call that gave no answer is a span with the code it failed with, and so is each that was asked in its place', async () => {
  const down = new NodeFailure('planted', { code: 'MODEL_REFUSED', applied: 'no' });
  const one = kit([down, 'Here.'], { prompt: '?', model: ['openai:gpt', 'google:gemini-pro'] });
  await runToRest(one.bench.engine, one.graph, {}, 'r');
  expect(one.tree().slice(2)).toEqual(['    invoke_agent a', '      chat gpt!', '      chat gemini-pro']);
  expect(ends(one, 'chat gpt')).toMatchObject({ 'error.type': 'MODEL_REFUSED', error: 'MODEL_REFUSED' });
  expect(ends(one, 'chat gemini-pro')).toMatchObject({ 'gen_ai.provider.name': 'gcp.gemini' });
});

test('E10.5 what is on record is no span: a resume tells of its own calls alone', async () => {
  const send = tool({ description: 'Sends.', input: z.object({}), run: () => 'sent' });
  const script: Script = ({ messages }) =>
    messages.length === 1
      ? { calls: [{ tool: 'look', input: { at: 'x' } }] }
      : messages.length === 3
        ? { calls: [{ tool: 'send' }] }
        : 'Done.';
  const one = kit(script, { prompt: '?', tools: { look, send } });
  const paused = await runToRest(one.bench.engine, one.graph, {}, 'r');
  const before = one.spans.length;
  expect(one.tree().slice(2)).toEqual([
    '    invoke_agent a',
    '      chat gpt',
    '      execute_tool look',
    '      chat gpt',
  ]);
  const engine = afterCrash(one.bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'approve');
  expect((await resumeToRest(engine, 'r', one.graph)).state.outputs).toEqual({ a: 'Done.' });
  expect(one.spans.slice(before).map(({ name }) => name)).toEqual([
    'cairn.run',
    'cairn.attempt',
    'invoke_agent a',
    'execute_tool send',
    'chat gpt',
  ]);
});

test('E10.6 contents are told where the telemetry asks for them: messages, tools, arguments and results, with secrets masked', async () => {
  const leak = tool({
    description: 'Leaks.',
    input: z.object({ password: z.string() }),
    effect: 'read',
    run: async (_, { secrets }) => `got ${await secrets.get('KEY')}`,
  });
  const script: Script = [
    { calls: [{ tool: 'leak', input: { password: 'hunter2' }, id: 'c1' }] },
    'It is planted-secret.',
  ];
  const one = kit(script, { prompt: 'Go.', instructions: 'Be brief.', tools: { leak } }, { contents: true });
  await runToRest(one.bench.engine, one.graph, {}, 'r');
  const chats = one.spans.filter(({ name }) => name === 'chat gpt');
  const json = (value: unknown): unknown => JSON.parse(String(value));
  expect(json(chats[1]?.attributes['gen_ai.input.messages'])).toEqual([
    { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
    { role: 'user', parts: [{ type: 'text', content: 'Go.' }] },
    {
      role: 'assistant',
      parts: [{ type: 'tool_call', id: 'c1', name: 'leak', arguments: { password: '[redacted]' } }],
    },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'got [secret:KEY]' }] },
  ]);
  expect(json(chats[1]?.ended?.['gen_ai.output.messages'])).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: 'It is [secret:KEY].' }], finish_reason: 'stop' },
  ]);
  expect(json(chats[0]?.attributes['gen_ai.tool.definitions'])).toMatchObject([{ name: 'leak' }]);
  expect(ends(one, 'execute_tool leak')).toMatchObject({
    'gen_ai.tool.call.arguments': '{"password":"[redacted]"}',
    'gen_ai.tool.call.result': 'got [secret:KEY]',
  });
  expect(JSON.stringify(one.spans.map(({ attributes, ended }) => [attributes, ended]))).not.toMatch(
    /hunter2|planted-secret/u,
  );
});

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

test.each(['generateText', 'streamText'])('E10.5 calls of the AI SDK under durable are spans, too: %s', async (way) => {
  const told = recordTelemetry({ contents: true });
  const bench = createBench({ telemetry: told.telemetry });
  let tries = 0;
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'c' });
    const model = scriptedSdkModel([{ calls: [['add', { a: 1 }]] }, 'Two.'], { modelId: 'small' });
    const add = sdkTool({ description: 'Adds.', inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a + 1 });
    const own = {
      model: d.model(model),
      tools: d.tools({ add }),
      prompt: 'Go.',
      stopWhen: isStepCount(5),
      ...d.settings,
    };
    const { text } = way === 'generateText' ? await generateText(own) : streamText(own);
    const answer = await text;
    if ((tries += 1) === 1) throw new Error('not yet');
    return answer;
  });
  await runToRest(bench.engine, graph, {}, 'r');
  expect(told.tree()).toEqual([
    'cairn.run!',
    '  cairn.attempt!',
    '    chat small',
    '    execute_tool add',
    '    chat small',
  ]);
  expect(ends(told, 'chat small')).toMatchObject({
    'gen_ai.provider.name': 'test',
    'gen_ai.response.finish_reasons': ['tool-calls'],
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Go."}]}]',
  });
  expect(ends(told, 'execute_tool add')).toMatchObject({
    'gen_ai.tool.call.id': 'call-0-0',
    'gen_ai.tool.call.arguments': '{"a":1}',
    'gen_ai.tool.call.result': '2',
  });
  const before = told.spans.length;
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs).toEqual({ a: 'Two.' });
  expect(told.spans.slice(before).map(({ name }) => name)).toEqual(['cairn.run', 'cairn.attempt']);
});

test('E10.5 a model by its name under durable is one span, told by the model port', async () => {
  const told = recordTelemetry();
  const bench = createBench({ telemetry: told.telemetry, models: createScriptedModels(['Hi.']) });
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'c' });
    return (await generateText({ model: d.model('openai:gpt'), prompt: 'Go.', ...d.settings })).text;
  });
  await runToRest(bench.engine, graph, {}, 'r');
  expect(told.tree()).toEqual(['cairn.run', '  cairn.attempt', '    chat gpt']);
});

test('E10.5 vectors and rankings are spans with what they cost, and the number of dimensions in place of numbers', async () => {
  const recorded = recordTelemetry();
  const { engine } = createBench({ models: createScriptedModels([]), telemetry: recorded.telemetry });
  const search = async (ctx: NodeContext): Promise<unknown> => {
    await embedTexts(ctx, { model: 'openai:small', texts: ['planted'], dimensions: 8 });
    return rerankDocuments(ctx, { model: 'cohere:rank', query: 'planted', documents: ['planted'] });
  };
  await runToRest(engine, graphOf('g', [node('a', 'read', search)], edges('> a', 'a >')), {}, 'r');
  expect(recorded.tree()).toEqual(['cairn.run', '  cairn.attempt', '    embeddings small', '    rerank rank']);
  expect(ends(recorded, 'embeddings small')).toEqual({
    'gen_ai.operation.name': 'embeddings',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'small',
    'gen_ai.response.model': 'openai:small',
    'gen_ai.usage.input_tokens': 2,
    'gen_ai.embeddings.dimension.count': 8,
  });
  expect(JSON.stringify(recorded.spans.map(({ attributes, ended }) => [attributes, ended]))).not.toContain('planted');
});
