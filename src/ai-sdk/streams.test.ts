/** Streams, calls in flight, secrets and older models under `durable`. */
import { generateText, isStepCount, jsonSchema, streamText, tool, type ToolSet } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedSdkModel } from '../../test/agents/scripted-sdk-model.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { modelDeltaOf } from '../graph/contracts/model-messages.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import type { Models } from '../ports/model.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { durable, type SdkModel } from './index.ts';
import type { SdkStreamPart } from './recorded-calls.ts';

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const finish = (unified: 'stop' | 'tool-calls' | 'interrupted'): SdkStreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
  usage,
});
const start: SdkStreamPart = { type: 'stream-start', warnings: [] };
const text = (id: string, delta: string): SdkStreamPart[] => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta },
  { type: 'text-end', id },
];

/** A model that streams these parts, an error as the end of the connection; and how often it was asked. */
function streaming(turns: readonly (readonly (SdkStreamPart | Error)[])[]): {
  readonly model: SdkModel;
  readonly asked: () => number;
  readonly prompts: readonly string[];
} {
  let count = 0;
  const prompts: string[] = [];
  const model: SdkModel = {
    ...scriptedSdkModel([]),
    async doStream({ prompt }) {
      prompts.push(JSON.stringify(prompt));
      const parts = turns[Math.min(count, turns.length - 1)] ?? [];
      count += 1;
      const played = (async function* () {
        for (const part of parts) {
          // A connection takes its time between pieces.
          await new Promise((resolve) => void setImmediate(resolve));
          if (part instanceof Error) throw part;
          yield part;
        }
      })();
      return { stream: ReadableStream.from(played) };
    },
  };
  return { model, asked: () => count, prompts };
}

/** Runs to its question, and again from its top by another process, to its end. */
async function twice(graph: Graph, bench = createBench()): Promise<unknown> {
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect(paused.status).toBe('paused');
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const { status, error, state } = await resumeToRest(engine, 'r', graph);
  expect([status, error]).toEqual(['completed', undefined]);
  return state.outputs['a'];
}

test('U4 a stream with texts and reasoning in each other, and texts after a tool call, is the same conversation when it comes from the record', async () => {
  const { model, asked } = streaming([
    [
      start,
      { type: 'reasoning-start', id: 'r', providerMetadata: { p: { opened: 1 } } },
      { type: 'text-start', id: 't' },
      { type: 'reasoning-delta', id: 'r', delta: 'so ' },
      { type: 'text-delta', id: 't', delta: 'I ' },
      { type: 'tool-input-start', id: 'c', toolName: 'look' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}', providerMetadata: { p: { signed: 'x' } } },
      { type: 'reasoning-delta', id: 'r', delta: 'and so' },
      { type: 'reasoning-end', id: 'r', providerMetadata: { p: { signed: 'y' } } },
      { type: 'text-delta', id: 't', delta: 'look.' },
      { type: 'text-end', id: 't' },
      ...text('u', 'Then I wait.'),
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.test/' },
      finish('tool-calls'),
    ],
    [start, ...text('t', 'Done.'), finish('stop')],
  ]);
  const seen: unknown[] = [];
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'support' });
    const look = tool({ inputSchema: z.object({}), execute: () => 'seen' });
    const result = streamText({
      model: d.model(model),
      tools: d.tools({ look }),
      prompt: 'Go.',
      stopWhen: isStepCount(3),
      ...d.settings,
    });
    const steps = await result.steps;
    seen.push(steps.map(({ content }) => JSON.stringify(content)));
    await ctx.ask({ prompt: 'Fine?' });
    return result.text;
  });
  expect(await twice(graph)).toBe('Done.');
  expect([asked(), seen.length]).toEqual([2, 2]);
  expect(seen[1]).toEqual(seen[0]);
  expect(String(seen[0])).toContain('"signed":"y"');
});

