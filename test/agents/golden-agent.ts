/** The agents whose runs are kept in `golden/`: one in each mode, one that summarizes, and one of the AI SDK. They are paused at a question. */
import { generateText, isStepCount, tool as sdkTool } from 'ai';
import { z } from 'zod';
import { agent } from '../../src/agents/agent.ts';
import { tool } from '../../src/agents/tools/tool-box.ts';
import { contextOf, durable } from '../../src/ai-sdk/index.ts';
import type { RunResult } from '../../src/engine/api.ts';
import type { ModeName } from '../../src/agents/modes/text-modes.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createScriptedModels, type ScriptedAnswer } from '../../src/models/scripted.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, type Bench } from '../engine-kit.ts';
import { sayAnswer, sayCalls } from './say.ts';
import { scriptedSdkModel } from './scripted-sdk-model.ts';

export const goldenNames = ['native', 'json', 'xml', 'react', 'summarized', 'bounded', 'sdk', 'sdk-bounded'] as const;
export type GoldenName = (typeof goldenNames)[number];

/** A run of one of them, in a process of its own, and all that reaches the outside there. */
export interface GoldenRun {
  readonly bench: Bench;
  readonly graph: Graph;
  readonly reached: readonly string[];
}

const input = { type: 'object' };
const turns = [
  [{ tool: 'look' }, { tool: 'cached' }, { tool: 'look' }],
  [{ tool: 'send' }, { tool: 'helper', input: { prompt: 'Help.' } }],
  [{ tool: 'nothing' }, { tool: 'cached' }],
  [{ tool: 'ask' }],
];

export function createGolden(name: GoldenName): GoldenRun {
  const reached: string[] = [];
  const reach = (what: string): string => {
    reached.push(what);
    return `${what} done`;
  };
  const mode: ModeName = name === 'json' || name === 'xml' || name === 'react' ? name : 'native';
  const models = createScriptedModels(({ model, messages }): ScriptedAnswer => {
    reach(`model ${model}`);
    const heard = JSON.stringify(messages);
    if (model === 'helper') return sayAnswer(mode, 'Helped.');
    const turn = Math.max(-1, ...Array.from(heard.matchAll(/turn (\d+)/gu), ([, nth]) => Number(nth)));
    if (heard.includes('Write a summary')) return `Until turn ${turn}.`;
    const calls = turns[turn + 1];
    if (calls === undefined) return sayAnswer(mode, `seen ${heard}`);
    return sayCalls(
      mode,
      `turn ${turn + 1}`,
      calls.map((call) => ({ input: { a: 1 }, ...call })),
    );
  });
  const graph = name === 'sdk' || name === 'sdk-bounded' ? sdkGraph(name, reach) : agentGraph(name, mode, reach);
  return { bench: createBench({ models }), graph, reached };
}

function agentGraph(name: GoldenName, mode: ModeName, reach: (what: string) => string): Graph {
  const look = tool({
    description: 'Looks.',
    input,
    effect: 'read',
    run: () => ({ seen: reach('look'), at: new Date(0) }),
  });
  const cached = tool({ description: 'Looks.', input, effect: 'read', cacheable: true, run: () => reach('cached') });
  const send = tool({ description: 'Sends.', input, run: () => reach('send') });
  const ask = tool({
    description: 'Asks.',
    input,
    composed: true,
    run: (_, ctx: NodeContext) => ctx.ask({ prompt: 'Which?' }),
  });
  const helper = agent({ model: 'helper', mode });
  const worker = agent({
    model: 'm',
    instructions: 'Work.',
    prompt: 'Go.',
    tools: { look, cached, send, ask, helper },
    mode,
    ...(name === 'bounded' && { settings: { tokensMax: 500 } }),
    ...(name === 'summarized' && { history: { messagesMax: 5, summary: { messagesKept: 2 } } }),
  });
  return graphOf('golden', [{ id: 'a', ...worker }], edges('> a', 'a >'));
}

function sdkGraph(name: GoldenName, reach: (what: string) => string): Graph {
  const model = scriptedSdkModel(({ prompt }) => {
    reach('model sdk');
    const turn = prompt.filter(({ role }) => role === 'assistant').length;
    const calls = [
      [
        ['look', { a: 1 }],
        ['send', { a: 1 }],
      ],
      [['ask', {}]],
    ] as const;
    const said = calls[turn];
    return said === undefined ? `seen ${JSON.stringify(prompt)}` : { text: `turn ${turn}`, calls: [...said] };
  });
  const run = async (ctx: NodeContext): Promise<string> => {
    const d = durable(ctx, { name: 'support' });
    const inputSchema = z.object({ a: z.number().optional() });
    const own = {
      look: sdkTool({ inputSchema, execute: () => reach('look') }),
      send: sdkTool({ inputSchema, needsApproval: true, execute: () => reach('send') }),
      ask: sdkTool({ inputSchema, execute: async (_, options) => contextOf(options)?.ask({ prompt: 'Which?' }) }),
    };
    const tools = d.tools(own, { look: { effect: 'read' }, ask: { composed: true } });
    const how = { stopWhen: isStepCount(5), ...(name === 'sdk-bounded' && { maxOutputTokens: 500 }), ...d.settings };
    return (await generateText({ model: d.model(model), tools, prompt: 'Go.', ...how })).text;
  };
  return graphOf('golden', [node('a', 'read', run)], edges('> a', 'a >'));
}

/** Answers what is asked before `Which?`: the call of `send`, with other arguments. @param isLast - answers that, too */
export async function answerGolden({ bench, graph }: GoldenRun, from: RunResult, isLast: boolean): Promise<RunResult> {
  const engine = afterCrash(bench);
  engine.know(graph);
  let standing = from;
  for (let answers = 0; answers < 3 && standing.status === 'paused'; answers += 1) {
    const [wait] = standing.waits;
    if (wait?.prompt === 'Which?' && !isLast) break;
    await engine.answer(
      'golden',
      wait?.waitId ?? '',
      wait?.prompt === 'Which?' ? 'This.' : { decision: 'edit', args: { a: 2 } },
    );
    standing = await resumeToRest(engine, 'golden', graph);
  }
  return standing;
}
