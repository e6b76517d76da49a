/** The page of edge cases: each case names a test that holds it, by the beginning of its title. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const docs = join(import.meta.dirname, '../docs');
const rows = readFileSync(join(docs, 'edge-cases.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:case |page |-)/u.test(line));

test('each edge case names a test that is there', () => {
  const wrong = rows.flatMap((row) => {
    const [, title = '', path = ''] = /\[([^\]]+)\]\(([^)]+\.test\.ts)\) +\|$/u.exec(row) ?? [];
    const file = join(docs, path);
    const isThere =
      path !== '' &&
      existsSync(file) &&
      // Quotes are before a title, so that a mention in a comment is none.
      ["'", '"', '`'].some((quote) => readFileSync(file, 'utf8').includes(`${quote}${title}`));
    return isThere ? [] : [row];
  });
  expect(wrong).toEqual([]);
  // Cases of designs, traps and scenarios, and pages.
  expect(rows).toHaveLength(48 + 28 + 4);
});
