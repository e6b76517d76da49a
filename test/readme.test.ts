/** The first page: short enough to be read at once, its program runs, and its figures are those of the page about performance. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { builtDoors } from './support/built-package.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const readme = read('README.md');
const program = /^```ts\n(.*?)^```$/msu.exec(readme)?.[1] ?? '';

/** The cells of the rows of all tables in a page, without their heads. */
function rowsOf(page: string): readonly (readonly string[])[] {
  const rows = page.split('\n').filter((line) => line.startsWith('|') && !line.startsWith('| -'));
  return rows
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([what]) => what !== 'what');
}

test('the README is read in two minutes: twelve lines of TypeScript, three promises, five figures, and 480 words', () => {
  expect(program.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(12);
  expect(readme.match(/^\d\. \*\*/gmu)).toHaveLength(3);
  expect(rowsOf(readme)).toHaveLength(5);
  const prose = readme.replaceAll(/^```.*?^```$/gmsu, '').replaceAll(/\]\([^)]*\)/gu, ']');
  expect(prose.match(/[\w'’]+/gu)?.length).toBeLessThanOrEqual(480);
});

test('the program of the README runs as it stands: it pauses, and pays once when it is answered', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-readme-'));
  const imported = program.replaceAll(/from '([^']+)'/gu, (_, name: string) => {
    const door = builtDoors[name];
    return `from '${door === undefined ? import.meta.resolve(name) : pathToFileURL(door).href}'`;
  });
  const around =
    'function payBack({ input, idempotencyKey: key }) { console.log(input.order, input.amount, key.length > 0); }';
  writeFileSync(join(folder, 'refund.mts'), `${imported}\n${around}\n`);
  const flags = ['--disable-warning=ExperimentalWarning', 'refund.mts'];
  const printed = execFileSync(process.execPath, flags, { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  expect(printed).toBe('A-17 40 true\n');
});

test('each figure of the README is that of the page about performance', () => {
  const rows = rowsOf(read('docs/performance.md'));
  const figureOf = (what: string, against: string): number | undefined => {
    const row = rows.find((cells) => cells[0] === what && cells[1] === against);
    return row === undefined ? undefined : Number.parseFloat(row[2] ?? '');
  };
  // In the table beside others, theirs is divided by ours.
  const beside = rows.find(([what]) => what === '1,000 distinct steps of 1 KB, a step');
  expect(rowsOf(readme).map((cells) => Number(cells[2]))).toEqual([
    figureOf('1,000 pure nodes, NORMAL, per node', 'a bare loop, one commit a record'),
    figureOf('1,000 write nodes one after another, FULL, per node', 'a bare loop, FULL, one commit a record'),
    Math.round(100 / Number(beside?.[2])) / 100,
    figureOf('bytes stored, 2,000 steps appending 2 KiB to a list', 'distinct bytes produced'),
    figureOf(
      'resume after 500 steps, cold process, compile cache on for both',
      'openworkflow on SQLite, whole process',
    ),
  ]);
});

test('the package says where it comes from, where to report, who made it, and what it is found by', () => {
  const { repository, bugs, homepage, author, keywords } = JSON.parse(read('package.json')) as Record<string, unknown>;
  expect([repository, bugs, homepage, author, keywords]).toEqual([
    { type: 'git', url: expect.stringMatching(/^git\+https:.*\.git$/u) },
    { url: expect.stringMatching(/^https:.*\/issues$/u) },
    expect.stringMatching(/^https:/u),
    expect.stringMatching(/\w/u),
    expect.arrayContaining(['workflow', 'checkpoint', 'resume', 'mcp', 'yaml']),
  ]);
});
