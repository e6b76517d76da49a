import { expect, test } from 'vitest';
import { z } from 'zod';
import { CairnError } from '../../errors.ts';
import { END, START, type GraphSchemas, type Violation } from '../../graph/graph.ts';
import { AgentGraph } from './agent-graph.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';

type AnyGraph = AgentGraph<GraphSchemas, Record<string, unknown>>;
const open = (options: object = {}, schemas: object = {}): AnyGraph => new AgentGraph(schemas, options);

const draft: NodeDraft = { type: 'function', effect: 'write', timeoutMs: 5, implementation: { run: () => 1 } };

function violationsOf(compile: () => unknown): readonly Violation[] {
  try {
    compile();
  } catch (error) {
    if (CairnError.is(error, 'GRAPH_INVALID')) return error.data['violations'] as readonly Violation[];
    throw error;
  }
  throw new Error('the graph was accepted');
}

const errorsOf = (compile: () => unknown): readonly string[] =>
  violationsOf(compile)
    .filter(({ severity }) => severity === 'error')
    .map(({ rule, message, fix }) => `${rule} ${message} (${fix})`);

test('G1 nodes, edges, schemas and policies land in the graph model', () => {
  const input = z.object({ n: z.number() });
  const graph = new AgentGraph(
    { input },
    {
      id: 'sum',
      reducers: { 'scratch.total': 'sum' },
      concurrency: 2,
      maxVisits: 9,
      routing: 'first',
      durability: 'exit',
    },
  )
    .addNode('a', () => 1)
    .addNode('b', draft, { effectClass: 'external', timeoutMs: 7, outputAs: 'result', join: 'all' })
    .addEdge(START, 'a')
    .addEdge('a', 'b', { label: 'go', weight: 3, on: 'any' })
    .addEdge('b', END)
    .toGraph();
  expect(graph.id).toBe('sum');
  expect(graph.policies).toEqual({
    routing: 'first',
    checkpoint: 'none',
    concurrency: 2,
    maxVisits: 9,
    durability: 'exit',
  });
  expect(graph.reducers).toEqual({ 'scratch.total': 'sum' });
  expect(graph.schemas.input).toBe(input);
  expect(
    graph.nodes
      .slice(2)
      .map(({ id, effect, timeoutMs, outputAs, join }) => ({ id, effect, timeoutMs, outputAs, join })),
  ).toEqual([
    { id: 'a', effect: 'pure', timeoutMs: undefined, outputAs: undefined, join: 'some' },
    { id: 'b', effect: 'external', timeoutMs: 7, outputAs: 'result', join: 'all' },
  ]);
  expect(graph.edges.find(({ label }) => label === 'go')).toMatchObject({ weight: 3, on: 'any' });
});

test('G1 a draft is not changed, and may be added twice', () => {
  const before = { ...draft };
  const graph = open()
    .addNode('a', draft)
    .addNode('b', draft, { timeoutMs: 9 })
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge('b', END)
    .toGraph();
  expect(draft).toEqual(before);
  expect(graph.nodes.slice(2).map(({ id, timeoutMs }) => [id, timeoutMs])).toEqual([
    ['a', 5],
    ['b', 9],
  ]);
});

test('G1 two builds of one graph have one hash, and formatting a function anew keeps it', () => {
  const build = (choose: () => 'b', run: () => number, version = '1'): string =>
    open()
      .addNode('a', run, { version })
      .addNode('b', draft)
      .addEdge(START, 'a')
      .addConditionalEdge('a', choose, ['b', END])
      .addEdge('b', END)
      .toGraph().hash;
  const hash = build(
    () => 'b',
    () => 1,
  );
  expect(
    build(
      () => 'b',
      () => 1,
    ),
  ).toBe(hash);
  // prettier-ignore
  expect(build(() => { return 'b' }, () => { return 1 })).toBe(hash);
  expect(
    build(
      () => 'b',
      () => 1,
      '2',
    ),
  ).not.toBe(hash);
});

