/** What a graph gives to the node that runs it, whatever it was written in, and what that node gives it (N13, N14). */
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { readDot } from '../dialects/dot/index.ts';
import { readWorkflow } from '../dialects/yaml/index.ts';
import type { GraphOrRunnable } from '../graph/runnable-graph.ts';
import { AgentGraph, END, flow, mapNode, outcome, START, subgraphNode, workflow, type NodeContext } from '../index.ts';
import { mission } from '../plans/index.ts';
import { createNodeTypes } from './blocks/index.ts';

const twice = ({ input }: NodeContext): number => (input as { n: number }).n * 2;
const double = flow('double', { double: { run: twice }, next: { run: ({ input }: NodeContext) => (input as { double: number }).double + 1, needs: ['double'] } }); // prettier-ignore
const steps = workflow('steps')
  .input(z.object({ n: z.number() }))
  .step('double', twice);
const schema = z.object({ double: z.number() });
const graph = new AgentGraph({}, { id: 'graph' })
  .addNode('double', (ctx) => outcome({ artifacts: { double: twice(ctx as NodeContext) } }))
  .addEdge(START, 'double')
  .addEdge('double', END);
const yaml = `name: texts
inputs: { n: { type: int } }
blocks: [{ id: say, type: EchoBlock, inputs: { message: "\${inputs.n * 2}" } }]
outputs: { double: "\${inputs.n * 2}" }
`;
const dot = 'digraph P { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }';
const planned = mission('planned').goal('Double.').autonomy('full').agents({ one: { type: 'function', effect: 'pure', implementation: { run: () => 7 } } }).plan({ tasks: [{ id: 'double', agent: 'one', task: 'Double it.', needs: [] }] }); // prettier-ignore

test.each<[string, GraphOrRunnable<{ n: number }>, (n: number) => unknown]>([
  ['a flow', double, (n) => ({ double: n * 2, next: n * 2 + 1 })],
  ['a compiled flow', double.compile(), (n) => ({ double: n * 2, next: n * 2 + 1 })],
  ['a workflow', steps.returns(schema), (n) => ({ double: n * 2 })],
  ['a workflow that returns', steps.returns(({ state }) => [state.artifacts.double]), (n) => [n * 2]],
  ['a graph', graph, (n) => ({ double: n * 2 })],
  ['a workflow in YAML', readWorkflow(yaml, { nodeTypes: createNodeTypes() }), (n) => ({ double: n * 2 })],
  ['a mission', planned, () => ({ double: 7 })],
])('N13 N14 the results of %s are the output of the node that runs it, and of each item', async (_, child, given) => {
  const outer = flow('outer', {
    map: { run: mapNode({ over: () => [{ n: 1 }, { n: 2 }], each: child }) },
    kept: { run: mapNode({ over: () => [{ n: 1 }], each: child, continueOnError: true }) },
    sub: { run: subgraphNode(child, { input: () => ({ n: 3 }) }) },
  });
  const { nodes, error } = await outer.compile().invoke({});
  expect([error, nodes.map.output, nodes.kept.output, nodes.sub.output]).toEqual([
    undefined,
    [given(1), given(2)],
    [{ status: 'completed', value: given(1) }],
    given(3),
  ]);
});

test('N13 N14 the outputs of a pipeline in DOT are the output of the node that runs it, and of each item', async () => {
  const child = readDot(dot, { nodeTypes: createNodeTypes() });
  const run = { map: { run: mapNode({ over: () => [{}], each: child }) }, sub: { run: subgraphNode(child) } };
  const { nodes } = await flow('outer', run).compile().invoke({});
  expect([nodes.map.output, nodes.sub.output]).toMatchObject([[{ status: 'success' }], { status: 'success' }]);
});

test('N13 N14 the input that the settings of a node name is what its child gets, and what its items are made of', async () => {
  const outer = flow('outer', {
    a: { run: () => ({ n: 7 }) },
    sub: { run: subgraphNode(double), needs: ['a'], input: ({ state }) => state.outputs['a'] },
    map: { run: mapNode({ over: ({ input }) => input as { n: number }[], each: double }), input: () => [{ n: 4 }] },
  });
  const { nodes } = await outer.compile().invoke({ n: 1 });
  expect([nodes.sub.output, nodes.map.output]).toEqual([{ double: 14, next: 15 }, [{ double: 8, next: 9 }]]);
});

test('N13 the types of results are those of the child', async () => {
  const outer = await flow('outer', {
    flowed: { run: mapNode({ over: () => [{ n: 1 }], each: double.compile() }) },
    returned: { run: subgraphNode(steps.returns(() => 'x' as const).compile(), { input: () => ({ n: 1 }) }) },
    made: { run: subgraphNode(steps.returns(schema).compile(), { input: () => ({ n: 1 }) }) },
  })
    .compile()
    .invoke({});
  const { flowed, returned, made } = outer.nodes;
  expectTypeOf(flowed.output?.[0]?.next).toEqualTypeOf<number | undefined>();
  expectTypeOf(returned.output).toEqualTypeOf<'x' | undefined>();
  expectTypeOf(made.output?.double).toEqualTypeOf<number | undefined>();
  expect([flowed.output, returned.output, made.output]).toEqual([[{ double: 2, next: 3 }], 'x', { double: 2 }]);
});
