import { expect, test } from 'vitest';
import type { Page, RunRow, Store } from '../../ports/store.ts';
import { readAllRuns } from './read-all.ts';

test('S4 whatever else waits gets its turn between two pages of a store that answers at once', async () => {
  const pages = 3;
  const listRuns = ({ cursor = '0' }): Promise<Page<RunRow>> => {
    const next = Number(cursor) + 1;
    return Promise.resolve({ rows: [{} as RunRow], ...(next < pages && { cursor: String(next) }) });
  };
  let turns = 0;
  const takeTurn = (): void => {
    turns += 1;
    if (turns < pages) setImmediate(takeTurn);
  };
  setImmediate(takeTurn);
  const seen: number[] = [];
  for await (const _ of readAllRuns({ store: { listRuns } as unknown as Store, tenant: 't' })) seen.push(turns);
  expect(seen).toEqual([0, 1, 2]);
});
