/** Long lists for programs: a document a line, and the end. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';
import { buildStore, builtRunId } from '../../test/support/built-store.ts';
import { openStore } from '../index.ts';
import { printJsonLines } from './json-lines.ts';

const folder = openFolder();
const runs = 250;

beforeAll(async () => {
  mkdirSync(join(folder.path, '.cairn'));
  const store = openStore(`sqlite:${join(folder.path, '.cairn/cairn.db')}`);
  await buildStore(store, runs, Date.now());
  await store.close();
});

const newestFirst = Array.from({ length: runs }, (_, index) => builtRunId(runs - 1 - index));

test('D25 ls --all --json is a line for each run, and a last one with their number', () => {
  const { rows, end } = folder.jsonLines('ls', '--all');
  expect(rows.map(({ runId }) => runId)).toEqual(newestFirst);
  expect(end).toEqual({ runs });
});

test('D25 a page goes on after the one before, by either name of the option; with --all to the end', () => {
  const { cursor } = folder.json('ls', '--limit', '3') as { readonly cursor: string };
  const runsOf = (page: unknown): readonly unknown[] =>
    (page as { readonly runs: readonly { readonly runId: string }[] }).runs.map(({ runId }) => runId);
  for (const option of ['--after', '--cursor'])
    expect(runsOf(folder.json('ls', '--limit', '2', option, cursor))).toEqual(newestFirst.slice(3, 5));
  expect(folder.jsonLines('ls', '--all', '--after', cursor).rows.map(({ runId }) => runId)).toEqual(
    newestFirst.slice(3),
  );
  expect(folder.cairn('ls', '--help').out).toMatch(/--after TEXT/);
  expect(folder.cairn('ls', '--help').out).not.toContain('--cursor');
});

test('D25 log --json ends with the cursor of the next page', () => {
  const first = folder.jsonLines('log', builtRunId(0), '--limit', '2');
  expect(first.end).toMatchObject({ runId: builtRunId(0), checkpoints: 2, hasMore: true });
  const after = ['--after', first.end['cursor'] as string];
  const rest = folder.jsonLines('log', builtRunId(0), ...after);
  expect(folder.jsonLines('log', builtRunId(0), '--all', ...after)).toEqual(rest);
  expect(folder.jsonLines('log', builtRunId(0), '--all').rows).toEqual([...first.rows, ...rest.rows]);
});

test('D25 checkpoints says how the next page is shown, with what was asked for', () => {
  const { out, err } = folder.cairn('checkpoints', '--paused', '--limit', '2');
  const [, after = ''] = /There are more: .* checkpoints --paused --limit 2 --after (\S+)/.exec(err) ?? [];
  expect(out).not.toContain(after);
  const page = folder.json('checkpoints', '--paused', '--limit', '2', '--after', after);
  expect(page).toMatchObject({ checkpoints: [{ isPaused: true }, { isPaused: true }] });
});

test('D25 verify --json is a line for each run, and a last one with the verdict', () => {
  const { rows, end } = folder.jsonLines('verify');
  expect(rows).toHaveLength(runs);
  const checkpoints = rows.reduce((sum, row) => sum + (row['checkpoints'] as number), 0);
  expect(end).toEqual({ runs, checkpoints, damage: [], isValid: true });
});

test('D25 a reader that has enough ends the command quietly', () => {
  const { out, err } = folder.shell('ls --all --json | head -1');
  expect(JSON.parse(out)).toMatchObject({ runId: newestFirst[0] });
  expect(err).toBe('');
});

test('D25 lines that are held are written while the list is waited for', async () => {
  const printed: string[] = [];
  const screen = { print: (...lines: readonly (string | readonly string[])[]) => printed.push(...lines.flat()) };
  const seen: number[] = [];
  async function* items(): AsyncGenerator<number, { readonly count: number }> {
    yield 1;
    yield 2;
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    seen.push(printed.length);
    yield 3;
    return { count: 3 };
  }
  await printJsonLines({ screen } as unknown as Parameters<typeof printJsonLines>[0], items());
  expect(seen).toEqual([2]);
  expect(printed).toEqual(['1', '2', '3', '{"end":{"count":3}}']);
});