test('U4 a stream that is cut off after pieces were handed on fails once, and so it does from the record; before that it is tried again', async () => {
  const cut = streaming([
    [
      start,
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'Half' },
      new TypeError('terminated'),
    ],
  ]);
  const early = streaming([
    [start, new TypeError('terminated')],
    [start, ...text('t', 'Whole.'), finish('stop')],
  ]);
  const errors: string[] = [];
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'support' });
    const onError = ({ error }: { readonly error: unknown }): void => void errors.push(String(error));
    await streamText({ model: d.model(cut.model), prompt: 'One.', onError, ...d.settings }).consumeStream();
    const said = await streamText({ model: d.model(early.model), prompt: 'Two.', ...d.settings }).text;
    await ctx.ask({ prompt: 'Fine?' });
    return said;
  });
  expect(await twice(graph)).toBe('Whole.');
  expect([errors, cut.asked(), early.asked()]).toEqual([['TypeError: terminated', 'TypeError: terminated'], 1, 2]);
});

test('U4 a stream that ends before its answer does is cut off, where the provider tells so and where it tells nothing', async () => {
  const half = [start, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Half' }] as const;
  for (const end of [[finish('interrupted')], []]) {
    const begun = streaming([[...half, ...end]]);
    const empty = streaming([
      [start, ...end],
      [start, ...text('t', 'Whole.'), finish('stop')],
    ]);
    const errors: string[] = [];
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const onError = ({ error }: { readonly error: unknown }): void => void errors.push(String(error));
      await streamText({ model: d.model(begun.model), prompt: 'One.', onError, ...d.settings }).consumeStream();
      const said = await streamText({ model: d.model(empty.model), prompt: 'Two.', ...d.settings }).text;
      await ctx.ask({ prompt: 'Fine?' });
      return said;
    });
    expect(await twice(graph)).toBe('Whole.');
    const cut = 'Error: the stream ended before the answer did';
    expect([errors, begun.asked(), empty.asked()]).toEqual([[cut, cut], 1, 2]);
  }
});

test('U4 in a run that knows secrets the SDK is told what is on record, so that a restart sees the same conversation', async () => {
  const secret = 'planted-secret-value';
  const { model, asked, prompts } = streaming([
    [
      start,
      ...text('t', `It is ${secret}.`),
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' },
      finish('tool-calls'),
    ],
    [start, ...text('t', 'Done.'), finish('stop')],
  ]);
  const texts: string[] = [];
  const bench = createBench({ secrets: { read: () => secret } });
  const graph = single(async (ctx) => {
    await ctx.secrets.get('KEY');
    const d = durable(ctx, { name: 'support' });
    const look = tool({ inputSchema: z.object({}), execute: () => 'seen' });
    const result = streamText({
      model: d.model(model),
      tools: d.tools({ look }),
      prompt: `Go with ${secret}.`,
      stopWhen: isStepCount(3),
      ...d.settings,
    });
    texts.push((await result.steps)[0]?.text ?? '');
    await ctx.ask({ prompt: 'Fine?' });
    return result.text;
  });
  expect(await twice(graph, bench)).toBe('Done.');
  expect(prompts.join()).not.toContain(secret);
  expect(prompts[0]).toContain('Go with [secret:KEY].');
  expect([texts, asked()]).toEqual([['It is [secret:KEY].', 'It is [secret:KEY].'], 2]);
});

test.each([
  [{}, false, 'completed'],
  [{}, true, 'paused'],
  [{ idempotent: true }, true, 'completed'],
])(
  'U11 a call in flight at a crash, with options %j and tools of the provider: %s, leaves the run %s',
  async (options, isActing, status) => {
    const begun = Promise.withResolvers<undefined>();
    const scripted = scriptedSdkModel(['Done.']);
    let count = 0;
    const doGenerate: SdkModel['doGenerate'] = (asked) => {
      count += 1;
      if (count > 1) return scripted.doGenerate(asked);
      begun.resolve(undefined);
      return new Promise(() => {});
    };
    const web = {
      type: 'provider',
      isProviderExecuted: true,
      id: 'test.web',
      args: {},
      inputSchema: jsonSchema({}),
      outputSchema: jsonSchema({}),
    };
    const bench = createBench();
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const tools = d.tools((isActing ? { web } : {}) as ToolSet);
      return (
        await generateText({
          model: d.model({ ...scripted, doGenerate }, options),
          tools,
          prompt: 'Go.',
          ...d.settings,
        })
      ).text;
    });
    await bench.engine.start(graph, {}, { runId: 'r' });
    await begun.promise;
    const rest = await resumeToRest(afterCrash(bench), 'r', graph);
    expect([rest.status, count]).toEqual([status, status === 'completed' ? 2 : 1]);
  },
);