test('G7 every fault is reported at once, with the line it was written on', () => {
  const graph = open({ checkpointPolicy: 'sometimes', memoryConsistency: 'live' }, { diagnostics: z.object({}) });
  graph.addNode('a', draft);
  graph.addNode('a', draft);
  graph.addNode('b', 'shell' as never, { retries: 3 } as never);
  graph.addEdge(START, 'a');
  graph.addEdge('a', 'nowhere', { colour: 'red' } as never);
  graph.addConditionalEdge('a', () => 'b', [] as readonly string[]);
  const errors = errorsOf(() => graph.compile());
  for (const part of [
    'memoryConsistency',
    'sometimes',
    'diagnostics',
    'retries',
    'colour',
    'nowhere',
    'neither a function',
    'names no targets',
  ]) {
    expect(
      errors.some((error) => error.includes(part)),
      `${part} in\n${errors.join('\n')}`,
    ).toBe(true);
  }
  const places = violationsOf(() => graph.compile())
    .filter(({ rule }) => rule === 'G9')
    .map(({ place }) => place);
  expect(places.filter((place) => /agent-graph\.test\.ts:\d+$/.test(place))).toHaveLength(3);
  expect(errors.filter((error) => error.includes('retries'))).toHaveLength(1);
});

test('G7 compiling twice reports the same faults, not twice as many', () => {
  const graph = open({ bogus: 1 });
  graph.addNode('a', draft).addEdge(START, 'a');
  const first = errorsOf(() => graph.toGraph());
  expect(errorsOf(() => graph.toGraph())).toEqual(first);
});

test('G6 a choice becomes one edge for each target, known by its label', () => {
  const graph = open()
    .addNode('a', draft)
    .addNode('b', draft)
    .addEdge(START, 'a')
    .addConditionalEdge('a', () => 'again', { again: 'b', stop: END }, { name: 'decide', version: '3', on: 'any' })
    .addEdge('b', END)
    .toGraph();
  const edges = graph.edges.filter(({ choice }) => choice !== undefined);
  expect(
    edges.map(({ label, to, on, choice }) => [label, graph.nodes[to]?.id, on, choice?.text, choice?.version]),
  ).toEqual([
    ['again', 'b', 'any', 'decide', '3'],
    ['stop', END, 'any', 'decide', '3'],
  ]);
  expect(new Set(edges.map(({ choice }) => choice)).size).toBe(1);
});

test('G3 the edge to where a guardrail reroutes fires on a violation only', () => {
  const guard: NodeDraft = { ...draft, type: 'guardrail', config: { onViolation: 'reroute', rerouteTarget: 'mend' } };
  const graph = open().addNode('guard', guard).addNode('mend', draft).addNode('go', draft);
  graph.addEdge(START, 'guard').addEdge('guard', 'mend').addEdge('guard', 'go').addEdge('mend', END).addEdge('go', END);
  const { edges, nodes } = graph.toGraph();
  const [mend, go] = ['mend', 'go'].map((id) => edges.find(({ to }) => nodes[to]?.id === id));
  const settled = (passed: boolean) =>
    ({ outcome: { status: 'completed', output: { passed }, error: undefined }, state: {} }) as never;
  expect(go?.condition).toBeUndefined();
  expect(mend?.condition?.evaluate(settled(false))).toBe(true);
  expect(mend?.condition?.evaluate(settled(true))).toBe(false);
});

test('G9 compile refuses options that it does not have, and an engine with settings beside it', () => {
  const graph = open().addNode('a', draft).addEdge(START, 'a').addEdge('a', END);
  expect(() => graph.compile({ checkpointStore: {} } as never)).toThrow(/checkpointStore/);
  const engine = { start: () => 1, resume: () => 1, fork: () => 1 };
  expect(() => graph.compile({ engine, leaseMs: 5 } as never)).toThrow(/leaseMs/);
});
