import { expect, test } from 'vitest';
import { readTime } from './read-time.ts';

const now = Date.parse('2026-11-03T12:00:00Z');

test('D3 a time is an age, a date, or a date with a time; a day that the calendar lacks is none', () => {
  expect(readTime('since', '2h', now)).toBe(now - 7_200_000);
  expect(readTime('since', '2028-02-29', now)).toBe(new Date('2028-02-29T00:00').getTime());
  expect(readTime('since', '2026-11-03 14:05', now)).toBe(new Date('2026-11-03T14:05').getTime());
  expect(readTime('since', '2026-11-03T14:05Z', now)).toBe(Date.parse('2026-11-03T14:05Z'));
  const odd = ['2027-02-29', '2026-02-30', '2026-04-31T10:00', '2026-13-01', '2026-1-1', '2026-11-03T25:00', 'now', ''];
  for (const written of odd)
    expect(() => readTime('since', written, now)).toThrow(`since is no time: ${JSON.stringify(written)}`);
});
