/** Missions: plans that are made once, asked about, extended and carried out; and what is refused of them. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createBench, runToRest } from '../../test/engine-kit.ts';
import { agent } from '../agents/agent.ts';
import { tool } from '../agents/tools/tool-box.ts';
import { createMemoryBlobs } from '../blobs/memory-blobs.ts';
import { AgentGraph } from '../dialects/code/agent-graph.ts';
import { END, START } from '../graph/graph.ts';
import { createScriptedModels, type ScriptedAnswer, type ScriptedModels } from '../models/scripted.ts';
import type { NodeDraft } from '../graph/node-draft.ts';
import { functionNode } from '../nodes/function-node.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { crashEverywhere } from '../testing/crash-kit/crash-everywhere.ts';
import { compilePlan, extendPlan, linearOrchestrator, mission, planned, type Mission, type Plan } from './index.ts';

const task = (id: string, by: string, ...needs: readonly string[]) => ({ id, agent: by, task: `do ${id}`, needs });
const searcher = agent({ model: 'm:searcher', description: 'Searches.' });
const writer = agent({
  model: 'm:writer',
  description: 'Writes.',
  tools: { send: tool({ description: 'Sends.', input: {}, run: () => 'sent' }) },
});
const agents = { searcher, writer };
const twoTasks: Plan = { tasks: [task('find', 'searcher'), task('write', 'writer', 'find')] };

/** Models by name; each says what its function makes of the last message. */
function modelsOf(answers: Readonly<Record<string, (prompt: string, nth: number) => ScriptedAnswer>>): ScriptedModels {
  const counts = new Map<string, number>();
  return createScriptedModels(({ model, messages }) => {
    const nth = (counts.get(model) ?? 0) + 1;
    counts.set(model, nth);
    return answers[model.replace('m:', '')]?.(JSON.stringify(messages), nth) ?? `${model} is done`;
  });
}
const requestsOf = (models: ScriptedModels, name: string) =>
  models.requests.filter(({ model }) => model === `m:${name}`);
const planning = (...plans: readonly unknown[]) => ({
  planner: (_: string, nth: number) => JSON.stringify(plans[Math.min(nth, plans.length) - 1]),
});
const report = (): Mission => mission('report').goal('Report on tides.').agents(agents).planner({ model: 'm:planner' });

