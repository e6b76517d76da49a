/** An agent with 200 loops, each with a message of 2 KiB and a result of 2 KiB, as our loop runs it and as that of the AI SDK does. */
import { createHash } from 'node:crypto';
import { agent, tool } from '../src/agents/index.ts';
import { createDefaultEngine } from '../src/app/default-engine.ts';
import { compileGraph } from '../src/graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../src/graph/graph.ts';
import type { Models } from '../src/ports/model.ts';
import type { Store } from '../src/ports/store.ts';

export const loops = 200;

/** Text that cannot be compressed by more than its letters, the same in every run. */
function noise(bytes: number, salt: string): string {
  let text = '';
  for (let index = 0; text.length < bytes; index += 1)
    text += createHash('sha512').update(`${salt} ${index}`).digest('base64');
  return text.slice(0, bytes);
}

export interface AgentScript {
  /** What the model says at each loop; the last is its answer. */
  readonly said: readonly string[];
  /** What the tool gives at each loop. */
  readonly given: readonly string[];
  /** All that is produced, once, as JSON. */
  readonly distinctBytes: number;
}

export function makeScript(count: number = loops): AgentScript {
  const said = Array.from({ length: count + 1 }, (_, index) => noise(2_000, `said ${index}`));
  const given = Array.from({ length: count }, (_, index) => noise(2_000, `given ${index}`));
  const calls = Array.from({ length: count }, (_, index) => JSON.stringify(callOf(index)));
  const distinctBytes = [...said, ...given, ...calls].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return { said, given, distinctBytes };
}

export function callOf(index: number): {
  readonly id: string;
  readonly tool: string;
  readonly input: { readonly index: number };
} {
  return { id: `call-${index}`, tool: 'look', input: { index } };
}

const usage = { inputTokens: 1, outputTokens: 1 };

/** Models that play the script from its beginning. @param onCall - called with the number of each call when it comes */
export function playScript({ said }: AgentScript, onCall: (index: number) => void): Models {
  let count = 0;
  return {
    generate: ({ model }) => {
      const index = count++;
      onCall(index);
      const text = { type: 'text', text: said[index] as string } as const;
      if (index === said.length - 1) return Promise.resolve({ model, content: [text], finishReason: 'stop', usage });
      const call = { type: 'tool-call', ...callOf(index) } as const;
      return Promise.resolve({ model, content: [text, call], finishReason: 'tool-calls', usage });
    },
  };
}

export function agentGraph({ given }: AgentScript): Graph {
  const look = tool({
    description: 'Looks.',
    input: { type: 'object', required: ['index'], properties: { index: { type: 'integer' } } },
    effect: 'read',
    run: (args) => given[(args as { readonly index: number }).index] as string,
  });
  const node = agent({
    model: 'scripted:m',
    instructions: 'Work.',
    prompt: 'Go.',
    tools: { look },
    maxLoops: given.length + 1,
  });
  return compileGraph({
    id: 'agent',
    nodes: [{ id: 'agent', ...node }],
    edges: [
      { from: START, to: 'agent' },
      { from: 'agent', to: END },
    ],
  });
}

/** Milliseconds that our loop takes for the whole of it. */
export async function timeAgent(graph: Graph, store: Store, models: Models): Promise<number> {
  const engine = createDefaultEngine({ store, models });
  const startMs = performance.now();
  const result = await (await engine.start(graph, {})).result();
  const took = performance.now() - startMs;
  if (result.status !== 'completed') throw result.error ?? new Error(`the run is ${result.status}`);
  await engine.close();
  return took;
}
