import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

const commands = ['run', 'resume', 'answer', 'preview', 'inbox', 'log', 'ls'];

test('P6 a mistyped word is guessed, a strange one is not', () => {
  expect(nearest('resmue', commands)).toBe('resume');
  expect(nearest('prev', commands)).toBe('preview');
  expect(nearest('anwser', commands)).toBe('answer');
  expect(nearest('deploy', commands)).toBeUndefined();
  expect(nearest('x'.repeat(10_000), commands)).toBeUndefined();
});
