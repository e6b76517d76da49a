/** Providers that give several calls of one answer the same id. */
import { generateText, isStepCount, streamText, tool } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { scriptedSdkModel, type Turn } from '../../test/agents/scripted-sdk-model.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import { durable } from './index.ts';

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

const input = z.object({ to: z.string() });

test.each(['generate', 'stream'] as const)(
  'U6.4 two calls of one answer with the same id are both made, once, and each gets its own result: %s',
  async (way) => {
    const script: readonly Turn[] = [{ calls: [['send', { to: 'ann' }], ['send', { to: 'bob' }]] }, 'Done.']; // prettier-ignore
    const model = scriptedSdkModel(script);
    const same = <Part extends { readonly type: string }>(part: Part): Part =>
      part.type === 'tool-call' ? { ...part, toolCallId: 'same' } : part;
    const repeating: typeof model = {
      ...model,
      doGenerate: async (options) => {
        const result = await model.doGenerate(options);
        return { ...result, content: result.content.map(same) };
      },
      doStream: async (options) => {
        const { stream } = await model.doStream(options);
        const renamed = new TransformStream({ transform: (part, to) => to.enqueue(same(part)) });
        return { stream: stream.pipeThrough(renamed) };
      },
    };
    const sent: string[] = [];
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const execute = ({ to }: { to: string }): string => (sent.push(to), `sent to ${to}`);
      const tools = d.tools({ send: tool({ inputSchema: input, execute }) });
      const asked = { model: d.model(repeating), tools, stopWhen: isStepCount(3), prompt: 'Go.', ...d.settings };
      const text = await (way === 'generate' ? generateText(asked).then((made) => made.text) : streamText(asked).text);
      return [text, await ctx.ask({ prompt: 'Well?' })];
    });
    const bench = createBench();
    const { runId, status, waits } = await runToRest(bench.engine, graph);
    expect(status).toBe('paused');
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    const done = await resumeToRest(afterCrash(bench), runId, graph);
    expect([done.status, done.state.outputs['a'], sent.toSorted()]).toEqual([
      'completed',
      ['Done.', 'yes'],
      ['ann', 'bob'],
    ]);
    const last = model.requests.at(-1)?.prompt.findLast(({ role }) => role === 'tool')?.content as readonly {
      readonly toolCallId: string;
      readonly output: unknown;
    }[];
    expect(last.map(({ toolCallId, output }) => [toolCallId, output])).toEqual([
      ['same', { type: 'text', value: 'sent to ann' }],
      ['same-2', { type: 'text', value: 'sent to bob' }],
    ]);
  },
);
