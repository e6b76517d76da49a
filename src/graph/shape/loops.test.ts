import { describe, expect, it } from 'vitest';
import { type ModelLoop, modelLoops } from '../../../test/plan/plan-model.ts';
import { createRandom, sketchGraph, type Sketch } from '../../../test/plan/random-graph.ts';
import { randomSeeds, sketchProperty } from '../../../test/plan/smaller-sketch.ts';
import { tellFaults } from '../../../test/support/smallest.ts';
import { findLoops, type LoopForest, maxLoopDepth } from './loops.ts';

const ascending = (nodes: Iterable<number>): readonly number[] => [...nodes].sort((a, b) => a - b);

/** A forest as text: each loop with its heads, nodes and back edges, in no order. */
const forestText = (
  loops: readonly (readonly [readonly number[], readonly number[], readonly number[]])[],
): readonly string[] => loops.map((loop) => JSON.stringify(loop)).sort();

const ofModel = (
  loops: readonly ModelLoop[],
): readonly (readonly [readonly number[], readonly number[], readonly number[]])[] =>
  loops.flatMap((loop) => [
    [ascending(loop.heads), ascending(loop.nodes), ascending(loop.back)] as const,
    ...ofModel(loop.children),
  ]);

const ofForest = (
  forest: LoopForest,
): readonly (readonly [readonly number[], readonly number[], readonly number[]])[] =>
  forest.loops.map((loop, position) => {
    const back = [...forest.backOf.entries()].filter(([, of]) => of === position).map(([edge]) => edge);
    return [loop.heads, loop.nodes, back] as const;
  });

describe('findLoops', () => {
  const holdsFor = async (count: number, check: (sketch: Sketch, seed: number) => void): Promise<void> => {
    const property = sketchProperty((seed) => sketchGraph(seed, { maxSize: 14 }), check);
    expect(await tellFaults(randomSeeds(count), property)).toEqual([]);
  };

  it('G4 finds the loops that the rule describes', async () => {
    await holdsFor(500, ({ size, edges }) => {
      const nodes = new Set(Array.from({ length: size }, (_, node) => node));
      const model = modelLoops(edges, nodes, new Set(edges.keys()));
      expect(forestText(ofForest(findLoops(size, edges)))).toEqual(forestText(ofModel(model)));
    });
  });

  it('G4 does not depend on the order of declaration', async () => {
    await holdsFor(300, ({ size, edges }, seed) => {
      const random = createRandom(seed);
      const shuffle = <T>(items: readonly T[]): T[] =>
        items
          .map((item) => [random(), item] as const)
          .sort(([a], [b]) => a - b)
          .map(([, item]) => item);
      const names = [0, ...shuffle(Array.from({ length: size - 1 }, (_, index) => index + 1))];
      const renamed = edges.map((edge) => ({ from: names[edge.from] ?? 0, to: names[edge.to] ?? 0 }));
      const shuffled = shuffle([...renamed.keys()]);
      const found = findLoops(
        size,
        shuffled.map((index) => renamed[index] ?? { from: 0, to: 0 }),
      );
      const original = (node: number): number => names.indexOf(node);
      const restored = ofForest(found).map(
        ([heads, nodes, back]) =>
          [
            ascending(heads.map(original)),
            ascending(nodes.map(original)),
            ascending(back.map((edge) => shuffled[edge] ?? -1)),
          ] as const,
      );
      expect(forestText(restored)).toEqual(forestText(ofForest(findLoops(size, edges))));
    });
  });

  it('G4 a leaving edge belongs to the outermost loop that it leaves', () => {
    // 1 holds 2 holds 3; 3 leads back to all, and out to 4.
    const edges = [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 3],
      [3, 2],
      [3, 1],
      [3, 4],
      [2, 4],
    ].map(([from = 0, to = 0]) => ({ from, to }));
    const forest = findLoops(5, edges);
    expect(forest.loops.map(({ heads, depth }) => [heads, depth])).toEqual([
      [[1], 1],
      [[2], 2],
      [[3], 3],
    ]);
    expect(forest.backOf.slice(3, 6)).toEqual([2, 1, 0]);
    expect(forest.exitOf.slice(6)).toEqual([0, 0]);
    expect(forest.loopsOf).toEqual([[], [0], [0, 1], [0, 1, 2], []]);
  });

  it('G4 a ring of 100,000 nodes needs no deep stack', () => {
    const size = 100_000;
    const edges = Array.from({ length: size }, (_, node) => ({ from: node, to: node + 1 === size ? 1 : node + 1 }));
    expect(findLoops(size, edges).loops).toMatchObject([{ heads: [1], depth: 1 }]);
  });

  it('G4 a component that nothing leads into has no heads, and nothing is taken off it', () => {
    const forest = findLoops(3, [
      { from: 1, to: 2 },
      { from: 2, to: 1 },
    ]);
    expect(forest.loops).toMatchObject([{ nodes: [1, 2], heads: [] }]);
  });

  it('G4 nesting has a limit, which is reported', () => {
    const ladder = (size: number): LoopForest =>
      findLoops(
        size,
        Array.from({ length: size - 1 }, (_, node) => node).flatMap((node) =>
          node === 0
            ? [{ from: 0, to: 1 }]
            : [
                { from: node, to: node + 1 },
                { from: node + 1, to: node },
              ],
        ),
      );
    expect(ladder(maxLoopDepth + 2)).toMatchObject({ isTooDeep: false });
    expect(ladder(maxLoopDepth + 3)).toMatchObject({ isTooDeep: true });
  });
});
