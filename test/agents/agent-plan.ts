/** Random agents: what their models say turn by turn, and the tools they call. One seed gives one plan. */
import { tool, type FunctionTool } from '../../src/agents/agent-tool.ts';
import { agent } from '../../src/agents/agent.ts';
import type { createToolBox } from '../../src/agents/tool-box.ts';
import { compileGraph } from '../../src/graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../../src/graph/graph.ts';
import { NodeFailure } from '../../src/graph/contracts/node-contract.ts';
import { createScriptedModels, type ScriptedTurn } from '../../src/models/scripted.ts';
import type { ModelRequest, Models } from '../../src/ports/model.ts';
import { encodeValue } from '../../src/state/values/codec.ts';
import { hashText } from '../../src/state/values/hash.ts';
import type { CrashCase } from '../../src/testing/crash-kit/crash-case.ts';
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import type { SeededRandom } from '../../src/testing/seeded-random.ts';

const toolNames = [
  'compute',
  'slow',
  'fails',
  'send',
  'push',
  'ask',
  'approved',
  'cached',
  'missing',
  'helper',
] as const;
type ToolName = (typeof toolNames)[number];

interface PlannedCall {
  readonly tool: ToolName;
  readonly n: number;
}

/** The calls of each turn of the agent, and of the one that it may use as a tool; then each answers. */
export interface AgentPlan {
  readonly turns: readonly (readonly PlannedCall[])[];
  readonly helperTurns: readonly (readonly PlannedCall[])[];
}

export function planAgent(random: SeededRandom): AgentPlan {
  const turnsOf = (most: number, names: readonly ToolName[]): AgentPlan['turns'] =>
    Array.from({ length: random.integer(most + 1) }, () =>
      Array.from({ length: 1 + random.integer(3) }, () => ({ tool: random.pick(names), n: random.integer(3) })),
    );
  return {
    turns: turnsOf(4, toolNames),
    helperTurns: turnsOf(
      2,
      toolNames.filter((name) => name !== 'helper'),
    ),
  };
}

/** The turn follows from the conversation alone, so that a repeated call gets an equal answer. The last says what it has seen, whole. */
function answer({ turns, helperTurns }: AgentPlan, { model, messages }: ModelRequest): ScriptedTurn | string {
  const answered = messages.filter(({ role }) => role === 'assistant').length;
  const calls = (model === 'helper' ? helperTurns : turns)[answered];
  if (calls === undefined) return `seen ${hashText(encodeValue(messages))}`;
  return {
    text: `turn ${answered}`,
    calls: calls.map(({ tool: name, n }, index) => ({
      tool: name,
      input: name === 'helper' ? { prompt: `n ${n}` } : { n },
      id: `${model}-${answered}-${index}`,
    })),
  };
}

type Tools = Parameters<typeof createToolBox>[0];

const input = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };

function toolsOf({ oracle, sleep }: CrashProcess, isCacheable: () => void): Tools {
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
    push: effect('push', 'repeatable', { isIdempotent: true }),
    approved: effect('approved', 'repeatable', { isIdempotent: true, approval: 'always' }),
    ask: tool({
      description: 'ask',
      input,
      isComposed: true,
      run: async (args, ctx) => [
        await ctx.step('look', { input: args }, () => args),
        await ctx.ask({ prompt: 'Well?' }),
      ],
    }),
    cached: tool({
      description: 'cached',
      input,
      effect: 'read',
      isCacheable: true,
      run: (args) => (isCacheable(), args),
    }),
  };
}

/** A case for the crash kit. */
export function agentCase(plan: AgentPlan): CrashCase {
  const graph = (process: CrashProcess): Graph => {
    const tools = toolsOf(process, () => {});
    const helper = agent({ model: 'helper', tools, maxLoops: 20 });
    const node = agent({
      model: 'main',
      prompt: 'Go.',
      instructions: 'Work.',
      tools: { ...tools, helper },
      maxLoops: 20,
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
  const models = (): Models => createScriptedModels((request) => answer(plan, request));
  return { graph, models, input: {}, answer: ({ name }) => (name.startsWith('approve ') ? 'approve' : 'fine') };
}

export function describeAgent({ turns, helperTurns }: AgentPlan): string {
  const tell = (name: string, list: AgentPlan['turns']): string =>
    [
      `${name}:`,
      ...list.map((calls) => `  calls ${calls.map((call) => `${call.tool}(${call.n})`).join(', ')}`),
      '  answers',
    ].join('\n');
  return `${tell('agent', turns)}\n${tell('helper', helperTurns)}`;
}

/** Plans with a turn or a call less. */
export function* smallerAgents({ turns, helperTurns }: AgentPlan): Generator<AgentPlan> {
  for (const fewer of shorter(turns)) yield { turns: fewer, helperTurns };
  for (const fewer of shorter(helperTurns)) yield { turns, helperTurns: fewer };
}

function* shorter(turns: AgentPlan['turns']): Generator<AgentPlan['turns']> {
  for (const index of turns.keys()) yield turns.toSpliced(index, 1);
  for (const [index, calls] of turns.entries())
    for (const place of calls.length > 1 ? calls.keys() : []) yield turns.with(index, calls.toSpliced(place, 1));
}
