/** What is removed takes its large values with it, and no others (C5). */
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { countUnneeded } from '../../history/retention/collect-blobs.ts';
import { verifyRun } from '../../history/verify/verify.ts';
import { listMetaBlobs } from '../../history/stored/stored-meta.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createBench, edges, graphOf, node, runToRest, testIds } from '../../../test/engine-kit.ts';
import { cleanUp, type CleanUpContext } from './clean-up.ts';
import { pruneRuns } from './prune-runs.ts';
import { removeRun } from '../runs/remove-run.ts';

const tenant = 'default';
const day = 24 * 3_600_000;

/** A large value by its letter: runs that write the same share its blob. */
const large = (letter: string): string => letter.repeat(2_000);

const graph = graphOf(
  'g',
  [
    node('first', 'pure', (ctx) => large((ctx.input as { readonly letter: string }).letter)),
    node('second', 'pure', (ctx) => ({ mine: large(ctx.runId) })),
    node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
  ],
  edges('> first', 'first > second', 'second > ask', 'ask >'),
);

interface House {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly context: CleanUpContext;
  readonly engine: ReturnType<typeof createBench>['engine'];
  readonly count: () => Promise<number>;
  readonly advance: (byMs: number) => void;
}

function open(): House {
  let timeMs = 1_700_000_000_000;
  const now = (): number => timeMs;
  const store = createMemoryStore({ now });
  const blobs = createMemoryBlobs(now);
  const ids = testIds('one', ['one']);
  const { engine } = createBench({ store, blobs, findGraph: () => graph, ids, bounds: { inlineBytes: 1_000 } });
  const settings = { ttl_seconds: 1, max_per_workflow: 1 };
  const context = {
    store,
    blobs,
    tenant,
    engine,
    ids,
    now,
    isWorkerDead: () => true,
    settingsOf: () => Promise.resolve(settings),
  } as unknown as CleanUpContext;
  const count = async (): Promise<number> => (await blobs.sweep(tenant)).rows.length;
  return { store, blobs, context, engine, count, advance: (byMs) => void (timeMs += byMs) };
}

async function start({ engine }: House, runId: string, letter: string): Promise<void> {
  expect((await runToRest(engine, graph, { letter }, runId)).status).toBe('paused');
}

async function expectSound({ store, blobs }: House, runId: string): Promise<void> {
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) throw new Error(`${runId} is gone`);
  expect((await verifyRun(store, blobs, run)).faults).toEqual([]);
}

test('C5 a run that is removed takes the values that no other run has, once they are a day old', async () => {
  const house = open();
  await start(house, 'a', 'x');
  await start(house, 'b', 'x');
  // The graph, what both have, and what each has alone.
  expect(await house.count()).toBe(4);
  expect((await removeRun.run(house.context, { run: 'a' })).blobs).toBe(0);
  expect(await house.count()).toBe(4);
  await expectSound(house, 'b');
  house.advance(2 * day);
  await start(house, 'c', 'y');
  house.advance(2 * day);
  expect((await removeRun.run(house.context, { run: 'c' })).blobs).toBe(2);
  await expectSound(house, 'b');
  expect((await removeRun.run(house.context, { run: 'b' })).blobs).toBe(3);
  // What was too young when `a` was removed is named by nobody; a sweep over everything finds it.
  expect(await house.count()).toBe(1);
  expect((await pruneRuns.run(house.context, { all: true })).blobs).toBe(1);
});

test('C5 a fork keeps what its ancestor named before the fork point, and pruning what is still needed', async () => {
  const house = open();
  await start(house, 'a', 'x');
  const head = (await house.store.readRun({ tenant, runId: 'a' }))?.head ?? 0;
  await house.engine.fork(
    { runId: 'a', seq: head },
    { runId: 'f', set: [{ path: ['scratch', 's'], value: large('s') }] },
  );
  house.advance(2 * day);
  expect((await pruneRuns.run(house.context, { all: true })).blobs).toBe(0);
  for (const runId of ['a', 'f']) await expectSound(house, runId);
  expect((await removeRun.run(house.context, { run: 'f' })).blobs).toBe(1);
  await expectSound(house, 'a');
});

