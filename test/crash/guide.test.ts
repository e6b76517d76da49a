/**
 * What the guide shows of flows, approvals, orchestrators and missions, and agents that hand over to others or work side by side: the code of
 * the page itself, killed at every point (P1, P2). The browser, sandboxes and retrieval of the guide are killed in test/agents/browser.test.ts,
 * test/sandboxes/killed.test.ts, and on the page retrieval.md itself.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { agent } from '../../src/agents/agent.ts';
import { tool } from '../../src/agents/tools/tool-box.ts';
import type { GraphOrRunnable } from '../../src/graph/runnable-graph.ts';
import { AgentGraph, END, mapNode, START } from '../../src/index.ts';
import { createScriptedModels, type Script } from '../../src/models/scripted.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { CrashCase } from '../../src/testing/crash-kit/process-life.ts';
import { packageDoors } from '../support/package-doors.ts';
import { sampleCrashes } from '../support/scale.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-guide-crash-'));
// Examples import packages as well.
symlinkSync(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Makes the graph that an example of the guide makes, as often as it is called. @param result - the expression for it */
async function exampleOf(page: string, heading: string, result: string): Promise<() => GraphOrRunnable> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/guide', page), 'utf8');
  const section = text.slice(text.indexOf(heading === '' ? '# ' : `\n## ${heading}`));
  const code = /^```ts run\n(.*?)^```$/msu.exec(section)?.[1] ?? '';
  const lines = code.split('\n');
  const imports = lines.filter((line) => line.startsWith('import '));
  // Up to where it is run.
  const body = lines
    .slice(
      0,
      lines.findIndex((line) => /^const .*= await /u.test(line)),
    )
    .slice(imports.length);
  const doors = imports.map((line) => line.replace(/'(cairn-workflows[\w/-]*)'/u, (_, name: string) => `'${packageDoors[name]}'`)); // prettier-ignore
  const path = join(folder, `${page}-${result.replaceAll(/\W/gu, '')}.ts`);
  writeFileSync(path, [...doors, 'export function make() {', ...body, `return ${result};`, '}'].join('\n'));
  const { make } = (await import(path)) as { readonly make: () => GraphOrRunnable };
  return make;
}

/** Agents that take the answers of models from how far their conversation is. */
const byTurn =
  (turns: Readonly<Record<string, readonly Exclude<Script, (...args: never) => unknown>[number][]>>): Script =>
  ({ model, messages }) =>
    turns[model]?.[messages.filter(({ role }) => role === 'assistant').length] ?? new Error(`${model} is over`);

const send = tool({ description: 'Sends.', input: { type: 'object' }, run: () => 'sent', approval: 'always' });
const one = (node: Parameters<AgentGraph['addNode']>[1]): GraphOrRunnable =>
  new AgentGraph({}, { id: 'one', checkpointPolicy: 'every_node' })
    .addNode('a', node)
    .addEdge(START, 'a')
    .addEdge('a', END);
const plan = (...tasks: readonly (readonly [id: string, agent: string, ...needs: string[]])[]): string =>
  JSON.stringify({ tasks: tasks.map(([id, by, ...needs]) => ({ id, agent: by, task: `${id}.`, needs })) });

interface GuideCase extends Omit<CrashCase, 'graph' | 'models'> {
  readonly name: string;
  readonly graph: () => (() => GraphOrRunnable) | Promise<() => GraphOrRunnable>;
  readonly models?: Script;
  /** The fewest points at which it must have been killed, all taken. */
  readonly points: number;
}

const cases: readonly GuideCase[] = [
  {
    name: "the guide's flow",
    graph: () => exampleOf('flows.md', '', 'report'),
    input: { topic: 'tides' },
    points: 8,
  },
  {
    name: "the guide's approval before an effect",
    graph: () => exampleOf('flows.md', 'When a person must agree', 'letters'),
    input: { to: 'bob@example.com' },
    answer: () => ({ is_approved: true, data: { to: 'ann@example.com' } }),
    points: 10,
  },
  {
    name: "the guide's graph orchestrator",
    graph: () => exampleOf('orchestrators.md', 'Graph', 'states'),
    input: {},
    models: ({ messages }) => (JSON.stringify(messages).includes('drafted') ? '{"next":"done"}' : '{"next":"draft"}'),
    points: 10,
  },
  {
    name: "the guide's linear orchestrator",
    graph: () => exampleOf('orchestrators.md', 'Linear', 'report'),
    input: {},
    models: ({ model }) =>
      model === 'planner' ? plan(['facts', 'searcher'], ['text', 'writer', 'facts']) : `by ${model}`,
    points: 10,
  },
  {
    name: "the guide's adaptive orchestrator",
    graph: () => exampleOf('orchestrators.md', 'Adaptive', 'boss'),
    input: { prompt: 'When do we sail?' },
    models: byTurn({
      boss: [{ calls: [{ id: 'c', tool: 'searcher', input: { prompt: 'When is high water?' } }] }, 'Sail at noon.'],
      searcher: ['high at noon'],
    }),
    points: 10,
  },
  {
    name: "the guide's mission",
    graph: () => exampleOf('missions.md', '', 'tides().compile({ models })'),
    input: { topic: 'tides' },
    answer: () => 'approve',
    models: ({ model }) =>
      model === 'planner' ? plan(['find', 'searcher'], ['write', 'writer', 'find']) : `by ${model}`,
    points: 10,
  },
  {
    name: 'a handoff between agents, the second of which asks before an effect',
    graph: () => () => {
      const refunds = agent({ model: 'refunds', description: 'Refunds.', tools: { send } });
      return one(agent({ model: 'desk', prompt: 'The kettle is broken.', tools: { refunds } }));
    },
    input: {},
    answer: () => 'approve',
    models: byTurn({
      desk: [
        { calls: [{ id: 'c', tool: 'refunds', input: { prompt: 'A broken kettle, order 7.' } }] },
        'It is refunded.',
      ],
      refunds: [{ calls: [{ id: 'c', tool: 'send', input: { order: 7 } }] }, 'Refunded.'],
    }),
    points: 20,
  },
  {
    name: 'a map of agents, each of which asks before an effect',
    graph: () => () => {
      const each = one(
        agent({ model: 'm', prompt: ({ state }) => `For ${JSON.stringify(state.input)}.`, tools: { send } }),
      );
      return one(mapNode({ over: () => [{ to: 'ann' }, { to: 'bob' }, { to: 'cleo' }], each: each as AgentGraph }));
    },
    input: {},
    answer: () => 'approve',
    models: byTurn({ m: [{ calls: [{ id: 'c', tool: 'send', input: {} }] }, 'Sent.'] }),
    points: 30,
  },
];

test.each(cases)('P1 P2 $name, killed at every point, ends as if it never was', { timeout: 200_000 }, async (guide) => {
  const { name: _, graph, models, points, ...rest } = guide;
  const make = await graph();
  const report = await crashEverywhere(
    { ...rest, graph: make, ...(models && { models: () => createScriptedModels(models) }) },
    { open: (now) => ({ store: createMemoryStore({ now }) }), choose: sampleCrashes(6) },
  );
  console.log(`${guide.name}: killed at ${report.trials} of ${report.points} points`);
  expect(report.faults).toEqual([]);
  expect(report.points).toBeGreaterThanOrEqual(points);
});
