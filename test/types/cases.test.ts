/**
 * What the type checker knows of a graph, as each compiler that users have says it: the files in `cases` must compile, and every line
 * below a `@ts-expect-error` must not.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isProving } from '../support/scale.ts';

const root = join(import.meta.dirname, '../..');

// The older compiler takes ten times as long as the newer one.
test.skipIf(!isProving)('G1 TypeScript 5.9 knows the same (in npm run prove)', { timeout: 240_000 }, () =>
  compileCases('5.9', 'typescript-5.9'),
);

test('G1 what nodes give, update and are answered is known to TypeScript 7', { timeout: 240_000 }, () =>
  compileCases('7.', 'typescript'),
);

function compileCases(version: string, compiler: string): void {
  const folder = join(root, 'node_modules', compiler);
  const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string };
  expect(found.version.startsWith(version)).toBe(true);
  const { stdout, status } = spawnSync(
    process.execPath,
    [join(folder, 'bin/tsc'), '--noEmit', '-p', join(root, 'test/types/cases')],
    { encoding: 'utf8' },
  );
  expect([stdout, status]).toEqual(['', 0]);
}
