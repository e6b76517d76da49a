/** The agent loop: that its length slows it down no more, what it takes on disk, and what it takes beside the AI SDK's own. */
import { generateText, jsonSchema, stepCountIs, tool, type LanguageModel } from 'ai';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { agentGraph, callOf, loops, makeScript, playScript, timeAgent, type AgentScript } from '../agent-script.ts';
import { createStore, databaseBytes } from '../database.ts';
import type { Group } from '../group.ts';
import { median } from '../median.ts';

const part = 50;
const nameOfLast = 'agent loop, 200 loops with messages of 2 KiB, per loop over the last 50';
const nameOfBytes = 'agent loop, bytes stored for it';
const nameOfSdk = 'agent loop, in memory, per loop';

export const agentLoop: Group = {
  rows: [
    { name: nameOfLast, against: 'its first 50', target: 1.1 },
    { name: nameOfBytes, against: 'distinct bytes produced', target: 1.25 },
    { name: nameOfSdk, against: "the AI SDK's loop alone, same script", target: 1.3 },
  ],
  warmUps: 3,
  prepare: (folder) => {
    const script = makeScript();
    const graph = agentGraph(script);
    return {
      repeat: async () => {
        const times = new Float64Array(loops + 1);
        await createStore(folder, 'normal').close();
        const emptyBytes = databaseBytes(folder);
        const store = createStore(folder, 'normal');
        await timeAgent(
          graph,
          store,
          playScript(script, (index) => (times[index] = performance.now())),
        );
        await store.close();
        const perLoop = (from: number): number =>
          median(Array.from({ length: part }, (_, index) => times[from + index + 1]! - times[from + index]!));
        const own = await timeAgent(
          graph,
          createMemoryStore(),
          playScript(script, () => {}),
        );
        const theirs = await timeSdk(script);
        return {
          [nameOfLast]: { ours: perLoop(loops - part), floor: perLoop(0), unit: 'ms' },
          [nameOfBytes]: { ours: databaseBytes(folder) - emptyBytes, floor: script.distinctBytes, unit: 'bytes' },
          [nameOfSdk]: { ours: own / loops, floor: theirs / loops, unit: 'ms' },
        };
      },
    };
  },
};

/** The loop of the AI SDK over a model that plays the same script. */
async function timeSdk(script: AgentScript): Promise<number> {
  const look = tool({
    description: 'Looks.',
    inputSchema: jsonSchema<{ readonly index: number }>({ type: 'object', properties: { index: { type: 'integer' } } }),
    execute: ({ index }) => script.given[index] as string,
  });
  const startMs = performance.now();
  const { steps } = await generateText({
    model: sdkModel(script),
    instructions: 'Work.',
    prompt: 'Go.',
    tools: { look },
    stopWhen: stepCountIs(loops + 1),
  });
  const took = performance.now() - startMs;
  if (steps.length !== loops + 1) throw new Error(`the loop of the AI SDK made ${steps.length} steps`);
  return took;
}

type SdkModel = Exclude<LanguageModel, string>;

function sdkModel({ said }: AgentScript): SdkModel {
  let count = 0;
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const model = {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => {
      const index = count++;
      const { id, tool: toolName, input } = callOf(index);
      const text = { type: 'text', text: said[index] };
      const call = { type: 'tool-call', toolCallId: id, toolName, input: JSON.stringify(input) };
      const isLast = index === loops;
      return Promise.resolve({
        content: isLast ? [text] : [text, call],
        finishReason: { unified: isLast ? 'stop' : 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      });
    },
    doStream: () => Promise.reject(new Error('it is not asked to stream')),
  };
  return model as unknown as SdkModel;
}
