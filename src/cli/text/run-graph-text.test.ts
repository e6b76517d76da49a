import { expect, test } from 'vitest';
import type { GraphRunsOutput } from '../../operations/runs/graph-runs.ts';
import { graphLines } from './run-graph-text.ts';

type Run = GraphRunsOutput['runs'][number];

const run = (runId: string, head: number, parent?: readonly [string, number], more: Partial<Run> = {}): Run => ({
  runId,
  graphId: 'g',
  status: 'completed',
  head,
  createdAt: 0,
  updatedAt: 0,
  tags: [],
  isCurrent: false,
  ...(parent && { parent: { runId: parent[0], seq: parent[1] } }),
  ...more,
});
const drawn = (...runs: readonly Run[]): readonly string[] =>
  graphLines(runs).map(({ drawing, run: { runId }, seq }) => `${drawing} ${runId}@${seq}`);

test('N12 a run without forks is one line, and a tag is a place on it', () => {
  expect(drawn(run('a', 4, undefined, { isCurrent: true }))).toEqual(['◉ a@4']);
  expect(drawn(run('a', 4, undefined, { tags: [{ name: 't', seq: 1 }] }))).toEqual(['● a@4', '○ a@1']);
});

test('N12 forks have columns of their own, right or left of what they left, and lines that cross are seen', () => {
  expect(drawn(run('a', 5), run('early', 4, ['a', 1]), run('late', 9, ['a', 4]), run('again', 8, ['late', 6]))).toEqual(
    ['    ● late@9', '  ● │ again@8', '  ╰─○ late@6', '●   │ a@5', '○─┼─╯ a@4', '│ ● early@4', '○─╯ a@1'],
  );
});

test('N12 several forks of one checkpoint leave it on one line', () => {
  expect(drawn(run('a', 3), run('b', 5, ['a', 2]), run('c', 4, ['a', 2]), run('d', 3, ['a', 1]))).toEqual([
    '  ● b@5',
    '  │ ● c@4',
    '● │ │ │ a@3',
    '│ │ │ ● d@3',
    '○─┴─╯ │ a@2',
    '○─────╯ a@1',
  ]);
});
