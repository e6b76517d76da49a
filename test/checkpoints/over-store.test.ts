/** The interface of checkpoint stores: what the one in memory promises, and a store of ours behind it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkpointStoreOver, InMemoryCheckpointStore, type Checkpoint } from '../../src/app/checkpoint-store/index.ts';
import { openHistory } from '../../src/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { collect } from '../support/small-graphs.ts';

const folders: string[] = [];
let file = '';
beforeEach(() => {
  folders.push(mkdtempSync(join(tmpdir(), 'cairn-over-')));
  file = join(folders.at(-1)!, 'runs.db');
});
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** As another runtime makes them: after each node, with all that came before. */
function checkpointOf(runId: string, visited: readonly string[], more: Partial<Checkpoint> = {}): Checkpoint {
  return {
    id: `${runId}-${visited.length}`,
    graphId: 'g',
    runId,
    nodeId: visited.at(-1) ?? 'none',
    timestamp: 1000 + visited.length,
    state: {
      input: { topic: 'tea' },
      scratch: { count: visited.length, 'a.b': null },
      artifacts: {},
      diagnostics: { checkpointsSaved: visited.length, log: visited.map((node) => ({ node })) },
    },
    nodeResults: Object.fromEntries(
      visited.map((id, index) => [id, { effectClass: 'external', output: `${id} done`, durationMs: index + 1 }]),
    ),
    visitedNodes: visited,
    skippedNodes: ['never'],
    pendingEdges: [`${visited.at(-1)}-edge`],
    ...more,
  };
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

describe.each([
  ['in memory', () => new InMemoryCheckpointStore()],
  ['over a store in memory', () => checkpointStoreOver(createMemoryStore())],
  ['over SQLite', () => checkpointStoreOver(openSqliteStore({ path: file }))],
])('S7 a checkpoint store %s', (_, open) => {
  test('S7 gives back what was saved: by its id, by run, by node, newest first', async () => {
    const store = open();
    const [first, second, other] = [
      checkpointOf('r', ['a']),
      checkpointOf('r', ['a', 'b'], {
        memorySnapshot: { reads: [], pendingWrites: [] },
        state: { ...checkpointOf('r', []).state, artifacts: { ['__proto__x']: [1] } },
      }),
      checkpointOf('s', ['a'], { timestamp: 5 }),
    ] as const;
    for (const checkpoint of [first, second, other]) await store.save(checkpoint);
    expect(await store.get('r-1')).toEqual(first);
    expect(await store.get('r-2')).toEqual(second);
    expect(await store.latest('r')).toEqual(second);
    expect(await store.load('r', 'a')).toEqual(first);
    expect(await Promise.all([store.get('x'), store.latest('x'), store.load('r', 'x')])).toEqual([null, null, null]);
    const listed = await store.list('g');
    expect(listed.map(({ id }) => id)).toEqual(['r-2', 'r-1', 's-1']);
    const stateSize = JSON.stringify(second.state).length;
    expect(listed[0]).toMatchObject({ graphId: 'g', runId: 'r', nodeId: 'b', timestamp: 1002, stateSize });
    expect((await store.list('g', { runId: 'r', limit: 1 })).map(({ id }) => id)).toEqual(['r-2']);
    expect(await store.list('other')).toEqual([]);
  });

  test('S7 keeps what was saved, whatever the caller changes afterwards', async () => {
    const store = open();
    const results: Record<string, Checkpoint['nodeResults'][string]> = {};
    const saving = store.save(checkpointOf('r', ['a'], { nodeResults: results }));
    results['late'] = { effectClass: 'pure', output: 1, durationMs: 0 };
    await saving;
    expect((await store.get('r-1'))?.nodeResults).toEqual({});
  });

  test('S7 forks into a run of its own with other values, and deletes what is named', async () => {
    const store = open();
    await Promise.all([1, 2, 3].map((count) => store.save(checkpointOf('r', names(count)))));
    const runId = await store.fork('r-2', { scratch: { count: 9 } });
    const forked = await store.latest(runId);
    expect(forked).toMatchObject({ runId, graphId: 'g', nodeId: 'n1', visitedNodes: ['n0', 'n1'] });
    expect(forked?.state.scratch).toEqual({ count: 9 });
    expect(forked?.id).not.toBe('r-2');
    await store.save(checkpointOf(runId, names(3), { id: 'f-3', timestamp: forked!.timestamp + 1 }));
    expect((await store.latest(runId))?.id).toBe('f-3');
    expect((await store.latest('r'))?.state.scratch).toMatchObject({ count: 3 });
    await expect(store.fork('x')).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
    for (const id of ['r-3', 'r-1', 'r-3', 'x']) await store.delete(id);
    expect((await store.list('g', { runId: 'r' })).map(({ id }) => id)).toEqual(['r-2']);
    expect((await store.latest('r'))?.id).toBe('r-2');
    await store.delete('r-2');
    expect(await store.latest('r')).toBeNull();
    expect(await store.get('f-3')).toMatchObject({ visitedNodes: names(3) });
  });
});

test('S7 what another runtime saves is a history of ours: logged, shown, compared, forked and whole, in another process too', async () => {
  const first = openSqliteStore({ path: file });
  const saved = checkpointStoreOver(first);
  for (const count of [1, 2]) await saved.save(checkpointOf('r', names(count)));
  const forked = await saved.fork('r-1');
  await first.close();

  const store = openSqliteStore({ path: file });
  const history = openHistory(store);
  expect((await collect(history.log('r'))).map(({ tags }) => tags)).toEqual([['r-2'], ['r-1']]);
  expect((await history.find(forked)).parent).toEqual({ runId: 'r', seq: 0 });
  const { scratch, outputs } = await history.state('r@r-2');
  expect([scratch['count'], outputs]).toEqual([2, { n0: 'n0 done', n1: 'n1 done' }]);
  expect((await history.diff('r@r-1', 'r')).values.map(({ path }) => path.join('.'))).toContain('scratch.count');
  expect((await history.verify()).isValid).toBe(true);
  expect(await checkpointStoreOver(store).get('r-2')).toEqual(checkpointOf('r', names(2)));
  await store.close();
});

test('S7 what is stored grows with what was added, not with its square', async () => {
  const sizeOf = async (count: number): Promise<number> => {
    const memory = createMemoryStore();
    const store = checkpointStoreOver(memory);
    for (let done = 1; done <= count; done++) await store.save(checkpointOf('r', names(done)));
    const rows = await collect(openHistory(memory).log('r'));
    return rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  };
  const [short, long] = [await sizeOf(20), await sizeOf(200)];
  expect(long / short).toBeLessThan(12);
});
