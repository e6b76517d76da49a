/** Smaller sketches, and sketches in words. */
import * as fc from 'fast-check';
import { compileGraph } from '../../src/graph/compile/compile-graph.ts';
import { END, START } from '../../src/graph/graph.ts';
import { withEach, withoutEach, type Property } from '../support/smallest.ts';
import { defineGraph, nodeId, type Sketch } from './random-graph.ts';

/** Other seeds in each run; repeat one with CAIRN_SEED=N. */
export function randomSeeds(count: number): readonly number[] {
  const { CAIRN_SEED: one } = process.env;
  return one === undefined ? fc.sample(fc.nat(2 ** 31 - 1), count) : [Number(one)];
}

/** What must hold of the sketches that seeds make. */
export function sketchProperty(
  make: (seed: number) => Sketch,
  check: (sketch: Sketch, seed: number) => void,
): Property<Sketch> {
  return {
    make,
    faultsOf: (sketch, seed) => (check(sketch, seed), []),
    smaller: smallerSketches,
    isValid,
    describe: describeSketch,
  };
}

/** Without a node, without an edge, or with a plainer edge or join. */
function* smallerSketches(sketch: Sketch): Generator<Sketch> {
  const { size, edges, joins } = sketch;
  for (let node = size - 1; node > 0; node -= 1) yield withoutNode(sketch, node);
  for (const fewer of withoutEach(edges)) yield { ...sketch, edges: fewer };
  for (const plainer of withEach(edges, (edge) => (edge.always ? [{ ...edge, always: false }] : [])))
    yield { ...sketch, edges: plainer };
  for (const plainer of withEach(joins, (join) => (join === 'some' ? [] : ['some' as const])))
    yield { ...sketch, joins: plainer };
}

function withoutNode({ size, hasEnd, edges, joins }: Sketch, node: number): Sketch {
  const renamed = (other: number): number => (other > node ? other - 1 : other);
  return {
    size: size - 1,
    hasEnd: hasEnd && node !== size - 1,
    edges: edges
      .filter(({ from, to }) => from !== node && to !== node)
      .map((edge) => ({ ...edge, from: renamed(edge.from), to: renamed(edge.to) })),
    joins: joins.toSpliced(node, 1),
  };
}

/** What seeds make is valid, and its last node is reached too if that is END. */
function isValid(sketch: Sketch): boolean {
  if (sketch.hasEnd && sketch.edges.every(({ to }) => to !== sketch.size - 1)) return false;
  try {
    compileGraph(defineGraph(sketch));
    return true;
  } catch {
    return false;
  }
}

/** Edges as `a > b`, `a >! b` if it fires always; and the joins that are not `some`. */
function describeSketch(sketch: Sketch): string {
  const names = new Map([
    [START, 'START'],
    [END, 'END'],
  ]);
  const nameOf = (node: number): string => names.get(nodeId(sketch, node)) ?? nodeId(sketch, node);
  const links = sketch.edges.map(({ from, to, always }) => `${nameOf(from)} >${always ? '!' : ''} ${nameOf(to)}`);
  const joins = [...sketch.joins.entries()].flatMap(([node, join]) =>
    join === 'some' ? [] : [`${nameOf(node)} joins ${typeof join === 'string' ? join : JSON.stringify(join)}`],
  );
  return [...links, ...joins].join('; ');
}
