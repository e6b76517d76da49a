import { expect, test } from 'vitest';
import { z } from 'zod';
import { CairnError } from '../../errors.ts';
import type { Graph, StandardSchema, Violation } from '../../graph/graph.ts';
import { workflow, type Workflow } from './workflow.ts';

const input = z.object({ n: z.number() });
const one = (): number => 1;

/** Edges as `from -> to`, with `:label` where a choice decides. */
const edgesOf = ({ nodes, edges }: Graph): readonly string[] =>
  edges.map(
    ({ from, to, choice, label }) => `${nodes[from]?.id}${choice === undefined ? '' : `:${label}`} -> ${nodes[to]?.id}`,
  );

const joinOf = (graph: Graph, id: string): unknown => graph.nodes.find((node) => node.id === id)?.join;

function errorsOf(flow: { toGraph(): unknown }): readonly string[] {
  try {
    flow.toGraph();
  } catch (error) {
    if (CairnError.is(error, 'GRAPH_INVALID'))
      return (error.data['violations'] as readonly Violation[]).map(({ message }) => message);
    throw error;
  }
  return [];
}

const ended = (flow: Workflow<{ readonly input: StandardSchema }, never, never>): Graph =>
  flow.returns(() => 1).toGraph();
const begin = () => workflow('flow').input(input);

test('G1 steps follow one another, and their outputs are artifacts under their ids', () => {
  const graph = begin()
    .step('a', one)
    .step('b', one, { outputAs: 'second' })
    .returns(z.object({ a: z.number() }))
    .toGraph();
  expect(graph.id).toBe('flow');
  expect(edgesOf(graph)).toEqual(['__start__ -> a', 'a -> b', 'b -> returns', 'returns -> __end__']);
  expect(graph.nodes.slice(2).map(({ id, outputAs }) => [id, outputAs])).toEqual([
    ['a', 'a'],
    ['b', 'second'],
    ['returns', undefined],
  ]);
  expect(graph.policies.checkpoint).toBe('every_node');
});

test('P6 a workflow that is awaited says so instead of waiting for ever', async () => {
  await expect((async () => begin().step('a', one) as unknown)()).rejects.toThrow(/not a promise/);
});

test('G1 each method leaves the workflow it was called on as it was', () => {
  const start = begin().step('a', one);
  const left = start.then('b', one).returns(() => 1);
  const right = start.then('c', one).returns(() => 1);
  expect(edgesOf(left.toGraph())).toContain('a -> b');
  expect(edgesOf(right.toGraph())).toEqual(['__start__ -> a', 'a -> c', 'c -> returns', 'returns -> __end__']);
});

test('G3 the arms of a branch are chosen by label, and the next step follows whichever was taken', () => {
  const graph = begin()
    .step('a', one)
    .branch(
      () => 'yes' as const,
      (arm) => ({ yes: one, no: arm.step('n1', one).then('n2', one), skip: arm }),
    )
    .then('z', one)
    .returns(() => 1)
    .toGraph();
  expect(edgesOf(graph)).toEqual([
    '__start__ -> a',
    'a -> a_branch',
    'a_branch:yes -> yes',
    'a_branch:no -> n1',
    'n1 -> n2',
    'yes -> z',
    'n2 -> z',
    'a_branch:skip -> z',
    'z -> returns',
    'returns -> __end__',
  ]);
  expect(joinOf(graph, 'z')).toBe('some');
});

test('G1 ids of nodes that the author did not name stay when a step is added elsewhere', () => {
  const build = (isLonger: boolean): readonly string[] => {
    const first = begin().step('a', one);
    const middle = isLonger ? first.then('new', one).then('b', one) : first.then('b', one);
    return middle
      .branch(() => 'x' as const, { x: one, y: one })
      .then('c', one)
      .parallel({ p: one, q: one })
      .parallel({ r: one, s: one }, { id: 'gate' })
      .returns(() => 1)
      .toGraph()
      .nodes.map(({ id }) => id)
      .filter((id) => id !== 'new');
  };
  expect(build(true)).toEqual(build(false));
  expect(build(false)).toEqual(expect.arrayContaining(['b_branch', 'c_join', 'gate']));
});

