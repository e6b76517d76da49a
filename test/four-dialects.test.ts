/** P5: one workflow of four nodes in four dialects leaves one kind of history: what differs is told here, line by line. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readDot, type StageHandler } from '../src/dialects/dot/index.ts';
import { readWorkflow } from '../src/dialects/yaml/index.ts';
import type { NodeContext } from '../src/graph/contracts/node-contract.ts';
import type { Graph } from '../src/graph/graph.ts';
import { AgentGraph, END, START, functionNode, humanNode, outcome, workflow } from '../src/index.ts';
import { changesOf, createBench } from './engine-kit.ts';
import { ask, effectType } from './yaml-kit.ts';

const does = (id: string) => functionNode(() => id, { effectClass: 'external' });
const asks = humanNode({ prompt: 'Publish?', choices: [{ value: 'Yes', label: 'Yes' }] });
const four = ['prepare', 'check', 'approve', 'publish'] as const;

const typescript = (): Graph =>
  new AgentGraph({}, { id: 'four', checkpointPolicy: 'every_node' })
    .addNode('prepare', does('prepare'))
    .addNode('check', does('check'))
    .addNode('approve', asks)
    .addNode('publish', does('publish'))
    .addEdge(START, 'prepare')
    .addEdge('prepare', 'check')
    .addEdge('check', 'approve')
    .addEdge('approve', 'publish')
    .addEdge('publish', END)
    .compile().graph;

const line = (): Graph =>
  workflow('four')
    .input(z.object({}))
    .step('prepare', does('prepare'))
    .then('check', does('check'))
    .then('approve', asks)
    .then('publish', does('publish'))
    .returns(() => 'done')
    .compile().graph;

const yaml = (): Graph =>
  readWorkflow(
    `
name: four
blocks:
  - { id: prepare, type: Effect, inputs: { value: external } }
  - { id: check, type: Effect, depends_on: [prepare], inputs: { value: external } }
  - { id: approve, type: Ask, depends_on: [check], inputs: { prompt: "Publish?" } }
  - { id: publish, type: Effect, depends_on: [approve], inputs: { value: external } }
outputs: { said: "\${approve.answer}" }
`,
    { nodeTypes: [ask, effectType({ done: [] })] },
  ).graph;

const stage: StageHandler = { effect: 'external', run: () => ({ status: 'success' }) };

const dot = (): Graph =>
  readDot(
    `digraph four {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  node [prompt=x]
  prepare; check; publish
  approve [shape=hexagon, label="Publish?"]
  start -> prepare -> check -> approve
  approve -> publish [label=Yes]
  publish -> exit
}`,
    { handlers: { codergen: stage } },
  ).graph;

/** Every checkpoint of a run, as what changed in it. */
async function historyOf(graph: Graph): Promise<readonly string[]> {
  const { engine } = createBench({ findGraph: () => Promise.resolve(graph) });
  const paused = await (await engine.start(graph, {})).result();
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'Yes');
  const { status, runId } = await (await engine.resume(paused.runId)).result();
  expect(status).toBe('completed');
  return changesOf(engine, runId);
}

/** A history without some nodes, which only begin or end a run of their dialect. */
const without = (history: readonly string[], ...nodes: readonly string[]): readonly string[] =>
  history
    .map((line) =>
      line.replace(new RegExp(` \\+ settle (?:${nodes.join('|')})\\b|\\bsettle (?:${nodes.join('|')}) \\+ `, 'gu'), ''),
    )
    .filter((line) => !nodes.some((node) => line === `settle ${node}`));

const common = [
  'start',
  'intent prepare',
  'settle prepare + intent check',
  'settle check',
  'wait approve',
  'pause',
  'answer approve question',
  'settle approve + intent publish',
  'settle publish + end',
];

test('P5 nodes and edges, a line of steps and a YAML file leave the same checkpoints, but for the node that gives their result', async () => {
  expect(await historyOf(typescript())).toEqual(common);
  const [last = '', ...rest] = common.toReversed();
  const ended = (node: string): readonly string[] => [
    ...rest.toReversed(),
    last.replace(' + end', ''),
    `settle ${node} + end`,
  ];
  expect(await historyOf(line())).toEqual(ended('returns'));
  expect((await historyOf(yaml())).map((one) => one.replace('approve wait', 'approve question'))).toEqual(
    ended('outputs'),
  );
});

test('P5 a pipeline leaves the checkpoints of a TypeScript graph whose nodes do their work in a step, as stages do', async () => {
  const works = functionNode((ctx: NodeContext) => {
    const goal = ctx.state.scratch['graph.goal'];
    return ctx.step('work', { effect: 'external' }, () => goal ?? 'done');
  });
  const drawn = new AgentGraph({}, { id: 'four', checkpointPolicy: 'every_node' })
    .addNode('start', () => outcome({ output: 'started', scratch: { 'graph.goal': 'x' } }))
    .addNode('prepare', works)
    .addNode('check', works)
    .addNode('approve', asks)
    .addNode('publish', works)
    .addNode('exit', () => 'ended')
    .addNode('outputs', ({ state }) => state.outputs['exit'])
    .addEdge(START, 'start')
    .addEdge('start', 'prepare')
    .addEdge('prepare', 'check')
    .addEdge('check', 'approve')
    .addEdge('approve', 'publish')
    .addEdge('publish', 'exit')
    .addEdge('exit', 'outputs')
    .addEdge('outputs', END)
    .compile().graph;
  expect(await historyOf(dot())).toEqual(await historyOf(drawn));
});

test('P5 in all four, each node is begun, settled, asked and answered in the same order', async () => {
  const facts = async (graph: Graph): Promise<readonly string[]> =>
    without(await historyOf(graph), 'start', 'exit', 'outputs', 'returns')
      .flatMap((checkpoint) => checkpoint.split(' + '))
      // The step of a stage is its node's work: that it was recorded and that its node settled are one fact.
      .filter((fact) => !/^step \w+ work$/u.test(fact) && !/^settle (?:start|exit|outputs|returns)$/u.test(fact))
      .map((fact) => fact.replace(/ (?:work|question|wait)$/u, ''));
  const expected = common
    .flatMap((checkpoint) => checkpoint.split(' + '))
    .map((fact) => fact.replace(/ question$/u, ''));
  for (const write of [typescript, line, yaml, dot]) expect(await facts(write())).toEqual(expected);
});

test('P5 in all four, the record of each node says the same kinds of things', async () => {
  const recordsOf = async (graph: Graph): Promise<unknown> => {
    const { engine } = createBench({ findGraph: () => Promise.resolve(graph) });
    const { runId, waits, seq } = await (await engine.start(graph, {})).result();
    const [wait] = waits;
    await engine.answer(runId, wait?.waitId ?? '', 'Yes');
    const { state } = await (await engine.resume(runId)).result();
    return {
      waits: waits.map(({ kind, node, prompt }) => ({ kind, node, prompt })),
      settled: four.map((id) => [id, Object.hasOwn(state.outputs, id)]),
      failures: Object.keys(state.failures),
      isLater: seq > 0,
    };
  };
  const [first, ...others] = await Promise.all([typescript, line, yaml, dot].map((write) => recordsOf(write())));
  expect(first).toMatchObject({ settled: four.map((id) => [id, true]), failures: [] });
  for (const other of others) expect(other).toEqual(first);
});
