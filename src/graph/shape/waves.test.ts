/** Waves of blocks and of stored graphs. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { edges, graphOf, node } from '../../../test/engine-kit.ts';
import { waveNumbers, wavesOf } from './loops.ts';

test('Y12 a node is in the wave after the last of those before it; loops do not count', () => {
  const ids = ['a', 'b', 'c', 'd', 'e'];
  const links = edges('> a', 'a > b', 'a > c', 'b > d', 'd > e', 'c >', 'e > b', 'e >');
  const { structure } = graphOf(
    'g',
    ids.map((id) => node(id, 'pure', () => 1)),
    links,
  );
  expect(wavesOf(structure, () => true)).toEqual([['a'], ['b', 'c'], ['d'], ['e']]);
  expect(wavesOf(structure, (one) => one['id'] !== 'a')).toEqual([['b', 'c'], ['d'], ['e']]);
});

test('Y12 every forward edge leads to a later wave, and every wave follows the one before it', () => {
  // Among fewer than two nodes there is no link to draw.
  const graph = fc.integer({ min: 2, max: 20 }).chain((count) =>
    fc.record({
      count: fc.constant(count),
      links: fc.uniqueArray(
        fc.tuple(fc.nat(count - 1), fc.nat(count - 1)).filter(([from, to]) => from < to),
        { selector: String },
      ),
    }),
  );
  fc.assert(
    fc.property(graph, ({ count, links }) => {
      const waves = waveNumbers(
        count,
        links.map(([from, to]) => ({ from, to })),
      );
      for (let node_ = 0; node_ < count; node_ += 1) {
        const before = links.filter(([, to]) => to === node_).map(([from]) => waves[from] ?? 0);
        expect(waves[node_]).toBe(before.length === 0 ? 0 : Math.max(...before) + 1);
      }
    }),
  );
});
