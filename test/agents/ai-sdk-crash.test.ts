/** Loops of the AI SDK under `durable`, killed at every point: they end as if they never were, and nothing is bought or done twice (P1, P2). */
import { generateText, isStepCount, streamText, tool, ToolLoopAgent, type ToolSet } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { callOf, contextOf, durable, type Durable } from '../../src/ai-sdk/index.ts';
import { compileGraph } from '../../src/graph/compile/compile-graph.ts';
import { END, START } from '../../src/graph/graph.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { CrashCase, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { sampleCrashes } from '../support/scale.ts';
import { scriptedSdkModel, type Turn } from './scripted-sdk-model.ts';

/** Fifteen loops: tools side by side, equal calls, one that fails, one that asks, one that is asked about. */
const turns: readonly Turn[] = Array.from({ length: 15 }, (_, loop): Turn => {
  const n = loop % 4;
  if (loop === 5) return { calls: [['ask', { n }]] };
  if (loop === 9) return { text: 'Now with approval.', calls: [['push', { n }]] };
  return {
    text: `Loop ${loop}.`,
    calls: [
      ['compute', { n }],
      ['send', { n: loop }],
      ['compute', { n }],
      ['fails', { n }],
    ].slice(0, 1 + n) as [string, unknown][],
  };
});

function toolsOf({ oracle }: CrashProcess): ToolSet {
  const inputSchema = z.object({ n: z.number() });
  const effect =
    (name: string, promise: 'once' | 'repeatable') =>
    (_: unknown, options: object): string => {
      const key = callOf(options)?.idempotencyKey ?? '';
      oracle.apply({ key, place: `${name} ${key}`, promise, output: `${name} done` });
      return `${name} done`;
    };
  return {
    compute: tool({ inputSchema, execute: ({ n }) => ({ n }) }),
    send: tool({ inputSchema, execute: effect('send', 'once') }),
    push: tool({ inputSchema, needsApproval: true, execute: effect('push', 'repeatable') }),
    fails: tool({ inputSchema, execute: (): string => JSON.parse('no room') as string }),
    ask: tool({
      inputSchema,
      execute: async (_, options) => (contextOf(options) as NodeContext).ask({ prompt: 'Well?' }),
    }),
  };
}

type Parts = { readonly d: Durable; readonly tools: ToolSet; readonly model: ReturnType<Durable['model']> };

const ways: Readonly<Record<string, (parts: Parts) => PromiseLike<string>>> = {
  generateText: async ({ d, ...parts }) =>
    (await generateText({ ...parts, prompt: 'Go.', stopWhen: isStepCount(20), ...d.settings })).text,
  streamText: ({ d, ...parts }) =>
    streamText({ ...parts, prompt: 'Go.', stopWhen: isStepCount(20), abortSignal: d.signal, ...d.settings }).text,
  'ToolLoopAgent.generate': async ({ d, ...parts }) => {
    const agent = new ToolLoopAgent({ ...parts, ...d.settings });
    return (await agent.generate({ prompt: 'Go.', abortSignal: d.signal })).text;
  },
  'ToolLoopAgent.stream': async ({ d, ...parts }) => {
    const agent = new ToolLoopAgent({ ...parts, ...d.settings });
    return (await agent.stream({ prompt: 'Go.', abortSignal: d.signal })).text;
  },
};

function crashCase(way: keyof typeof ways): CrashCase {
  return {
    graph: (process) => {
      const run = async (ctx: NodeContext): Promise<string> => {
        const d = durable(ctx, { name: 'support' });
        const { oracle } = process;
        const tools = d.tools(toolsOf(process), {
          compute: { effect: 'pure' },
          send: { reconcile: ({ idempotencyKey }) => oracle.reconcile(idempotencyKey) },
          push: { idempotent: true },
          fails: { effect: 'read' },
          ask: { composed: true },
        });
        // The last answer says what the model has seen, whole.
        const model = scriptedSdkModel(
          ({ prompt }) =>
            turns[prompt.filter(({ role }) => role === 'assistant').length] ?? `seen ${JSON.stringify(prompt)}`,
        );
        return (ways[way] as (parts: Parts) => PromiseLike<string>)({ d, tools, model: d.model(model) });
      };
      const node = { id: 'agent', type: 'function', effect: 'read', implementation: { run } } as const;
      const edges = [
        { from: START, to: 'agent' },
        { from: 'agent', to: END },
      ];
      return compileGraph({ id: 'agent', nodes: [node], edges });
    },
    input: {},
    answer: ({ name }) => (name.startsWith('approve ') ? 'approve' : 'fine'),
  };
}

test.each(Object.keys(ways))(
  'U1 U4 U5 P1 P2 %s, 15 loops, killed at every point, ends with the conversation of one that never was',
  { timeout: 600_000 },
  async (way) => {
    const report = await crashEverywhere(crashCase(way), {
      open: (now) => ({ store: createMemoryStore({ now }) }),
      choose: sampleCrashes(6),
    });
    expect(report.faults).toEqual([]);
    expect(report.points).toBeGreaterThan(60);
    expect(report.trials).toBeGreaterThan(5);
  },
);
