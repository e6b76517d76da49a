/** The architecture test's own reader of the import table: a wrong reading would let violations pass. */
import { expect, test } from 'vitest';
import { allows, readImportTable } from './architecture/import-table.ts';

const table = readImportTable(`
| folder       | may import |
| ------------ | ---------- |
| errors       | -          |
| graph, state | errors (state also graph) |
| engine       | errors |
| dialects     | errors graph (code also engine: its graphs run) |
| app          | everything but the doors |
| cli          | errors app |

| other | table |
`);

test.each([
  ['src/graph/a.ts', 'src/graph/b.ts', true],
  ['src/graph/a.ts', 'src/errors.ts', true],
  ['src/errors.ts', 'src/graph/a.ts', false],
  ['src/state/a.ts', 'src/graph/a.ts', true],
  ['src/graph/a.ts', 'src/state/a.ts', false],
  ['src/dialects/code/a.ts', 'src/engine/a.ts', true],
  ['src/dialects/yaml/a.ts', 'src/engine/a.ts', false],
  ['src/dialects/yaml/a.ts', 'src/graph/a.ts', true],
  ['src/app/a.ts', 'src/engine/a.ts', true],
  ['src/app/a.ts', 'src/cli/a.ts', false],
  ['src/unknown/a.ts', 'src/errors.ts', false],
  ['src/app/a.ts', 'test/a.ts', false],
])('%s → %s: %s', (from, to, expected) => {
  expect(allows(table, from, to)).toBe(expected);
});

test('a table that names an unknown folder is refused', () => {
  expect(() => readImportTable('| folder | may import |\n|---|---|\n| graph | eror |')).toThrow('eror');
});
