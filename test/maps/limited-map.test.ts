/** A long list under a limit of all workers: no more items at once than it allows, few writes, and nothing left behind (FL5). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { defineLimit } from '../../src/graph/limit.ts';
import { mapNode } from '../../src/index.ts';
import type { LimitStore } from '../../src/ports/limits.ts';
import { openSqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';
import { scale } from '../support/scale.ts';

vi.setConfig({ testTimeout: 600_000 });

const items = scale(400, 20_000);
const places = 8;

test(`FL5 a map of ${items} items under a limit of ${places} on SQLite has no more of them in progress`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-limited-map-'));
  const store = openSqliteStore({ path: join(folder, 'store.db') });
  try {
    let writes = 0;
    const limits = store.limits as LimitStore;
    const counted = { ...store, limits: { ...limits, write: (write: never) => ((writes += 1), limits.write(write)) } };
    const limit = defineLimit('limited-map', { concurrency: places });
    let [now, most, calls] = [0, 0, 0];
    const list = mapNode({
      over: () => Array.from({ length: items }, (_, index) => index),
      each: async ({ item }) => {
        calls += 1;
        most = Math.max(most, (now += 1));
        await new Promise((resolve) => setImmediate(resolve));
        now -= 1;
        return item;
      },
      concurrency: 64,
      effectClass: 'external',
      idempotent: true,
      limit,
    });
    const begunAt = performance.now();
    const graph = graphOf('list', [{ id: 'all', ...list }], edges('> all', 'all >'));
    const { status } = await runToRest(createBench({ store: counted }).engine, graph, {}, 'run');
    const ms = performance.now() - begunAt;
    console.log(
      `a map of ${items} items under a limit of ${places}: ${(ms / items).toFixed(2)} ms an item, ${writes} writes of the record`,
    );
    expect([status, calls, most]).toEqual(['completed', items, places]);
    expect(writes).toBeLessThan(items / 10);
    await expect.poll(() => limits.list('default', { prefix: 'place ', limit: 9 })).toEqual([]);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
});

test('FL5 the items of a map that are graphs name limits at their own nodes', () => {
  const each = graphOf('child', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  expect(() => mapNode({ over: () => [1], each: each as never, limit: 'limited-map' })).toThrow(/limit/u);
});
