/** The changes of `npm run mutants` must be possible: each old text stands in its file once. That they are noticed, only running them shows. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutantsByRoom } from '../scripts/mutants/all-mutants.ts';

const allMutants = Object.values(mutantsByRoom).flat();
const root = join(import.meta.dirname, '..');

test.each(allMutants.map((mutant) => [mutant.name, mutant] as const))('P6 there is a place to try: %s', (_, mutant) => {
  expect(readFileSync(join(root, mutant.file), 'utf8').split(mutant.old)).toHaveLength(2);
  expect(mutant.new).not.toBe(mutant.old);
  for (const path of mutant.tests) expect([path, existsSync(join(root, path))]).toEqual([path, true]);
});
