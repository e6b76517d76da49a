/** An agent of the AI SDK whose answer was cut off: its bound is raised, and only the call that was cut off is made again. */
import { generateText, isStepCount, streamText, tool as sdkTool } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { durable } from '../../src/ai-sdk/index.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { scriptedSdkModel, type ScriptedSdkModel, type Turn } from '../agents/scripted-sdk-model.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';
import { countAskedAnew } from './asked-anew.ts';

const half = 'The stone';
const whole = 'The stone is old.';
const needed = 50;

interface Sdk {
  readonly how: string;
  readonly bound: number;
  /** What the function does with half an answer. */
  readonly onHalf?: (ctx: NodeContext) => Promise<void>;
}

/** An agent of the AI SDK that looks once and answers; where the answer is cut off, its function fails, or does something first. */
function sdkGraph({ how, bound, onHalf = async () => {} }: Sdk): {
  readonly graph: Graph;
  readonly model: ScriptedSdkModel;
  readonly looks: () => number;
} {
  let looks = 0;
  const model = scriptedSdkModel(({ prompt, maxOutputTokens = 0 }): Turn => {
    if (!prompt.some(({ role }) => role === 'tool')) return { calls: [['look', {}]] };
    return maxOutputTokens < needed ? { text: half, isCut: true } : whole;
  });
  const run = async (ctx: NodeContext): Promise<string> => {
    const d = durable(ctx, { name: 'support' });
    const look = sdkTool({ inputSchema: z.object({}), execute: () => (looks += 1) });
    const call = {
      model: d.model(model),
      tools: d.tools({ look }),
      prompt: 'Go.',
      maxOutputTokens: bound,
      stopWhen: isStepCount(5),
      ...d.settings,
    };
    const said = how === 'streamText' ? streamText(call) : await generateText(call);
    const [text, reason] = [await said.text, await said.finishReason];
    if (reason !== 'length') return text;
    await onHalf(ctx);
    throw new Error('it was cut off');
  };
  return { graph: graphOf('g', [node('a', 'read', run)], edges('> a', 'a >')), model, looks: () => looks };
}

describe.each(['generateText', 'streamText'])('U6.2 %s', (how) => {
  test('U6.2 a raised maxOutputTokens: a resume and a fork make the call that was cut off again, and no other', async () => {
    const bench = createBench();
    const before = sdkGraph({ how, bound: 10 });
    expect((await runToRest(bench.engine, before.graph, {}, 'r')).status).toBe('failed');
    const { runId: fork } = await bench.engine.fork({ runId: 'r', seq: 0 });
    for (const runId of [fork, 'r']) {
      const after = sdkGraph({ how, bound: needed });
      const engine = afterCrash(bench);
      engine.know(after.graph);
      const done = await resumeToRest(engine, runId, after.graph);
      expect([done.error?.cause, done.state.outputs, after.model.requests.length, after.looks()]).toEqual([
        undefined,
        { a: whole },
        1,
        0,
      ]);
      expect(await countAskedAnew(engine, runId)).toBe(1);
    }
    expect(before.looks()).toBe(1);
  });

  test('U6.2 where the function went on from half an answer, that stands in a resume; in a fork it is made again', async () => {
    const done: string[] = [];
    const onHalf = (ctx: NodeContext): Promise<void> =>
      ctx.step('publish', { effect: 'external' }, () => void done.push('published'));
    const bench = createBench();
    await runToRest(bench.engine, sdkGraph({ how, bound: 10, onHalf }).graph, {}, 'r');
    const { runId: fork } = await bench.engine.fork({ runId: 'r', seq: 0 });
    const resumed = sdkGraph({ how, bound: needed, onHalf });
    const standing = await resumeToRest(afterCrash(bench), 'r', resumed.graph);
    expect([standing.error?.message, resumed.model.requests.length, done]).toEqual([
      expect.stringContaining('it was cut off'),
      0,
      ['published'],
    ]);
    const forked = sdkGraph({ how, bound: needed, onHalf });
    const forkDone = await resumeToRest(afterCrash(bench), fork, forked.graph);
    expect([forkDone.state.outputs, forked.model.requests.length, done]).toEqual([{ a: whole }, 1, ['published']]);
  });
});

test('U6.2 a call made anew is on record: a repeated function takes it, whatever the bound is then', async () => {
  const bench = createBench();
  const graphWith = (bound: number, asked: string[]): Graph => {
    const model = scriptedSdkModel(({ maxOutputTokens = 0 }) => {
      asked.push(String(maxOutputTokens));
      return maxOutputTokens < needed ? { text: half, isCut: true } : whole;
    });
    const run = async (ctx: NodeContext): Promise<string> => {
      const d = durable(ctx, { name: 'support' });
      const said = await generateText({ model: d.model(model), prompt: 'Go.', maxOutputTokens: bound, ...d.settings });
      if (said.finishReason === 'length') throw new Error('cut');
      return `${said.text} ${String(await ctx.ask({ prompt: 'Good?' }))}`;
    };
    return graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
  };
  const asked: string[] = [];
  await runToRest(bench.engine, graphWith(10, asked), {}, 'r');
  const engine = afterCrash(bench);
  const paused = await resumeToRest(engine, 'r', graphWith(needed, asked));
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(afterCrash(bench), 'r', graphWith(5, asked));
  expect([done.error?.cause, done.state.outputs, asked]).toEqual([undefined, { a: `${whole} yes` }, ['10', '50']]);
});
