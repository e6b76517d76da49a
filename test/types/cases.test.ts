/**
 * What the type checker knows of a graph, as each compiler that users have says it: the files in `cases` must compile, and every line
 * below a `@ts-expect-error` must not.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test.each([
  { version: '5.9', compiler: 'typescript-5.9' },
  { version: '7.', compiler: 'typescript' },
])(
  'G1 what nodes give, update and are answered is known to TypeScript $version',
  { timeout: 240_000 },
  ({ version, compiler }) => {
    const folder = join(root, 'node_modules', compiler);
    const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string };
    expect(found.version.startsWith(version)).toBe(true);
    const { stdout, status } = spawnSync(
      process.execPath,
      [join(folder, 'bin/tsc'), '--noEmit', '-p', join(root, 'test/types/cases')],
      { encoding: 'utf8' },
    );
    expect([stdout, status]).toEqual(['', 0]);
  },
);