describe('PL3 missions', () => {
  test('a plan is made, asked about by its hash, and carried out; a resume in another process plans nothing', async () => {
    const models = modelsOf(planning(twoTasks));
    const store = createMemoryStore();
    const first = report().compile({ models, store });
    const paused = await first.invoke({}, { runId: 'r' });
    expect(paused.waits[0]).toMatchObject({ name: 'question', node: ['work?'], metadata: { input: twoTasks } });
    expect(paused.waits[0]?.prompt).toMatch(
      /2 tasks, 2 deep\n- find \(searcher, pure\): do find\n- write \(writer, external\) after find/u,
    );
    await first.close();
    const done = await report()
      .compile({ models, store })
      .resume('r', { answers: { 'work?': 'approve' } });
    expect([done.status, done.output]).toEqual([
      'completed',
      { find: 'm:searcher is done', write: 'm:writer is done' },
    ]);
    expect(requestsOf(models, 'planner')).toHaveLength(1);
    expect(JSON.stringify(requestsOf(models, 'writer')[0]?.messages)).toContain(
      'Result of find:\\nm:searcher is done\\n\\nYour task:\\ndo write',
    );
  });

  test('a plan that is refused fails the mission, with the reason; an edited one is carried out', async () => {
    const models = modelsOf(planning(twoTasks));
    const graph = report().compile({ models });
    await graph.invoke({}, { runId: 'r' });
    const refused = await graph.resume('r', {
      answers: { 'work?': { is_approved: false, feedback: 'too dear' } },
      by: 'ann',
    });
    expect([refused.status, refused.error?.message]).toEqual([
      'failed',
      expect.stringContaining('rejected by ann: too dear'),
    ]);
    await graph.invoke({}, { runId: 'e' });
    const tasks = [task('find', 'searcher')];
    const done = await graph.resume('e', { answers: { 'work?': { decision: 'edit', args: { tasks } } } });
    expect([done.status, done.plan, Object.keys(done.output ?? {})]).toEqual(['completed', { tasks }, ['find']]);
  });

  test('a fork with another plan is asked about anew, and carries out that plan', async () => {
    const graph = report().compile({ models: modelsOf(planning(twoTasks)) });
    await graph.invoke({}, { runId: 'r' });
    await graph.resume('r', { answers: { 'work?': 'approve' } });
    const plan = { tasks: [task('other', 'searcher')] };
    const fork = await graph.fork('r', { set: { 'outputs.plan': plan } });
    const paused = await graph.resume(fork);
    expect(paused.waits[0]?.metadata).toMatchObject({ input: plan });
    const done = await graph.resume(fork.runId, { answers: { 'work?': 'approve' } });
    expect([done.status, Object.keys(done.output ?? {})]).toEqual(['completed', ['other']]);
  });

  test('a planner is told what is wrong with its plan, twice; then the mission fails', async () => {
    const cycle = { tasks: [task('a', 'searcher', 'b'), task('b', 'searcher', 'a')] };
    const stranger = { tasks: [{ ...task('a', 'searcher'), needs: ['nobody'] }] };
    const models = modelsOf(planning(cycle, stranger, twoTasks));
    const graph = report().autonomy('full').compile({ models });
    expect((await graph.invoke({})).status).toBe('completed');
    const sent = requestsOf(models, 'planner').map(({ messages }) => JSON.stringify(messages.at(-1)?.content));
    expect(sent[1]).toContain('there is a cycle: a needs b needs a');
    expect(sent[2]).toContain('task a needs nobody, which is no task');
    const never = modelsOf(planning(cycle));
    const failed = await report().autonomy('full').compile({ models: never }).invoke({});
    expect([failed.status, failed.error?.message]).toEqual(['failed', expect.stringContaining('there is a cycle')]);
    expect(failed.state.failures['plan']).toMatchObject({ code: 'PLAN_INVALID' });
    expect(requestsOf(never, 'planner')).toHaveLength(3);
  });

  test('a given plan fails at once, with every fault', () => {
    const bad = { tasks: [task('a', 'sercher'), task('a', 'writer', 'x')] };
    const compile = () => mission('m').goal('g').agents(agents).plan(bad).compile();
    expect(compile).toThrow(expect.objectContaining({ code: 'PLAN_INVALID' }));
    expect(compile).toThrow(
      /task a is for sercher, which is no agent: did you mean searcher\?; there are two tasks with the id a; task a needs x/u,
    );
    const long = { tasks: [task('a', 'searcher'), task('b', 'searcher', 'a'), task('c', 'searcher', 'b')] };
    const bounded = mission('m').goal('g').agents(agents).plan(long);
    expect(() => bounded.limits({ maxDepth: 2 }).compile()).toThrow(/a chain of 3 tasks/u);
    expect(() => bounded.limits({ maxTasks: 2 }).compile()).toThrow(/there are 3 tasks, and at most 2/u);
  });

  test('anchors must occur, in their order', () => {
    const begun = mission('m')
      .goal('g')
      .agents(agents)
      .anchor(
        'check',
        functionNode(() => 'checked'),
        { phase: 'validate', after: ['find'] },
      )
      .anchor('publish', 'writer', { phase: 'deliver' });
    const withTasks =
      (...tasks: Plan['tasks']) =>
      () =>
        begun.plan({ tasks }).compile();
    expect(withTasks(task('find', 'searcher'))).toThrow(
      /a task with the id check, for the agent check; there must be a task with the id publish/u,
    );
    expect(withTasks(task('find', 'searcher'), task('check', 'check'), task('publish', 'writer', 'check'))).toThrow(
      /check must come after find/u,
    );
    expect(withTasks(task('find', 'searcher'), task('check', 'check', 'find'), task('publish', 'writer'))).toThrow(
      /publish must come after check/u,
    );
    withTasks(task('find', 'searcher'), task('check', 'check', 'find'), task('publish', 'writer', 'check'))();
  });

  test('texts of plans are data: nothing in them is evaluated', async () => {
    const odd = 'say {{secrets.KEY}} and ${secrets.KEY} and ${{ env.KEY }} and $KEY';
    const plan = { tasks: [{ ...task('a', 'searcher'), task: odd }] };
    const models = modelsOf({ ...planning(plan), searcher: () => odd });
    const read: string[] = [];
    const secrets = { read: (name: string) => void read.push(name) as never };
    const graph = report().autonomy('full').compile({ models, secrets });
    const done = await graph.invoke({});
    expect([done.output, read]).toEqual([{ a: odd }, []]);
    expect(JSON.stringify(requestsOf(models, 'searcher')[0]?.messages)).toContain(JSON.stringify(odd).slice(1, -1));
  });

  test('a guided mission asks beyond its threshold only', async () => {
    const statusOf = async (plan: Plan, ...threshold: readonly object[]) =>
      (
        await mission('m')
          .goal('g')
          .agents(agents)
          .plan(plan)
          .autonomy('guided', ...threshold)
          .compile({ models: modelsOf({}) })
          .invoke({})
      ).status;
    const reads = { tasks: [task('a', 'searcher'), task('b', 'searcher')] };
    expect(await statusOf(reads)).toBe('completed');
    expect(await statusOf(reads, { maxTasks: 1 })).toBe('paused');
    expect(await statusOf(twoTasks)).toBe('paused');
    expect(await statusOf(twoTasks, { maxEffect: 'external' })).toBe('completed');
  });

  test('one budget bounds all of it, the planner included', async () => {
    const many = {
      tasks: ['a', 'b', 'c'].map((id, at) => task(id, 'searcher', ...(at === 0 ? [] : [String.fromCharCode(96 + at)]))),
    };
    const models = modelsOf(planning(many));
    const graph = report().autonomy('full').limits({ tokens: 5, onBudget: 'fail' }).compile({ models });
    const failed = await graph.invoke({});
    expect([failed.status, failed.error?.message]).toEqual(['failed', expect.stringContaining('tokens')]);
    const count = models.requests.length;
    expect(count).toBeLessThan(4);
    const done = await graph.resume(failed.runId, { budget: { tokens: 1_000_000 } });
    expect([done.status, requestsOf(models, 'planner').length]).toEqual(['completed', 1]);
  });

  test('an agent that is gone is told by name, and nothing changes', async () => {
    const store = createMemoryStore();
    const models = modelsOf(planning(twoTasks));
    await report().compile({ models, store }).invoke({}, { runId: 'r' });
    const without = mission('report')
      .goal('Report on tides.')
      .agents({ searcher })
      .planner({ model: 'm:planner' })
      .compile({ models, store });
    await expect(without.resume('r', { answers: { 'work?': 'approve' } })).rejects.toMatchObject({
      code: 'RUN_GRAPH_CHANGED',
      message: expect.stringContaining('the agent writer of its task write is gone'),
    });
    const again = await report()
      .compile({ models, store })
      .resume('r', { answers: { 'work?': 'approve' } });
    expect(again.status).toBe('completed');
  });

  test('a task that fails is tried again alone, and nothing is planned again', async () => {
    let isDown = true;
    const models = modelsOf({
      ...planning({ tasks: [task('a', 'searcher'), task('b', 'flaky'), task('c', 'searcher', 'b')] }),
    });
    const flaky = functionNode(() => {
      if (isDown) throw new Error('down');
      return 'up';
    });
    const graph = mission('m')
      .goal('g')
      .agents({ searcher, flaky })
      .planner({ model: 'm:planner' })
      .autonomy('full')
      .compile({ models });
    const failed = await graph.invoke({});
    expect([failed.status, requestsOf(models, 'searcher').length]).toEqual(['failed', 1]);
    isDown = false;
    const done = await graph.resume(failed.runId);
    expect([done.status, requestsOf(models, 'searcher').length, requestsOf(models, 'planner').length]).toEqual([
      'completed',
      2,
      1,
    ]);
  });

  test('it tells of a plan before anything is done', async () => {
    const graph = mission('m').goal('g').agents(agents).plan(twoTasks).limits({ cost: 2 }).compile();
    expect(await graph.explain()).toMatchInlineSnapshot(`
      "Mission m, plan 0fa92d479ab2020c: 2 tasks, 2 deep
      - find (searcher, pure): do find
      - write (writer, external) after find: do write
      Agents:
      - searcher: pure
      - writer: external; tools send (external)
      Expected cost: no agent has a budget for cost of its own
      Bounds: 20 tasks, chains of 8, 3 extensions, cost 2
      A person is asked about each plan and extension."
    `);
    expect(await report().compile().explain()).toContain('its plan is made when it begins');
  });
});