test('C5 cleaning up collects what went with the runs it removed, and a dry run nothing', async () => {
  const house = open();
  await start(house, 'a', 'x');
  await house.engine.cancel('a');
  house.advance(2 * day);
  await start(house, 'b', 'y');
  expect(await cleanUp.run(house.context, { dryRun: true })).toMatchObject({ removed: [{ runId: 'a' }], blobs: 0 });
  expect(await cleanUp.run(house.context, {})).toMatchObject({ removed: [{ runId: 'a' }], blobs: 2 });
  await expectSound(house, 'b');
});

test('C5 an engine that lives long puts its graph again, so that a new run never names what was collected', async () => {
  const house = open();
  const bench = createBench({ store: house.store, blobs: house.blobs, findGraph: () => graph });
  await runToRest(bench.engine, graph, { letter: 'x' }, 'a');
  house.advance(2 * day);
  bench.clock.timeMs += 2 * day;
  await removeRun.run(house.context, { run: 'a' });
  await runToRest(bench.engine, graph, { letter: 'x' }, 'b');
  const run = await house.store.readRun({ tenant, runId: 'b' });
  if (run === undefined) throw new Error('b is gone');
  for (const hash of listMetaBlobs(run)) expect(await house.blobs.has(tenant, hash)).toBe(true);
});

test('C5 what is removed says how many of its values stay until they are a day old', async () => {
  const house = open();
  await start(house, 'a', 'x');
  await start(house, 'b', 'y');
  expect(await removeRun.run(house.context, { run: 'a' })).toEqual({ removed: ['a'], blobs: 0, blobsLeft: 2 });
  // What a run that was pruned still names is none of what stays.
  expect((await pruneRuns.run(house.context, { run: 'b' })).blobsLeft).toBeUndefined();
  expect((await pruneRuns.run(house.context, { all: true })).blobsLeft).toBeUndefined();
  expect(await countUnneeded(house.store, house.blobs, tenant)).toBe(0);
  await house.engine.cancel('b');
  house.advance(day / 2);
  expect(await cleanUp.run(house.context, {})).toMatchObject({ removed: [{ runId: 'b' }], blobs: 0, blobsLeft: 2 });
  house.advance(day);
  expect(await countUnneeded(house.store, house.blobs, tenant)).toBe(5);
  const { blobs, blobsLeft, space } = await cleanUp.run(house.context, { vacuum: true });
  expect([blobs, blobsLeft, space]).toEqual([5, undefined, undefined]);
  expect(await countUnneeded(house.store, house.blobs, tenant)).toBe(0);
});

test('C5 in a store without references and of many runs, what a removed run named stays for a sweep: no removal reads all runs', async () => {
  const house = open();
  await start(house, 'a', 'x');
  await start(house, 'b', 'y');
  house.advance(2 * day);
  let rows = 0;
  const listRuns: Store['listRuns'] = async (query) => {
    const page = await house.store.listRuns({ ...query, limit: 1 });
    if (query.parentRunId !== undefined) return page;
    rows += 100;
    // Another run, and no end of it.
    return rows > 100_000 ? { rows: [] } : { rows: Array.from({ length: 100 }, () => page.rows[0]!), cursor: '9' };
  };
  const { references: _, ...store } = house.store;
  const many = { ...house.context, store: { ...store, listRuns } } as CleanUpContext;
  expect(await removeRun.run(many, { run: 'a' })).toEqual({ removed: ['a'], blobs: 0, blobsLeft: 2 });
  expect(rows).toBeLessThan(5_000);
  expect((await cleanUp.run(house.context, {})).blobs).toBe(2);
});

