import { expect, test } from 'vitest';
import { compileGraph } from '../compile/compile-graph.ts';
import { END, START, type EdgeDefinition } from '../graph.ts';
import { passedNodes } from '../compile/compare-graphs.ts';

type Positions = Parameters<typeof passedNodes>[1];

/** A graph from lines such as `a > b`; an edge that leads back says so. */
function passed(edges: readonly string[], positions: Positions): readonly string[] {
  const definitions = edges.map((text): EdgeDefinition => {
    const [from = '', to = ''] = text.split('>').map((id) => id.trim());
    const isChoice = edges.filter((other) => other.startsWith(`${from} >`)).length > 1;
    const condition = isChoice ? { condition: { text, evaluate: () => true } } : {};
    return { from: from === '' ? START : from, to: to === '' ? END : to, ...condition };
  });
  const ids = new Set(definitions.flatMap(({ from, to }) => [from, to]).filter((id) => id !== START && id !== END));
  const nodes = [...ids].map((id) => ({
    id,
    type: 'function',
    effect: 'pure' as const,
    implementation: { run: () => 1 },
  }));
  return [...passedNodes(compileGraph({ id: 'g', nodes, edges: definitions }).structure, positions)];
}

const start = { id: START, isOpen: false, fired: ['a'] };
const done = (id: string, ...fired: readonly string[]): Positions[number] => ({ id, isOpen: false, fired });
const open = (id: string): Positions[number] => ({ id, isOpen: true });

test.each<[what: string, edges: readonly string[], positions: Positions, expected: readonly string[]]>([
  ['nothing, where it is ahead', ['> a', 'a > x', 'x > b', 'b >'], [start, open('a')], []],
  [
    'what stands between two that settled',
    ['> a', 'a > x', 'x > b', 'b > c', 'c >'],
    [start, done('a', 'b'), done('b', 'c'), open('c')],
    ['a', 'x', 'b'],
  ],
  [
    'what stands before one that is open',
    ['> a', 'a > x', 'x > b', 'b >'],
    [start, done('a', 'b'), open('b')],
    ['a', 'x'],
  ],
  ['what begins beside a start that was made', ['> a', '> x', 'a >', 'x >'], [start, open('a')], ['x']],
  [
    'nothing behind what was led to and has not begun',
    ['> a', 'a > b', 'b > x', 'x >'],
    [start, done('a', 'b')],
    ['a'],
  ],
  [
    'all that is left, where an edge that was fired is gone',
    ['> a', 'a > x', 'x > b', 'b >'],
    [start, done('a', 'b')],
    ['a', 'x', 'b'],
  ],
  [
    'nothing in a loop that goes round',
    ['> a', 'a > x', 'x > b', 'b > a', 'b >'],
    [start, done('a', 'b'), open('b')],
    [],
  ],
  [
    'nothing in a loop that is to go round',
    ['> a', 'a > x', 'x > b', 'b > a', 'b >'],
    [start, done('a', 'b'), done('b', 'a')],
    [],
  ],
  [
    'what was in a loop that is over',
    ['> a', 'a > x', 'x > b', 'b > a', 'b > c', 'c >'],
    [start, done('a', 'b'), done('b', 'c'), open('c')],
    ['a', 'x', 'b'],
  ],
])('H3 a run is past %s', (_, edges, positions, expected) => {
  expect(passed(edges, positions).toSorted()).toEqual([...expected].toSorted());
});
