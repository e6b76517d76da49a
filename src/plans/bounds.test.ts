/** What holds a plan back: anchors that come before others, bounds that count what was done before, and who must be asked. */
import { expect, test } from 'vitest';
import { agent } from '../agents/agent.ts';
import { tool } from '../agents/tools/tool-box.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { extendPlan, mission, planned, type Plan } from './index.ts';
import { planFaults } from './plan.ts';
import { mustAsk } from './planned-node.ts';

const task = (id: string, by: string, ...needs: readonly string[]) => ({ id, agent: by, task: `do ${id}`, needs });
const reads = agent({ model: 'm:reads', description: 'Reads.' });
const acts = agent({
  model: 'm:acts',
  tools: { send: tool({ description: 'Sends.', input: {}, run: () => 'sent' }) },
});
const agents = { reads, acts };

test('PL3.1 an anchor that comes before a task is held to it', () => {
  const begun = mission('m')
    .goal('g')
    .agents(agents)
    .anchor('check', 'reads', { before: ['send'] });
  const graphOf = (...tasks: Plan['tasks']) => begun.plan({ tasks }).toGraph();
  expect(() => graphOf(task('check', 'reads'), task('send', 'acts'))).toThrow(/send must come after check/u);
  expect(() => graphOf(task('check', 'reads'))).toThrow(/check must come before send, which is no task/u);
  graphOf(task('check', 'reads'), task('read', 'reads', 'check'), task('send', 'acts', 'read'));
});

test('PL5 tasks that are done count towards the most tasks, and towards the longest chain', () => {
  const plan = { tasks: [task('c', 'reads', 'b')] };
  const done = { a: 1, b: 2 };
  expect(planFaults(plan, agents, { maxTasks: 3, maxDepth: 3, done })).toEqual([]);
  expect(planFaults(plan, agents, { maxTasks: 2, done })).toEqual(['there are 3 tasks, and at most 2 are allowed']);
  expect(planFaults(plan, agents, { maxDepth: 2, done })).toEqual([
    'a chain of 3 tasks need one another, and at most 2 are allowed',
  ]);
});

test('PL4 a person is asked beyond the threshold of a guided mission, counted over all tasks of the run', () => {
  const tasks = [task('a', 'reads')];
  const guided = { autonomy: 'guided' } as const;
  expect([5, 6].map((count) => mustAsk(tasks, agents, guided, count))).toEqual([false, true]);
  const few = { ...guided, threshold: { maxTasks: 2 } };
  expect([2, 3].map((count) => mustAsk(tasks, agents, few, count))).toEqual([false, true]);
  expect(mustAsk([task('a', 'acts')], agents, guided, 1)).toBe(true);
  expect(mustAsk([task('a', 'acts')], agents, { ...guided, threshold: { maxEffect: 'external' } }, 1)).toBe(false);
  expect(mustAsk([task('a', 'nobody')], agents, guided, 1)).toBe(true);
  expect([{}, { autonomy: 'full' } as const].map((freedom) => mustAsk(tasks, agents, freedom, 1))).toEqual([
    true,
    false,
  ]);
});

test('PL5 an extension is asked about when it makes a guided plan larger than its threshold', async () => {
  const wish = { calls: [{ tool: 'extend', input: { reason: 'more', tasks: [task('more', 'lead', 'lead')] } }] };
  const statusOf = async (maxTasks: number) => {
    let turn = 0;
    const models = createScriptedModels(() => ((turn += 1) === 1 ? wish : 'led'));
    const lead = agent({ model: 'm:lead', tools: { extend: extendPlan({ agents: ['lead'] }) } });
    const graph = mission('m')
      .goal('g')
      .agents({ lead })
      .plan({ tasks: [task('lead', 'lead')] });
    return (await graph.autonomy('guided', { maxTasks }).compile({ models }).invoke({})).status;
  };
  expect(await statusOf(2)).toBe('completed');
  expect(await statusOf(1)).toBe('paused');
});

test('PL2 settings that cannot be used are refused by whatever carries a plan out', () => {
  const plan = { tasks: [task('a', 'reads')] };
  const compiled = (change: (one: ReturnType<typeof mission>) => unknown) => () => change(mission('m').goal('g'));
  const invalid = (reason: RegExp) =>
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(reason) as string });
  expect(compiled((one) => one.agents({}).plan(plan).toGraph())).toThrow(invalid(/mission m: it needs agents/u));
  expect(compiled((one) => one.agents(agents).limits({ maxTasks: 0 }).plan(plan).toGraph())).toThrow(
    invalid(/mission m: maxTasks must be a whole number/u),
  );
  expect(() => planned({ agents, maxDepth: 1.5 })).toThrow(invalid(/planned: maxDepth/u));
  expect(() => planned({ agents, maxExpansions: -1 })).toThrow(invalid(/planned: maxExpansions/u));
  planned({ agents, maxExpansions: 0 });
  expect(() => planned({ agents, threshold: {} })).toThrow(invalid(/threshold has no effect/u));
  expect(() => planned({ agents, autonomy: 'some' as never })).toThrow(invalid(/autonomy must be/u));
});

test('PL6 before there is a plan it is told where each anchor stands; of a plan, what the budgets of its agents let it cost', async () => {
  const priced = agent({ model: 'm:priced', budget: { cost: 3 } });
  const begun = mission('m')
    .goal('g')
    .agents({ ...agents, priced });
  const anchored = begun
    .planner({ model: 'm:planner' })
    .anchor('check', 'reads', { phase: 'validate', after: ['find', 'read'], before: ['send'] })
    .anchor('send', 'acts');
  const told = await anchored.compile().explain();
  expect(told).toContain('- id check, agent reads: phase validate, after all of earlier phases');
  expect(told).toContain('; after find, read; before send\n- id send, agent acts\n');
  const costOf = (...by: readonly string[]) =>
    begun
      .plan({ tasks: by.map((one, at) => task(`t${at}`, one)) })
      .compile()
      .explain();
  expect(await costOf('priced', 'priced')).toMatch(/Expected cost: at most 6$/mu);
  expect(await costOf('priced', 'reads')).toMatch(/at most 3, and 1 tasks of agents without a budget for cost$/mu);
  expect(await costOf('reads')).toContain('no agent has a budget for cost of its own');
});
