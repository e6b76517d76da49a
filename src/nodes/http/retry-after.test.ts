import { expect, test } from 'vitest';
import { readRetryAfter } from './exchange-http.ts';

test('E6 Retry-After is read as seconds or as a date, and anything else is ignored', () => {
  const nowMs = Date.parse('Fri, 21 Nov 2025 10:00:00 GMT');
  const cases: readonly [string | null, number | undefined][] = [
    ['120', 120_000],
    [' 0 ', 0],
    ['Fri, 21 Nov 2025 10:00:30 GMT', 30_000],
    ['Friday, 21-Nov-25 10:00:30 GMT', 30_000],
    ['Fri, 21 Nov 2025 09:00:00 GMT', 0],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['', undefined],
    [null, undefined],
  ];
  expect(cases.map(([header]) => [header, readRetryAfter(header, nowMs)])).toEqual(cases);
});