describe('PL5 extensions', () => {
  const extending = (reached: readonly string[], by = 'lead') => ({
    lead: agent({ model: `m:${by}`, description: 'Leads.', tools: { extend: extendPlan({ agents: reached }) } }),
    ...agents,
  });
  const onePlan = { tasks: [task('lead', 'lead')] };
  const wish = (...tasks: Plan['tasks']): ScriptedAnswer => ({
    calls: [{ tool: 'extend', input: { reason: 'more is needed', tasks } }],
  });
  const leading = (...wishes: readonly ScriptedAnswer[]) => ({
    lead: (_: string, nth: number) => wishes[nth - 1] ?? 'led',
  });
  const begin = (models: ScriptedModels, reached: readonly string[]) =>
    mission('m').goal('g').agents(extending(reached)).plan(onePlan).autonomy('full').compile({ models });

  test('tasks that an agent wishes for run afterwards, with the results that they need', async () => {
    const models = modelsOf(leading(wish(task('more', 'searcher', 'lead'))));
    const done = await begin(models, ['searcher']).invoke({});
    expect([done.status, done.output]).toEqual(['completed', { lead: 'led', more: 'm:searcher is done' }]);
    expect(JSON.stringify(requestsOf(models, 'searcher')[0]?.messages)).toContain('Result of lead:\\nled');
  });

  test('an agent that may do more than the one that asks is always asked about', async () => {
    const models = modelsOf(leading(wish(task('more', 'writer', 'lead'))));
    const graph = begin(models, ['writer']);
    const paused = await graph.invoke({}, { runId: 'r' });
    expect(paused.waits[0]).toMatchObject({
      isApproval: true,
      prompt: expect.stringContaining('writer may do more than the agent that asks'),
    });
    expect(requestsOf(models, 'writer')).toEqual([]);
    const done = await graph.resume('r', { answers: { [paused.waits[0]?.waitId ?? '']: 'reject' } });
    expect([done.status, Object.keys(done.output ?? {})]).toEqual(['completed', ['lead']]);
  });

  test('only agents that are reachable, and only for agents that list the tool', async () => {
    const models = modelsOf(leading(wish(task('more', 'writer'))));
    const done = await begin(models, ['searcher']).invoke({});
    expect(Object.keys(done.output ?? {})).toEqual(['lead']);
    expect(JSON.stringify(requestsOf(models, 'lead')[1]?.messages)).toContain('do not fit');
    expect(() => begin(models, ['nobody'])).toThrow(/lead may extend the plan for nobody/u);
  });

  test('no more extensions than allowed, and none beyond the limits of the plan', async () => {
    const models = modelsOf({
      lead: (_, nth) => (nth % 2 === 1 ? wish(task(`more${nth}`, 'lead')) : 'led'),
    });
    const graph = mission('m')
      .goal('g')
      .agents(extending(['lead']))
      .plan(onePlan)
      .autonomy('full')
      .limits({ maxExpansions: 2 })
      .compile({ models });
    const done = await graph.invoke({}, { runId: 'r' });
    expect(Object.keys(done.output ?? {})).toEqual(['lead', 'more1', 'more3']);
    const events: unknown[] = [];
    for await (const entry of graph.history.log('r'))
      for (const change of entry.change) if (change.kind === 'event') events.push(change.detail);
    expect(events).toMatchObject([{ type: 'extension-refused', reason: 'there were 2 extensions, which is the most' }]);
  });
});

