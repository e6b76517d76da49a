/** Pictures of graphs, whatever the graph: nothing stands on anything else, and the same graph is the same picture. */
import { expect, test } from 'vitest';
import { createSeededRandom } from '../../ports/seeded-random.ts';
import { seeds } from '../../../test/support/scale.ts';
import { placeGraph, type DrawnEdge, type DrawnNode, type Placed } from './draw-graph.ts';
import { foldGraph } from './layout.ts';

const node = (id: string, more: Partial<DrawnNode> = {}): DrawnNode => ({
  id,
  kind: 'node',
  lines: [id],
  tone: 'idle',
  title: id,
  ...more,
});

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const boxAt = ({ x, y }: { x: number; y: number }, { width, height }: { width: number; height: number }): Box => ({
  left: x - width / 2,
  right: x + width / 2,
  top: y - height / 2,
  bottom: y + height / 2,
});

/** Boxes of nodes and labels. */
function boxesOf({ layout, sizes }: Placed): readonly Box[] {
  const nodes = [...layout.spots].map(([id, spot]) => boxAt(spot, sizes.get(id) ?? { width: 0, height: 0 }));
  const labels = layout.edges.flatMap(({ labelAt, edge: { room } }) =>
    labelAt === undefined || room === undefined ? [] : [boxAt(labelAt, room)],
  );
  return [...nodes, ...labels];
}

const overlaps = (a: Box, b: Box): boolean =>
  a.left < b.right - 0.01 && b.left < a.right - 0.01 && a.top < b.bottom - 0.01 && b.top < a.bottom - 0.01;

test.each(seeds(40, 1_000))(
  'N14 no node and no label stands on another, and all are in the picture, seed %i',
  (seed) => {
    const random = createSeededRandom(seed);
    const count = 1 + random.integer(30);
    const nodes = Array.from({ length: count }, (_, index) =>
      node(`n${index}`, {
        lines: ['x'.repeat(1 + random.integer(50)), ...(random.integer(2) === 0 ? ['below'] : [])],
        ...(random.integer(8) === 0 && { inner: { nodes: [node('a'), node('b')], edges: [{ from: 'a', to: 'b' }] } }),
      }),
    );
    const edges = Array.from({ length: random.integer(2 * count) }, (): DrawnEdge => {
      const text = random.integer(2) === 0 ? 'y'.repeat(1 + random.integer(40)) : '';
      return { from: `n${random.integer(count)}`, to: `n${random.integer(count)}`, text };
    });
    const placed = placeGraph({ nodes, edges });
    const boxes = boxesOf(placed);
    for (const [index, box] of boxes.entries()) {
      expect(boxes.slice(index + 1).filter((other) => overlaps(box, other))).toEqual([]);
      expect(box.left).toBeGreaterThanOrEqual(-0.01);
      expect(box.right).toBeLessThanOrEqual(placed.width + 0.01);
      expect(box.bottom).toBeLessThanOrEqual(placed.height + 0.01);
    }
    // Each edge leads from the edge of a box to that of another.
    for (const { points, edge, isBack } of placed.layout.edges) {
      const [from, to] = [edge.from, edge.to].map((id) => boxAt(placed.layout.spots.get(id)!, placed.sizes.get(id)!));
      expect(points.at(0)?.y).toBeCloseTo(isBack ? from!.top : from!.bottom);
      expect(points.at(-1)?.y).toBeCloseTo(isBack ? to!.bottom : to!.top);
    }
    expect(placeGraph({ nodes, edges })).toEqual(placed);
  },
);

test('N14 a graph of many nodes is folded to so many as are drawn, what matters first, and a fold opens', () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => `n${index}`);
  const edges = ids.slice(1).map((to, index) => ({ from: index % 40 === 39 ? 'n0' : `n${index}`, to }));
  const weigh = (id: string): number => (id === 'n1234' ? 6 : 0);
  const folded = foldGraph(ids, edges, 120, { weigh });
  expect(folded.ids.length).toBeLessThanOrEqual(120);
  expect(folded.ids).toContain('n1234');
  const inFolds = [...folded.folds.values()].flat();
  expect([...folded.ids.filter((id) => !folded.folds.has(id)), ...inFolds].sort()).toEqual(ids.toSorted());
  const [open = ''] = [...folded.folds.keys()];
  const opened = foldGraph(ids, edges, 120, { weigh, open });
  expect(opened.ids.length).toBeLessThanOrEqual(120);
  expect(opened.folds.get(open)?.length).toBeLessThan(folded.folds.get(open)?.length ?? 0);
});
