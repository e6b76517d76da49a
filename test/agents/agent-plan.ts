/** Random agents: what their models say turn by turn, and the tools they call. One seed gives one plan. */
import { tool, type FunctionTool, type createToolBox } from '../../src/agents/tools/tool-box.ts';
import { agent, type AgentConfig } from '../../src/agents/agent.ts';
import { modeNames } from '../../src/agents/modes/modes.ts';
import type { ModeName } from '../../src/agents/modes/text-modes.ts';
import { compileGraph } from '../../src/graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../../src/graph/graph.ts';
import { NodeFailure } from '../../src/graph/contracts/node-contract.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import type { ModelRequest, Models } from '../../src/ports/model.ts';
import { encodeValue } from '../../src/state/values/encode.ts';
import { hashText } from '../../src/state/values/canonical-text.ts';
import type { CrashCase, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import type { SeededRandom } from '../../src/ports/seeded-random.ts';
import { sayAnswer, sayCalls } from './say.ts';

const toolNames = [
  'compute',
  'slow',
  'fails',
  'send',
  'push',
  'ask',
  'approved',
  'cached',
  'limited',
  'yields',
  'tells',
  'long',
  'throws',
  'missing',
  'unreadable',
  'helper',
] as const;
type ToolName = (typeof toolNames)[number];

interface PlannedCall {
  readonly tool: ToolName;
  readonly n: number;
}

const histories = {
  whole: {},
  cut: { messagesMax: 3 },
  counted: { tokensMax: 60 },
  summarized: { messagesMax: 5, summary: { messagesKept: 2 } },
} as const satisfies Readonly<Record<string, AgentConfig['history']>>;

/** How the agents speak with their models, what these are sent, and the calls of each turn of the agent, and of the one that it may use as a tool; then each answers. */
export interface AgentPlan {
  readonly mode: ModeName;
  readonly history: keyof typeof histories;
  readonly turns: readonly (readonly PlannedCall[])[];
  readonly helperTurns: readonly (readonly PlannedCall[])[];
}

export function planAgent(random: SeededRandom): AgentPlan {
  const turnsOf = (most: number, names: readonly ToolName[]): AgentPlan['turns'] =>
    Array.from({ length: random.integer(most + 1) }, () =>
      Array.from({ length: 1 + random.integer(3) }, () => ({ tool: random.pick(names), n: random.integer(3) })),
    );
  return {
    mode: random.pick(modeNames),
    history: random.pick(Object.keys(histories) as (keyof typeof histories)[]),
    turns: turnsOf(5, toolNames),
    helperTurns: turnsOf(
      2,
      toolNames.filter((name) => name !== 'helper'),
    ),
  };
}

/** The turn follows from the conversation alone, so that a repeated call gets an equal answer. The last says what it has seen, whole. */
export function answerOf(
  { mode, turns, helperTurns }: AgentPlan,
  { model, messages }: ModelRequest,
): ReturnType<typeof sayCalls> {
  const heard = JSON.stringify(messages);
  const last = Math.max(-1, ...Array.from(heard.matchAll(/turn (\d+)/gu), ([, turn]) => Number(turn)));
  if (JSON.stringify(messages[0]).includes('Write a summary')) return `turn ${last} of ${hashText(heard)}`;
  const calls = (model === 'helper' ? helperTurns : turns)[last + 1];
  if (calls === undefined) return sayAnswer(mode, `seen ${hashText(encodeValue(messages))}`);
  const said = calls.map(({ tool: name, n }) =>
    name === 'unreadable'
      ? { tool: 'compute', input: { n: 'x' }, isBroken: true }
      : { tool: name, input: name === 'helper' ? { prompt: `n ${n}` } : { n } },
  );
  return sayCalls(mode, `turn ${last + 1}`, said);
}

type Tools = Parameters<typeof createToolBox>[0];

const input = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };

/** Tools whose functions are repeated: what they give has no record of its own. */
const composedTools: Tools = {
  ask: tool({
    description: 'ask',
    input,
    composed: true,
    run: async (args, ctx) => [await ctx.step('look', { input: args }, () => args), await ctx.ask({ prompt: 'Well?' })],
  }),
  tells: tool({
    description: 'tells',
    input,
    composed: true,
    run: async function* (args, ctx) {
      yield await ctx.step('look', { input: args }, () => args);
      yield { map: new Map([['args', args]]) };
    },
  }),
  long: tool({ description: 'long', input, composed: true, run: (args) => [args, '…'.repeat(30_000)] }),
  throws: tool({
    description: 'throws',
    input,
    composed: true,
    run: (): never => {
      throw 'a text';
    },
  }),
};