test('C5 of a removed run goes what no other names, however many runs there are: none is read', async () => {
  const house = open();
  for (const [runId, letter] of Object.entries({ a: 'x', b: 'x', c: 'y' })) await start(house, runId, letter);
  house.advance(2 * day);
  const refuse = (): never => {
    throw new Error('it is not read');
  };
  const store: Store = { ...house.store, readCheckpoints: refuse, readSnapshot: refuse, listWaits: refuse };
  const listRuns: Store['listRuns'] = (query) =>
    query.limit === 1 || query.parentRunId !== undefined ? house.store.listRuns(query) : refuse();
  const blobs = { ...house.blobs, sweep: refuse };
  const context = { ...house.context, store: { ...store, listRuns }, blobs } as CleanUpContext;
  expect(await removeRun.run(context, { run: 'a' })).toEqual({ removed: ['a'], blobs: 1 });
  await expectSound(house, 'b');
  expect(await removeRun.run(context, { run: 'b' })).toEqual({ removed: ['b'], blobs: 2 });
  await expectSound(house, 'c');
  expect(await removeRun.run(context, { run: 'c' })).toEqual({ removed: ['c'], blobs: 3 });
  expect(await house.count()).toBe(0);
});

test('C5 an older definition of a graph goes with a sweep, when no run has it any more', async () => {
  const house = open();
  await start(house, 'a', 'x');
  const changed = graphOf('g', [node('other', 'pure', () => 1)], edges('> other', 'other >'));
  await runToRest(house.engine, changed, {}, 'new');
  house.advance(2 * day);
  // While there are runs of the graph, a removal does not look which of them have it.
  expect((await removeRun.run(house.context, { run: 'a' })).blobs).toBe(2);
  expect((await cleanUp.run({ ...house.context, settingsOf: () => Promise.resolve(undefined) }, {})).blobs).toBe(1);
  await expectSound(house, 'new');
  expect(await house.count()).toBe(1);
});

/** The store as a version without references writes to it: rows do not say what they name. */
function asOlder(store: Store): Store {
  const silent = <Row extends { readonly blobs?: unknown }>({ blobs: _blobs, ...row }: Row): Omit<Row, 'blobs'> => row;
  return {
    ...store,
    admitRun: ({ blobs: _blobs, defines: _defines, ...rest }) =>
      store.admitRun({ ...rest, checkpoint: silent(rest.checkpoint), waits: rest.waits.map(silent) }),
    commit: ({ checkpoint, openWaits, ...rest }) =>
      store.commit({
        ...rest,
        checkpoint: silent(checkpoint),
        ...(openWaits && { openWaits: openWaits.map(silent) }),
      }),
  };
}

test('C5 what runs name that an older version wrote is found in their texts, until a sweep has noted it', async () => {
  const house = open();
  const older = createBench({
    store: asOlder(house.store),
    blobs: house.blobs,
    findGraph: () => graph,
    ids: testIds('one', ['one']),
    bounds: { inlineBytes: 1_000 },
  });
  const unread = async () => (await house.store.references?.listUnread(tenant, { limit: 9 }))?.rows;
  for (const runId of ['a', 'b']) await runToRest(older.engine, graph, { letter: 'x' }, runId);
  await start(house, 'c', 'y');
  house.advance(2 * day);
  expect(await unread()).toEqual(['a', 'b']);
  expect(await countUnneeded(house.store, house.blobs, tenant)).toBe(0);
  expect(await removeRun.run(house.context, { run: 'a' })).toEqual({ removed: ['a'], blobs: 1 });
  for (const runId of ['b', 'c']) await expectSound(house, runId);
  expect((await pruneRuns.run(house.context, { all: true })).blobs).toBe(0);
  expect(await unread()).toEqual([]);
  const refuse = (): never => {
    throw new Error('it is read no more');
  };
  const store: Store = { ...house.store, readCheckpoints: refuse };
  const known = { ...house.context, store } as CleanUpContext;
  expect(await removeRun.run(known, { run: 'b' })).toEqual({ removed: ['b'], blobs: 2 });
  expect(await removeRun.run(known, { run: 'c' })).toEqual({ removed: ['c'], blobs: 3 });
  expect(await house.count()).toBe(0);
});

test('C6 nothing is collected where what runs store cannot be read', async () => {
  const house = open();
  await start(house, 'a', 'x');
  await start(house, 'b', 'y');
  house.advance(2 * day);
  const cut: Store = { ...house.store, readCheckpoints: () => Promise.reject(new Error('unreadable')) };
  await expect(pruneRuns.run({ ...house.context, store: cut }, { all: true })).rejects.toThrow('unreadable');
  expect(await house.count()).toBe(5);
});