test('G3 a parallel part starts its arms from the same ends and joins them as it says', () => {
  const flow = begin().step('a', one);
  const arms = { p: one, q: one, r: one };
  const all = flow
    .parallel(arms)
    .then('z', one)
    .returns(() => 1)
    .toGraph();
  expect(edgesOf(all)).toEqual([
    '__start__ -> a',
    ...['p', 'q', 'r'].map((id) => `a -> ${id}`),
    ...['p', 'q', 'r'].map((id) => `${id} -> a_join`),
    'a_join -> z',
    'z -> returns',
    'returns -> __end__',
  ]);
  expect(joinOf(all, 'a_join')).toBe('all');
  expect(joinOf(ended(flow.parallel(arms, { join: 'any' }) as never), 'a_join')).toEqual({
    first: 1,
    cancelRest: true,
  });
  expect(joinOf(ended(flow.parallel(arms, { join: { quorum: 2 }, cancelRest: false }) as never), 'a_join')).toEqual({
    first: 2,
    cancelRest: false,
  });
});

test('G3 a join that cancels the rest is tied to every step of its arms', () => {
  const build = (join: 'all' | 'any') =>
    begin()
      .parallel((arm) => ({ p: one, q: arm.step('q1', one).then('q2', one) }), { join, id: 'gate' })
      .returns(() => 1)
      .toGraph();
  expect(edgesOf(build('any')).filter((edge) => edge.endsWith('-> gate'))).toEqual([
    'p -> gate',
    'q2 -> gate',
    'q1 -> gate',
  ]);
  expect(
    build('any')
      .edges.find(({ condition }) => condition !== undefined)
      ?.condition?.evaluate({} as never),
  ).toBe(false);
  expect(edgesOf(build('all')).filter((edge) => edge.endsWith('-> gate'))).toEqual(['p -> gate', 'q2 -> gate']);
});

test('G3 an arm that branches counts once in its join', () => {
  const graph = begin()
    .step('a', one)
    .parallel((arm) => ({ p: one, q: arm.step('q1', one).branch(() => 'x' as const, { x: one, y: one }) }))
    .returns(() => 1)
    .toGraph();
  const intoJoin = edgesOf(graph).filter((edge) => edge.endsWith('-> a_join'));
  expect(intoJoin).toEqual(['p -> a_join', 'q_end -> a_join']);
  expect(joinOf(graph, 'q_end')).toBe('some');
});

test('G7 a workflow with nothing in it reports all that is missing', () => {
  expect(errorsOf(workflow('empty'))).toEqual(
    expect.arrayContaining([
      'workflow empty has no steps',
      'workflow empty has no input',
      'workflow empty has no returns',
    ]),
  );
});

test('G9 every option that has no effect is refused', () => {
  const flow = workflow('bad', { transport: 'voice' } as never)
    .input(input)
    .step('a', one, { onError: 'abort' } as never);
  const errors = errorsOf(
    flow
      .branch(() => 'x' as const, { x: one }, { colour: 1 } as never)
      .parallel({ p: one, q: one }, { cancelRest: true })
      .parallel({ r: one, s: one }, { join: { quorum: 3 }, timeout: 5 } as never)
      .parallel({ t: one }, { join: 'most' } as never)
      .parallel((arm) => ({ u: arm.input(input).step('u', one) }), { merge: { 'scratch.n': 'sum' } })
      .parallel({ v: one }, { merge: { 'scratch.n': 'max' } })
      .branch(() => '' as never, {})
      .returns(() => 1),
  );
  for (const part of [
    'transport',
    'onError',
    'colour',
    'cancelRest',
    'quorum',
    'timeout',
    'most',
    'arm u',
    'second reducer',
    'no arms',
  ]) {
    expect(
      errors.some((error) => error.includes(part)),
      `${part} in\n${errors.join('\n')}`,
    ).toBe(true);
  }
});

test('G7 two arms with one key are reported', () => {
  const errors = errorsOf(
    begin()
      .branch(() => 'yes' as const, { yes: one })
      .branch(() => 'yes' as const, { yes: one })
      .returns(() => 1),
  );
  expect(errors.some((error) => error.includes('yes'))).toBe(true);
});