function toolsOf({ oracle, sleep }: CrashProcess): Tools {
  const effect = (name: string, promise: 'once' | 'repeatable', more: Partial<FunctionTool> = {}): FunctionTool =>
    tool({
      description: name,
      input,
      approval: 'never',
      run: (_, { idempotencyKey }) => {
        oracle.apply({ key: idempotencyKey, place: `${name} ${idempotencyKey}`, promise, output: `${name} done` });
        return `${name} done`;
      },
      ...more,
    });
  return {
    compute: tool({ description: 'compute', input, effect: 'pure', run: (args) => ({ args }) }),
    slow: tool({ description: 'slow', input, effect: 'read', run: async (args) => (await sleep(50), { args }) }),
    fails: tool({
      description: 'fails',
      input,
      effect: 'write',
      approval: 'never',
      run: () => {
        throw new NodeFailure('no room', { applied: 'no' });
      },
    }),
    send: effect('send', 'once', { reconcile: ({ idempotencyKey }) => oracle.reconcile(idempotencyKey) }),
    push: effect('push', 'repeatable', { idempotent: true }),
    approved: effect('approved', 'repeatable', { idempotent: true, approval: 'always' }),
    ...composedTools,
    cached: tool({
      description: 'cached',
      input,
      effect: 'read',
      cacheable: true,
      run: (args) => args,
    }),
    limited: effect('limited', 'repeatable', { idempotent: true, callsMax: 2 }),
    yields: tool({
      description: 'yields',
      input,
      effect: 'read',
      run: async function* (args) {
        yield 'begun';
        await sleep(10);
        yield { args };
      },
    }),
  };
}

/** A case for the crash kit. */
export function agentCase(plan: AgentPlan): CrashCase {
  const graph = (process: CrashProcess): Graph => {
    const tools = toolsOf(process);
    const { mode } = plan;
    const helper = agent({ model: 'helper', tools, maxLoops: 20, mode, callsMax: 2 });
    const node = agent({
      model: 'main',
      prompt: 'Go.',
      instructions: 'Work.',
      tools: { ...tools, helper },
      maxLoops: 20,
      mode,
      history: histories[plan.history],
    });
    return compileGraph({
      id: 'agent',
      nodes: [{ id: 'agent', ...node }],
      edges: [
        { from: START, to: 'agent' },
        { from: 'agent', to: END },
      ],
    });
  };
  const models = (): Models => createScriptedModels((request) => answerOf(plan, request));
  return { graph, models, input: {}, answer: ({ name }) => (name.startsWith('approve ') ? 'approve' : 'fine') };
}

export function describeAgent({ mode, history, turns, helperTurns }: AgentPlan): string {
  const tell = (name: string, list: AgentPlan['turns']): string =>
    [
      `${name}:`,
      ...list.map((calls) => `  calls ${calls.map((call) => `${call.tool}(${call.n})`).join(', ')}`),
      '  answers',
    ].join('\n');
  return `mode ${mode}, history ${history}\n${tell('agent', turns)}\n${tell('helper', helperTurns)}`;
}

/** Plans in the plainest mode, with all of the history, with a turn or a call less. */
export function* smallerAgents(plan: AgentPlan): Generator<AgentPlan> {
  if (plan.mode !== 'native') yield { ...plan, mode: 'native' };
  if (plan.history !== 'whole') yield { ...plan, history: 'whole' };
  for (const turns of shorter(plan.turns)) yield { ...plan, turns };
  for (const helperTurns of shorter(plan.helperTurns)) yield { ...plan, helperTurns };
}

function* shorter(turns: AgentPlan['turns']): Generator<AgentPlan['turns']> {
  for (const index of turns.keys()) yield turns.toSpliced(index, 1);
  for (const [index, calls] of turns.entries())
    for (const place of calls.length > 1 ? calls.keys() : []) yield turns.with(index, calls.toSpliced(place, 1));
}
