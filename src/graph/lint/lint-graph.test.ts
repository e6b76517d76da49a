/** Warnings of graphs: each rule once, and none of a graph that is as it should be. */
import { expect, test } from 'vitest';
import { edges, graphOf, node } from '../../../test/engine-kit.ts';
import type { GraphDefinition } from '../graph.ts';
import { lintGraph } from './lint-graph.ts';

const a = node('a', 'pure', () => 1);
const b = node('b', 'pure', () => 1);
const said = (nodes: GraphDefinition['nodes'], links: GraphDefinition['edges'], more = {}): readonly string[] =>
  lintGraph(graphOf('g', nodes, links, more)).map(({ rule, place }) => `${rule} ${place}`);
const sometimes = { text: 'sometimes', evaluate: () => false };

test('G12 a graph that is as it should be has nothing said of it', () => {
  const loop = [...edges('> a', 'a > b', 'b >'), { from: 'b', to: 'a', condition: sometimes }];
  expect(said([a, { ...b, maxVisits: 3 }], loop)).toEqual([]);
});

test('P2 a function that declares no effect class is named', () => {
  expect(said([{ ...a, isDeclared: false }, b], edges('> a', 'a > b', 'b >'))).toEqual(['undeclared_effect node a']);
});

test('G12 a loop that nothing leads out of, and one that goes round whatever happens', () => {
  expect(said([a, b], edges('> a', 'a > b', 'b > a'))).toEqual([
    'unreachable_terminal node __start__',
    'unreachable_terminal node a',
    'unreachable_terminal node b',
    'unbounded_loop edge b -> a',
  ]);
  expect(said([a, b], edges('> a', 'a > b', 'b > a', 'b >'))).toEqual(['unbounded_loop edge b -> a']);
  const decided = [...edges('> a', 'b > a', 'b >'), { from: 'a', to: 'b', condition: sometimes }];
  expect(said([a, b], decided)).toEqual([]);
});

test('G12 under routing first an edge that stands behind another goes round only if that does not fire', () => {
  const first = { policies: { routing: 'first' } };
  const out = [...edges('> a', 'a > b'), { from: 'b', to: '__end__', condition: sometimes }, ...edges('b > a')];
  expect(said([a, b], out, first)).toEqual([]);
  expect(said([a, b], [...edges('> a', 'a > b', 'b > a', 'b >')], first)).toEqual(['unbounded_loop edge b -> a']);
});

test('G12 options that say nothing where they stand are told, in child graphs too', () => {
  const odd = node('odd', 'pure', () => 1, { onInDoubt: 'fail', maxVisits: 2 });
  const links = [...edges('> odd'), { from: 'odd', to: '__end__', weight: 3 }];
  const expected = ['inert_option edge odd -> __end__', ...Array.from({ length: 2 }, () => 'inert_option node odd')];
  expect(said([odd], links)).toEqual(expected);
  const around = node('around', 'read', () => 1, { subgraph: graphOf('child', [odd], links) });
  expect(said([around], edges('> around', 'around >'))).toEqual(
    expected.map((line) => line.replace('inert_option ', 'inert_option around/')),
  );
});
