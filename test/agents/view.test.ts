/** Random agents: the view of their state, folded from what is on record without their code, is the conversation that their models were sent. */
import type { Graph } from '../../src/graph/graph.ts';
import { expect, test } from 'vitest';
import { readAgentState } from '../../src/agents/view/agent-state.ts';
import { createScriptedModels, type ScriptedModels } from '../../src/models/scripted.ts';
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { createBench, runToRest } from '../engine-kit.ts';
import { tellFaults } from '../support/smallest.ts';
import { agentCase, answerOf, describeAgent, planAgent, smallerAgents, type AgentPlan } from './agent-plan.ts';

const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const count = Number(process.env['CAIRN_GRAPHS'] ?? 60);

/** Each question of a run is one look at the agent; it ends with one. */
const looksMax = 100;

async function faultsOf(plan: AgentPlan): Promise<readonly string[]> {
  const models: ScriptedModels = createScriptedModels((request) => answerOf(plan, request));
  const bench = createBench({ models });
  const outside = { oracle: { apply: () => {} }, sleep: bench.clock.sleep } as unknown as CrashProcess;
  const graph = agentCase(plan).graph(outside) as Graph;
  const faults: string[] = [];
  let rest = await runToRest(bench.engine, graph, {}, 'r');
  for (let looks = 0; ; looks += 1) {
    const sent = models.requests.findLast(({ model, messages }) => model === 'main' && !isSummary(messages))?.messages;
    const state = await readAgentState(bench.engine.history, 'r', 'agent');
    const { messages = [], historyOffset = 0 } = state ?? {};
    const head = messages.filter(({ role }) => role === 'system');
    // The last is what the model answered to that.
    const seen = [...head, ...messages.slice(historyOffset, -1)];
    if (JSON.stringify(seen) !== JSON.stringify(sent))
      faults.push(
        `after ${looks} answers the view has ${JSON.stringify(seen)}, and the model was sent ${JSON.stringify(sent)}`,
      );
    if (rest.status !== 'paused') break;
    if (state?.pendingCalls.every(({ status }) => status === 'due') ?? true)
      faults.push('nothing is pending in a paused agent');
    if (looks > looksMax) return ['it does not end'];
    const [wait] = rest.waits;
    await bench.engine.answer('r', wait?.waitId ?? '', wait?.name.startsWith('approve ') === true ? 'approve' : 'fine');
    rest = await (await bench.engine.resume('r', { graph })).result();
  }
  return rest.status === 'completed' ? faults : [...faults, `it is ${rest.status}`];
}

function isSummary(messages: readonly { readonly content: unknown }[]): boolean {
  return JSON.stringify(messages[0]).includes('Write a summary');
}

test(`A15 the views of ${count} random agents`, { timeout: 300_000 }, async () => {
  const seeds = Array.from({ length: count }, (_, index) => firstSeed + index);
  const faults = await tellFaults(seeds, {
    make: (seed) => planAgent(createSeededRandom(seed * 104_729)),
    describe: describeAgent,
    smaller: smallerAgents,
    faultsOf,
  });
  expect(faults.join('\n')).toBe('');
});
