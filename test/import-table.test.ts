/** The architecture test's own reader of the import tables: a wrong reading would let violations pass. */
import { expect, test } from 'vitest';
import { allows, foldersWithoutRoomFor, readImportTables, roomOf } from './architecture/import-table.ts';

const text = `
src:
  errors: '-'
  graph: errors
  state: errors graph
  engine: errors
  dialects: errors graph
  dialects/code: errors graph engine
  app: everything but cli
  cli: errors app
src/engine:
  api, limits: limits
  plan: '-'
  engine: everything
`;
const tables = readImportTables(text);

test.each([
  ['src/graph/a.ts', 'src/graph/b.ts', true],
  ['src/graph/a.ts', 'src/errors.ts', true],
  ['src/errors.ts', 'src/graph/a.ts', false],
  ['src/state/a.ts', 'src/graph/a.ts', true],
  ['src/graph/a.ts', 'src/state/a.ts', false],
  ['src/dialects/code/a.ts', 'src/engine/api.ts', true],
  ['src/dialects/yaml/a.ts', 'src/engine/api.ts', false],
  ['src/dialects/yaml/a.ts', 'src/graph/a.ts', true],
  ['src/app/a.ts', 'src/engine/api.ts', true],
  ['src/app/a.ts', 'src/cli/a.ts', false],
  ['src/unknown/a.ts', 'src/errors.ts', false],
  ['src/app/a.ts', 'test/a.ts', false],
  ['src/engine/api.ts', 'src/engine/limits.ts', true],
  ['src/engine/limits.ts', 'src/engine/api.ts', false],
  ['src/engine/plan/a.ts', 'src/engine/plan/b.ts', true],
  ['src/engine/plan/a.ts', 'src/engine/limits.ts', false],
  ['src/engine/engine.ts', 'src/engine/plan/a.ts', true],
  ['src/engine/attic/a.ts', 'src/engine/plan/a.ts', false],
])('%s → %s: %s', (from, to, expected) => {
  expect(allows(tables, from, to)).toBe(expected);
});

test('a table that names an unknown room is refused', () => {
  expect(() => readImportTables('src:\n  graph: eror\n')).toThrow('eror');
  expect(() => readImportTables(text.replace('but cli', 'but clo'))).toThrow('clo');
});

test.each([
  ['src/engine/plan/order.ts', 'plan'],
  ['src/engine/api.ts', 'api'],
  ['src/engines/api.ts', undefined],
])('the room of %s is %s', (path, room) => {
  expect(roomOf('src/engine', path)).toBe(room);
});

test('a file for which a folder has no room is named with the folder', () => {
  expect(foldersWithoutRoomFor(tables, 'src/engine/attic/a.ts')).toEqual(['src/engine']);
  expect(foldersWithoutRoomFor(tables, 'src/attic/a.ts')).toEqual(['src']);
  expect(foldersWithoutRoomFor(tables, 'src/engine/plan/a.ts')).toEqual([]);
});
