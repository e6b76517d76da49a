/** Sums of amounts. */
import { array, assert, double, property } from 'fast-check';
import { expect, test } from 'vitest';
import { addAmounts, boundsFault, lessAmounts, type Amounts } from './amounts.ts';

test('Q2 decimals add up to what a person would write', () => {
  let sum = {};
  for (let index = 0; index < 1000; index += 1) sum = addAmounts(sum, { usd: 0.001, tokens: 3 });
  expect(sum).toEqual({ usd: 1, tokens: 3000 });
  expect(lessAmounts({ usd: 0.3, calls: 1 }, { usd: 0.1, calls: 2 })).toEqual({ usd: 0.2, calls: 0 });
});

test('Q2 whole amounts keep every digit', () => {
  expect(addAmounts({ tokens: 2 ** 53 - 3 }, { tokens: 1 })).toEqual({ tokens: 9_007_199_254_740_990 });
});

test('Q2 a sum that was stored and read back is the same number', () => {
  const amount = double({ min: 0, max: 1e6, noNaN: true });
  assert(
    property(array(amount), (amounts) => {
      let live = {};
      let stored = {};
      for (const usd of amounts) {
        live = addAmounts(live, { usd });
        stored = addAmounts(JSON.parse(JSON.stringify(stored)) as Amounts, { usd });
      }
      expect(stored).toEqual(live);
    }),
  );
});

test.each([
  ['token', 'tokens'],
  ['Tokens', 'tokens'],
  ['input_tokens', 'inputTokens'],
  ['output-token', 'outputTokens'],
  ['costs', 'cost'],
  ['second', 'seconds'],
])('Q4.6 a bound in %s would hold nothing, and is refused', (unit, meant) => {
  expect(boundsFault({ [unit]: 5 })).toBe(`${unit} would bound nothing: the unit is called ${meant}`);
  expect(boundsFault({ [meant]: 5, usd: 1, searches: 3 })).toBeUndefined();
});
