/** The AI SDK's own loop under `durable`, beside the same loop alone. */
import { generateText, isStepCount, jsonSchema, tool, type LanguageModel, type ToolSet } from 'ai';
import { durable } from '../../src/ai-sdk/index.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { AgentGraph, END, START, type Graph } from '../../src/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { Group } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';

const loopCount = 100;
const name = "the AI SDK's loop under durable, 100 loops, memory store, ms a loop";
const nameOfResume = "resume of the AI SDK's loop under durable, 100 loops on record, ms";

type Model = Extract<LanguageModel, { readonly specificationVersion: 'v4' }>;

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

/** Says 2 KiB at each turn, and calls a tool until it has done so often enough. */
function createModel(texts: readonly string[]): Model {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const turn = (prompt.length - 1) / 2;
      const text = { type: 'text' as const, text: texts[turn] ?? 'done' };
      const call = { type: 'tool-call' as const, toolCallId: `c${turn}`, toolName: 'look', input: `{"turn":${turn}}` };
      const isOver = turn >= loopCount - 1;
      const finishReason = { unified: isOver ? ('stop' as const) : ('tool-calls' as const), raw: undefined };
      return { content: isOver ? [text] : [text, call], finishReason, usage, warnings: [] };
    },
    doStream: () => Promise.reject(new Error('it answers whole')),
  };
}

const tools: ToolSet = {
  look: tool({ inputSchema: jsonSchema<{ turn: number }>({ type: 'object' }), execute: ({ turn }) => ({ turn }) }),
};
const settings = { prompt: 'Go.', stopWhen: isStepCount(loopCount + 1) };

function createGraph(model: Model, asksAtEnd: boolean): Graph {
  return new AgentGraph({}, { id: 'bench' })
    .addNode('agent', async (ctx) => {
      const d = durable(ctx, { name: 'bench' });
      const how = { look: { effect: 'pure' } } as const;
      const { text } = await generateText({
        model: d.model(model),
        tools: d.tools(tools, how),
        ...settings,
        ...d.settings,
      });
      if (asksAtEnd) await ctx.ask({ prompt: 'Fine?' });
      return text;
    })
    .addEdge(START, 'agent')
    .addEdge('agent', END)
    .compile().graph;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

export const aiSdkLoop: Group = {
  rows: [
    { name, against: 'the same loop alone', target: 2 },
    { name: nameOfResume, against: 'the loop alone, anew', target: 1.5 },
  ],
  warmUps: 12,
  prepare: () => {
    const model = createModel(
      makeList(loopCount, (index) => JSON.stringify(outputOfKib(index)).repeat(2).slice(0, 2048)),
    );
    return {
      repeat: async () => {
        const alone = await timed(() => generateText({ model, tools, ...settings }));
        const engine = createDefaultEngine({ store: createMemoryStore() });
        const graph = createGraph(model, false);
        const ours = await timed(async () => (await engine.start(graph, {})).result());
        await engine.close();
        const store = createMemoryStore();
        const asking = createGraph(model, true);
        const first = createDefaultEngine({ store });
        const { runId, waits } = await (await first.start(asking, {})).result();
        await first.answer(runId, waits[0]?.waitId ?? '', 'yes');
        await first.close();
        const second = createDefaultEngine({ store });
        const resumed = await timed(async () => (await second.resume(runId, { graph: asking })).result());
        await second.close();
        return {
          [name]: { ours: ours / loopCount, floor: alone / loopCount, unit: 'ms' },
          [nameOfResume]: { ours: resumed, floor: alone, unit: 'ms' },
        };
      },
    };
  },
};
