/** `durable` under the loops of the real AI SDK: what is asked, what is called, what is on record, and what a restart makes of it. */
import { generateText, isStepCount, streamText, tool, ToolLoopAgent, type ToolSet } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
} from '../../test/engine-kit.ts';
import { scriptedSdkModel, type ScriptedSdkModel, type Turn } from '../../test/agents/scripted-sdk-model.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import { durable, type Durable } from './index.ts';

type Loop = (parts: {
  readonly d: Durable;
  readonly model: ScriptedSdkModel;
  readonly tools: ToolSet;
  readonly prompt: string;
}) => Promise<string>;

/** The four ways in which the SDK runs a loop. */
const loops: Readonly<Record<string, Loop>> = {
  generateText: async ({ d, model, tools, prompt }) =>
    (
      await generateText({
        model: d.model(model),
        tools,
        prompt,
        stopWhen: isStepCount(9),
        abortSignal: d.signal,
        ...d.settings,
      })
    ).text,
  streamText: async ({ d, model, tools, prompt }) =>
    streamText({ model: d.model(model), tools, prompt, stopWhen: isStepCount(9), abortSignal: d.signal, ...d.settings })
      .text,
  'ToolLoopAgent.generate': async ({ d, model, tools, prompt }) =>
    (
      await new ToolLoopAgent({ model: d.model(model), tools, ...d.settings }).generate({
        prompt,
        abortSignal: d.signal,
      })
    ).text,
  'ToolLoopAgent.stream': async ({ d, model, tools, prompt }) =>
    (await new ToolLoopAgent({ model: d.model(model), tools, ...d.settings }).stream({ prompt, abortSignal: d.signal }))
      .text,
};
const ways = Object.entries(loops);

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

const script: readonly Turn[] = [
  {
    text: 'Let me see.',
    calls: [
      ['add', { a: 1, b: 2 }],
      ['add', { a: 3, b: 4 }],
      ['add', { a: 1, b: 2 }],
    ],
  },
  { calls: [['send', { to: 'ann' }]] },
  'It is ten.',
];

function toolsOf(called: unknown[]): ToolSet {
  return {
    add: tool({
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: (args) => (called.push(args), args.a + args.b),
    }),
    send: tool({
      description: 'Sends.',
      inputSchema: z.object({ to: z.string() }),
      execute: (args) => (called.push(args), { sent: args.to }),
    }),
  };
}

describe.each(ways)('%s', (_, loop) => {
  test('U1 U5 each model call and each tool call is a step, and the answer is that of the SDK alone', async () => {
    const called: unknown[] = [];
    const model = scriptedSdkModel(script);
    const graph = single((ctx) => {
      const d = durable(ctx, { name: 'support' });
      return loop({ d, model, tools: d.tools(toolsOf(called), { add: { effect: 'pure' } }), prompt: 'Go.' });
    });
    const { engine } = createBench({ findGraph: () => graph });
    const result = await runToRest(engine, graph, {}, 'r');
    expect([result.status, result.state.outputs]).toEqual(['completed', { a: 'It is ten.' }]);
    expect([model.requests.length, called]).toEqual([
      3,
      [{ a: 1, b: 2 }, { a: 3, b: 4 }, { a: 1, b: 2 }, { to: 'ann' }],
    ]);
    const steps = (await changesOf(engine, 'r'))
      .flatMap((line) => line.split(' + '))
      .filter((line) => line.startsWith('step a'));
    const kinds = steps.map((line) => line.replace(/[\w-]{22,}/gu, 'HASH'));
    expect(kinds).toEqual([
      'step a support model HASH',
      'step a support tool add HASH',
      'step a support tool add HASH',
      'step a support tool add HASH 2',
      'step a support model HASH',
      'step a support tool send HASH',
      'step a support model HASH',
    ]);
  });

  test('U1 U5 a node that waits and is repeated asks no model and calls no tool again', async () => {
    const called: unknown[] = [];
    const model = scriptedSdkModel(script);
    const bench = createBench();
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const text = await loop({ d, model, tools: d.tools(toolsOf(called)), prompt: 'Go.' });
      await ctx.ask({ prompt: 'Fine?' });
      return text;
    });
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    const engine = afterCrash(bench);
    await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
    const result = await resumeToRest(engine, 'r', graph);
    expect([result.status, result.state.outputs]).toEqual(['completed', { a: 'It is ten.' }]);
    expect([model.requests.length, called.length]).toEqual([3, 4]);
  });
});
