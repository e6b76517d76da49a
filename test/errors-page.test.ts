/** The page of error codes, and what all of their texts have in common. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorsPage } from '../scripts/write-errors.ts';
import { CairnError, errorTable, type ErrorCode } from '../src/errors.ts';

test('P6 docs/errors.md says what the table of error codes says', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
  expect(page, 'run: node scripts/write-errors.ts').toBe(errorsPage());
});

/** Data in which every name has the same value. */
const filledWith = (value: unknown): Readonly<Record<string, unknown>> => new Proxy({}, { get: () => value });
const codes = Object.keys(errorTable) as readonly ErrorCode[];

test.each(codes)('P6 %s says in short what happened and what to do next', (code) => {
  for (const data of [{}, filledWith('Some-name-of-30-characters-long')]) {
    const { message, hint } = new CairnError(code, data);
    expect(message).not.toBe('');
    expect(hint).toMatch(/^[A-Z`].{8,}/s);
    expect(`${message}. ${hint}`.length).toBeLessThan(500);
  }
});

test.each(codes)('P6 %s pours no data into its message: a large value is cut there, and whole in the data', (code) => {
  const large = { reason: 'x'.repeat(10_000), list: Array.from({ length: 1_000 }, (_, index) => ({ index })) };
  const error = new CairnError(code, filledWith(large));
  expect(`${error.message} ${error.hint}`.length).toBeLessThan(1_300);
  expect(error.data['reason']).toBe(large);
});