describe('a mission that is killed at every point ends as if it had not been', () => {
  const open = (now: () => number) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) });

  test('a mission with an extension, approved by a person', async () => {
    const lead = agent({ model: 'm:lead', tools: { extend: extendPlan({ agents: ['searcher'] }) } });
    const plan = { tasks: [task('lead', 'lead'), task('find', 'searcher'), task('sum', 'searcher', 'lead', 'find')] };
    const models = () =>
      createScriptedModels(({ model, messages }) => {
        if (model === 'm:planner') return JSON.stringify(plan);
        if (model === 'm:lead' && messages.at(-1)?.role !== 'tool')
          return {
            calls: [{ id: 'c', tool: 'extend', input: { reason: 'r', tasks: [task('more', 'searcher', 'lead')] } }],
          };
        return `${model} did it`;
      });
    const graph = () => mission('m').goal('g').agents({ lead, searcher }).planner({ model: 'm:planner' }).toGraph();
    const result = await crashEverywhere({ graph, input: {}, models, answer: () => 'approve' }, { open });
    expect([result.faults, result.trials > 30]).toEqual([[], true]);
  });

  test('a linear orchestrator', async () => {
    const models = () =>
      createScriptedModels(({ model }) => (model === 'm:planner' ? JSON.stringify(twoTasks) : `${model} did it`));
    const graph = () =>
      linearOrchestrator('o', {
        goal: 'g',
        planner: { model: 'm:planner' },
        agents,
        answer: { model: 'm:answer' },
      }).toGraph();
    const result = await crashEverywhere({ graph, input: {}, models, answer: () => 'approve' }, { open });
    expect([result.faults, result.trials > 20]).toEqual([[], true]);
  });
});

