/** What users import: one more name, or one door more, is a decision, which `test/public-names.yaml` records. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { publicNames } from '../scripts/structure/public-names.ts';

const root = join(import.meta.dirname, '..');
const doors = publicNames(root);
/** Doors that an optional package needs may be one each beside the others. */
const peers = ['./ai-sdk', './langgraph', './mcp', './stores/postgres', './stores/redis'];
/** The same helper at the doors of two packages, of which a user installs one. */
const repeated = ['passwordFrom'];

test('P6 the names at each door are those on record', () => {
  const recorded = parse(readFileSync(join(root, 'test/public-names.yaml'), 'utf8')) as Record<string, string>;
  expect(Object.fromEntries(doors)).toEqual(
    Object.fromEntries(
      Object.entries(recorded).map(([door, names]) => [door, names.split(' ').filter((name) => name !== '')]),
    ),
  );
});

test('P6 each name stands at one door, there are at most 16 doors but for packages, and at most 130 names at the main one', () => {
  const all = [...doors.values()].flat();
  const twice = all.filter((name, index) => all.indexOf(name) !== index && !repeated.includes(name));
  expect(twice).toEqual([]);
  expect([...doors.keys()].filter((door) => !peers.includes(door)).length).toBeLessThanOrEqual(16);
  expect(doors.get('.')?.length).toBeLessThanOrEqual(130);
});