test('U4 U10 a model by its name reaches the SDK’s stream in pieces as they come, each told once; what follows a call comes when the answer is on record', async () => {
  const gate = Promise.withResolvers<void>();
  const models: Models = {
    generate: async ({ onDelta, messages, model }) => {
      const answer = { finishReason: 'stop', model, usage: { inputTokens: 1, outputTokens: 1 } } as const;
      if (messages.length > 1) return { ...answer, content: [{ type: 'text', text: 'Done.' }] };
      onDelta?.({ type: 'reasoning', text: 'Hm.' });
      onDelta?.({ type: 'text', text: 'I ' });
      await gate.promise;
      onDelta?.({ type: 'text', text: 'look.' });
      onDelta?.({ type: 'tool-arguments', id: 'c1', tool: 'look', text: '' });
      onDelta?.({ type: 'tool-arguments', id: 'c1', tool: 'look', text: '{}' });
      const content = [
        { type: 'reasoning', text: 'Hm.', provider: { test: { signature: 's' } } },
        { type: 'text', text: 'I look.' },
        { type: 'tool-call', id: 'c1', tool: 'look', input: {} },
      ] as const;
      return { ...answer, content, finishReason: 'tool-calls' };
    },
  };
  const told: string[] = [];
  const signatures: unknown[] = [];
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'support' });
    const look = tool({ description: 'Looks.', inputSchema: z.object({}), execute: () => 'a cairn' });
    const streamed = streamText({
      model: d.model('test:small'),
      prompt: 'Go.',
      tools: d.tools({ look }),
      stopWhen: isStepCount(3),
      ...d.settings,
    });
    for await (const part of streamed.fullStream) {
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') told.push(part.text);
      if (part.type === 'tool-call') told.push('call');
      if (part.type === 'reasoning-end') signatures.push(part.providerMetadata);
      // The model goes on only when the SDK has its first words.
      if (told.length === 2) gate.resolve();
    }
    return told.splice(0);
  });
  const bench = createBench({ models });
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const live: unknown[] = [];
  for await (const event of handle.events()) {
    const delta = modelDeltaOf(event);
    if (delta !== undefined) live.push(delta.text);
  }
  const { state } = await handle.result();
  expect(state.outputs['a']).toEqual(['Hm.', 'I ', 'look.', 'call', 'Done.']);
  expect(live).toEqual(['Hm.', 'I ', 'look.', '', '{}', 'Done.']);
  expect(signatures).toEqual([{ test: { signature: 's' } }]);
});

test('U10 models of an older interface, and models by name in a stream, work as they are', async () => {
  const older = new MockLanguageModelV3({
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'Old.' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    }),
  });
  const models = createScriptedModels([{ pieces: ['Na', 'med.'] }]);
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'support' });
    const old = await generateText({ model: d.model(older), prompt: 'Go.', ...d.settings });
    const named = streamText({
      model: d.model('test:small'),
      prompt: 'Go.',
      topP: 0.5,
      reasoning: 'high',
      ...d.settings,
    });
    const warnings = await named.warnings;
    await ctx.ask({ prompt: 'Fine?' });
    return [old.text, await named.text, warnings];
  });
  const bench = createBench({ models });
  expect(await twice(graph, bench)).toEqual(['Old.', 'Named.', [{ type: 'unsupported', feature: 'topP' }]]);
  expect(older.doGenerateCalls.length).toBe(1);
  expect(models.requests).toMatchObject([{ model: 'test:small', reasoning: 'high' }]);
});
