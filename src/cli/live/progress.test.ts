import { afterEach, expect, test, vi } from 'vitest';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { openProgress } from './progress.ts';

afterEach(() => void vi.restoreAllMocks());

test('H1 how far a long command is stands in a line now and then, with what is to go', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  const lines: string[] = [];
  const screen = { progress: (line = '') => void lines.push(line) };
  const store = { ...createMemoryStore(), countRuns: () => Promise.resolve(300) };
  const progress = await openProgress(screen, { store, tenant: 't' }, { done: 'looked at', isOfAll: true });
  for (const [atMs, runs] of [
    [400, 10],
    [600, 100],
    [650, 110],
    [701, 200],
    [900, 310],
  ] as const) {
    clock.mockReturnValue(atMs);
    progress.at(runs);
  }
  progress.expect(400);
  clock.mockReturnValue(1_001);
  progress.at(310);
  progress.end();
  expect(lines).toEqual([
    'looked at 100 of 300 runs, 200 to go',
    'looked at 200 of 300 runs, 100 to go',
    'looked at 310 runs',
    'looked at 310 of 400 runs, 90 to go',
    '',
  ]);
  const unseen = await openProgress({}, { store, tenant: 't' }, { done: 'looked at', isOfAll: true });
  expect(() => unseen.at(1)).not.toThrow();
});