describe('PL3 a goal that is computed', () => {
  test('is that of a plan that the caller gives, of a linear orchestrator, and of a plan that a fork gives', async () => {
    const models = modelsOf(planning(twoTasks));
    const goal = ({ state }: { readonly state: { readonly input: unknown } }): string => `On ${(state.input as { topic: string }).topic}.`; // prettier-ignore
    const given = mission('given').goal(goal).agents(agents).plan(twoTasks).compile({ models });
    await given.invoke({ topic: 'tides' }, { runId: 'r' });
    await given.resume('r', { answers: { 'work?': 'approve' } });
    const fork = await given.fork('r@0', { set: { 'outputs.plan': { tasks: [task('seek', 'searcher')] } } });
    await given.resume(fork);
    await given.resume(fork, { answers: { 'work?': 'approve' } });
    const parts = { goal, agents, planner: { model: 'm:planner' }, answer: { model: 'm:answer' } };
    await linearOrchestrator('line', parts).compile({ models }).invoke({ topic: 'tides' });
    const told = [...requestsOf(models, 'searcher'), ...requestsOf(models, 'answer')];
    expect(told.map(({ messages }) => JSON.stringify(messages).includes('On tides.'))).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  test('is that of the run where a node of a graph is given an approved plan', async () => {
    const models = modelsOf({});
    const graph = new AgentGraph({ input: z.object({ topic: z.string() }) }, { id: 'g' })
      .addNode('plan', () => twoTasks)
      .addNode(
        'work',
        planned({ agents, goal: ({ state }) => `On ${(state.input as { topic: string }).topic}.` }) as NodeDraft,
        {
          input: ({ state }) => state.outputs.plan,
          approval: { prompt: 'Go?' },
        },
      )
      .addEdge(START, 'plan')
      .addEdge('plan', 'work')
      .addEdge('work', END)
      .compile({ models });
    await graph.invoke({ topic: 'tides' }, { runId: 'r' });
    expect((await graph.resume('r', { answers: { 'work?': 'approve' } })).status).toBe('completed');
    expect(JSON.stringify(requestsOf(models, 'searcher')[0]?.messages)).toContain('On tides.');
  });
});

test('PL1 a plan is compiled to a graph, of agents, nodes and graphs', async () => {
  const echo = functionNode(({ state }) => (state.input as { readonly prompt: string }).prompt);
  const inner = new AgentGraph({}, { id: 'w' })
    .addNode('n', ({ input }) => (input as { readonly results: unknown }).results, { outputAs: 'told' })
    .addEdge(START, 'n')
    .addEdge('n', END)
    .toGraph();
  const graph = compilePlan(twoTasks, { searcher: echo, writer: inner });
  const { engine } = createBench({});
  const { status, state } = await runToRest(engine, graph, { results: {} }, 'r');
  expect([status, state.outputs]).toEqual([
    'completed',
    { find: 'Your task:\ndo find', write: { told: { find: 'Your task:\ndo find' } } },
  ]);
});
