/** An answer that makes calls without number, to an agent of the AI SDK: none is made, and the model is told. */
import { generateText, isStepCount, streamText, tool as sdkTool } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { answerCallsMax } from '../../src/agents/modes/read-turn.ts';
import { durable } from '../../src/ai-sdk/index.ts';
import type { RunResult } from '../../src/engine/api.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { scriptedSdkModel, type ScriptedSdkModel } from '../agents/scripted-sdk-model.ts';
import { createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';

interface Ran {
  readonly result: RunResult;
  readonly made: number;
  readonly model: ScriptedSdkModel;
}

async function run(how: string, count: number, asks: 'tool' | 'settings' | 'nobody'): Promise<Ran> {
  let made = 0;
  const model = scriptedSdkModel([
    { calls: Array.from({ length: count }, (_, n) => ['put', { n }] as const) },
    'I make fewer.',
  ]);
  const act = async (ctx: NodeContext): Promise<string> => {
    const d = durable(ctx, { name: 's' });
    const own = {
      put: sdkTool({
        inputSchema: z.object({ n: z.number() }),
        needsApproval: asks === 'tool',
        execute: () => (made += 1),
      }),
    };
    const call = {
      model: d.model(model),
      tools: d.tools(own, { put: { effect: 'read' } }),
      ...(asks === 'settings' && { toolApproval: d.approval({ put: 'user-approval' }) }),
      prompt: 'Go.',
      stopWhen: isStepCount(5),
      ...d.settings,
    };
    return how === 'streamText' ? streamText(call).text : (await generateText(call)).text;
  };
  const graph = graphOf('g', [node('a', 'read', act)], edges('> a', 'a >'));
  const result = await runToRest(createBench().engine, graph, {}, 'r');
  return { result, made, model };
}

test.each(['generateText', 'streamText'])(
  `U6.3 %s: of an answer with more than ${answerCallsMax} calls none is made, and nobody is asked`,
  async (how) => {
    for (const asks of ['nobody', 'tool', 'settings'] as const) {
      const many = await run(how, answerCallsMax + 1, asks);
      expect([many.result.error?.cause, many.result.state.outputs, many.made]).toEqual([
        undefined,
        { a: 'I make fewer.' },
        0,
      ]);
      const told = JSON.stringify(many.model.requests[1]?.prompt.at(-1));
      expect(told.split(`not made: the answer makes ${answerCallsMax + 1} calls`)).toHaveLength(answerCallsMax + 2);
    }
    const most = await run(how, answerCallsMax, 'nobody');
    expect([most.result.state.outputs, most.made]).toEqual([{ a: 'I make fewer.' }, answerCallsMax]);
  },
);
