/** The items of the public format’s definition of done (11), its contradictions (6.1), its traps (6.2) and the known failures (6.6): each has a test. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** How many items each chapter has. */
const chapters: Readonly<Record<string, number>> = {
  '11.1': 10,
  '11.2': 10,
  '11.3': 8,
  '11.4': 4,
  '11.5': 5,
  '11.6': 9,
  '11.7': 6,
  '11.8': 6,
  '11.9': 7,
  '11.10': 6,
  '11.11': 5,
  '11.12': 22,
  '6.1': 20,
  '6.2': 23,
  '6.6': 14,
};

/** Items without a test, and why. */
const without: Readonly<Record<string, string>> = {
  '11.11.5': 'the format’s HTTP server is optional, and not built',
  '6.1.11': 'so are its paths',
  '6.1.9': 'checkpoints are shown as every run’s are: there is no view with the names of the format',
};

function titlesOf(pattern: string): string {
  const files = globSync(pattern, { cwd: root });
  return files
    .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/'(?:[^'\\\n]|\\.)*\b(?:11|6)\.\d[^'\n]*'/gu) ?? [])
    .join('\n');
}

test('P1 every numbered item of the format has a test that carries its number, or a reason why not', () => {
  const titles = [
    'src/dialects/dot/**/*.test.ts',
    'src/app/interview/*.test.ts',
    'test/dot/*.test.ts',
    'examples/pipelines/*.test.ts',
  ]
    .map(titlesOf)
    .join('\n');
  const proved = new Set(titles.match(/\b(?:11|6)\.\d+\.\d+\b/gu));
  const all = Object.entries(chapters).flatMap(([chapter, count]) =>
    Array.from({ length: count }, (_, index) => `${chapter}.${index + 1}`),
  );
  expect(all.filter((item) => !proved.has(item) && !(item in without))).toEqual([]);
  expect(titles).toMatch(/\b11\.13\b/u);
});
