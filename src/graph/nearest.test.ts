import { expect, test } from 'vitest';
import { shareBudget } from './expression/expression-budget.ts';
import { nearest } from './nearest.ts';

const commands = ['run', 'resume', 'answer', 'preview', 'inbox', 'log', 'ls'];

test('P6 a mistyped word is guessed, a strange one is not', () => {
  expect(nearest('resmue', commands)).toBe('resume');
  expect(nearest('prev', commands)).toBe('preview');
  expect(nearest('anwser', commands)).toBe('answer');
  expect(nearest('deploy', commands)).toBeUndefined();
  expect(nearest('x'.repeat(10_000), commands)).toBeUndefined();
});

test('Y14 of very many words only the first are guessed at, and each work has its own allowance', () => {
  const known = Array.from({ length: 2_000 }, (_, index) => `name${index}`);
  const guesses = (): number =>
    shareBudget(() => known.filter((name) => nearest(`${name}x`, known) !== undefined)).length;
  expect(guesses()).toBeGreaterThan(5);
  expect(guesses()).toBeLessThan(100);
  expect(nearest('name1999x', known)).toBe('name1999');
});
