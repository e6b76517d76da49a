/** The rules of the specification: each has an id of its own on its page, by which tests and comments name it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../docs/spec');

/** The ids that a page gives to its rules, in order: `- DOT4 An edge is …`, `- **E3** …`. */
function idsOf(page: string): readonly string[] {
  return [...page.matchAll(/^- (?:\*\*)?([A-Z]+\d+(?:\.\d+)*[a-z]?)\b/gm)].map(([, id]) => id as string);
}

test('each rule of a page of the specification has an id of its own', () => {
  const twice = readdirSync(folder).flatMap((name) => {
    const ids = idsOf(readFileSync(join(folder, name), 'utf8'));
    return ids.filter((id, place) => ids.indexOf(id) !== place).map((id) => `${name}: ${id}`);
  });
  expect(twice).toEqual([]);
  expect(idsOf('- A1 one\n- **A2** two\n- A1 three\n- A2.1 four\n- Above, five')).toEqual(['A1', 'A2', 'A1', 'A2.1']);
});

test('no page holds what a merge has left behind', () => {
  const marked = readdirSync(join(folder, '..'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .filter((name) => /^(?:<<<<<<<|>>>>>>>|> > > > > > >)/m.test(readFileSync(join(folder, '..', name), 'utf8')));
  expect(marked).toEqual([]);
});
