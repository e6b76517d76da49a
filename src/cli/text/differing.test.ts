import { expect, test } from 'vitest';
import { differing } from '../commands/diff.ts';
import { widthOf } from './width.ts';

const long = 'The quick brown fox jumps over the lazy dog while the old cat sleeps in the warm sun of the afternoon';

test('H1 of two long texts the words that differ are shown, with a few around, and not two equal beginnings', () => {
  expect(differing(long, long.replace('old cat', 'young tiger'), 60)).toEqual([
    '… dog while the old cat sleeps in the …',
    '… dog while the young tiger sleeps in the …',
  ]);
  expect(differing(long, `${long} today`, 60)).toEqual(['… of the afternoon', '… of the afternoon today']);
  expect(differing(`Yesterday ${long}`, long, 60)).toEqual([
    'Yesterday The quick brown fox …',
    'The quick brown fox …',
  ]);
});

test('H1 short texts stay whole, and what differs in much is cut to the width', () => {
  expect(differing('one two', 'one three', 60)).toEqual(['one two', 'one three']);
  for (const text of differing(long, long.toUpperCase(), 40)) expect(widthOf(text)).toBeLessThanOrEqual(40);
  expect(differing(long, '', 40)[1]).toBe('');
});
