import { expect, test } from 'vitest';
import type { ListedRun } from '../../operations/runs/list-runs.ts';
import { underParents } from '../commands/ls.ts';

const run = (runId: string, parent?: string): ListedRun => ({
  runId,
  graphId: 'g',
  status: 'completed',
  head: 1,
  createdAt: 0,
  updatedAt: 0,
  isStopped: false,
  isHeld: false,
  hasMessages: false,
  ...(parent !== undefined && { parent: { runId: parent, seq: 1 } }),
});

test('H2 forks stand under their parents, in the order of the list; one whose parent is not listed stands alone', () => {
  const runs = [run('c2', 'b'), run('e', 'gone'), run('c1', 'b'), run('b', 'a'), run('d', 'a'), run('z'), run('a')];
  expect(underParents(runs).map(({ run: { runId }, lines }) => `${lines}${runId}`)).toEqual([
    'e',
    'z',
    'a',
    '├ b',
    '│ ├ c2',
    '│ └ c1',
    '└ d',
  ]);
});
