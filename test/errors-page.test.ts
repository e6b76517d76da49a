/** The page of error codes. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorsPage } from '../scripts/write-errors.ts';

test('P6 docs/errors.md says what the table of error codes says', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
  expect(page, 'run: node scripts/write-errors.ts').toBe(errorsPage());
});
