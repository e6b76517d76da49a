/** Chance and change: intervals, the exact test, and how often chance alone is called a change. */
import { seededRandom } from '../ports/seeded-random.ts';
import { expect, test } from 'vitest';
import { differenceOf, holm, mcnemar } from './statistics.ts';

test('EX3 the exact test gives what a binomial gives, also of more items than a number of their ways can hold', () => {
  expect(mcnemar(0, 0)).toBe(1);
  expect(mcnemar(0, 5)).toBeCloseTo(0.0625, 10);
  expect(mcnemar(8, 2)).toBeCloseTo(0.109375, 10);
  expect(mcnemar(900, 1_100)).toBeCloseTo(mcnemar(1_100, 900), 12);
  expect(mcnemar(900, 1_100)).toBeLessThan(0.0001);
});

test('EX3 chances that are looked at together are made larger, the smallest the most, and keep their order', () => {
  expect(holm([0.01, 0.04, 0.03])).toEqual([0.03, 0.06, 0.06]);
});

test('EX3 of 200 tables in which nothing differs but by chance, at most 18 are called improved or regressed', () => {
  const random = seededRandom(11);
  let called = 0;
  for (let table = 0; table < 200; table += 1) {
    const deltas = Array.from({ length: 40 }, () => (random() < 0.5 ? 0 : random() < 0.5 ? 1 : -1));
    const { p, low, high } = differenceOf(deltas, random);
    if (p < 0.05 && (low > 0 || high < 0)) called += 1;
  }
  expect(called).toBeLessThanOrEqual(18);
});

test('EX3 of 10 tables in which every third item is worse, each is found', () => {
  const random = seededRandom(5);
  for (let table = 0; table < 10; table += 1) {
    const deltas = Array.from({ length: 40 }, (_, item) => (item % 3 === 0 ? -1 : 0));
    const { p, high } = differenceOf(deltas, random);
    expect([p < 0.05, high < 0]).toEqual([true, true]);
  }
});
