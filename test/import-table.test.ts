/** The architecture test's own reader of the import table: a wrong reading would let violations pass. */
import { expect, test } from 'vitest';
import { allows, foldersWithRooms, readImportTable, readRoomTable, roomOf } from './architecture/import-table.ts';

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

const rooms = `
| room of src/engine | may import |
| ------------------ | ---------- |
| api, limits        | limits     |
| plan               | -          |
| engine             | everything |
`;

test('a table of rooms says what each room may import', () => {
  expect(foldersWithRooms(rooms)).toEqual(['src/engine']);
  const read = readRoomTable(rooms, 'src/engine');
  expect(read.get('api')).toEqual(new Set(['limits']));
  expect(read.get('plan')).toEqual(new Set());
  expect(read.get('engine')).toBe('everything');
});

test.each([
  ['src/engine/plan/order.ts', 'plan'],
  ['src/engine/api.ts', 'api'],
  ['src/engines/api.ts', undefined],
])('the room of %s is %s', (path, room) => {
  expect(roomOf('src/engine', path)).toBe(room);
});

test('a table of rooms that is missing, or names an unknown room, is refused', () => {
  expect(() => readRoomTable(rooms, 'src/state')).toThrow('src/state');
  expect(() => readRoomTable(rooms.replace('| limits     |', '| limts      |'), 'src/engine')).toThrow('limts');
});
