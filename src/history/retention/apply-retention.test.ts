/** Which runs a retention removes, and what stays of them. */
import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../stores/memory/index.ts';
import type { RetentionSettings } from '../../graph/retention.ts';
import type { Store } from '../../ports/store.ts';
import { AgentGraph, END, openHistory, START } from '../../index.ts';
import { collect } from '../../../test/support/small-graphs.ts';
import { createBench, edges, graphOf, node, runToRest, testIds, type Bench } from '../../../test/engine-kit.ts';
import { applyRetention, expireSome } from './apply-retention.ts';
import { cleanUpPlace } from './clean-up.ts';
import { readRetention } from '../../graph/retention.ts';

const dayMs = 86_400_000;

const ending = graphOf('ending', [node('a', 'read', () => 1)], edges('> a', 'a >'));
const failing = graphOf(
  'ending',
  [
    node('a', 'read', () => {
      throw new Error('no luck');
    }),
  ],
  edges('> a', 'a >'),
);
const asking = graphOf(
  'ending',
  [node('a', 'human', (ctx) => ctx.ask({ prompt: 'Go on?' }), { type: 'human' })],
  edges('> a', 'a >'),
);

/** A store without an index of ended runs, without lines, and whose rows tell of no forks and tags: as one of a user may be. */
function plain(store: Store): Store {
  const { removals: _, ended: __, ...rest } = store;
  const listRuns: Store['listRuns'] = async (query) => {
    const page = await store.listRuns(query);
    return { ...page, rows: page.rows.map(({ hasForks: _forks, hasTags: _tags, ...row }) => row) };
  };
  return { ...rest, listRuns };
}

const placeOf = ({ store, options, clock }: Bench) => ({
  store,
  tenant: 'default',
  blobs: options.blobs,
  ids: testIds(),
  isWorkerDead: () => undefined,
  now: clock.now,
});

const applied = async (bench: Bench, retention: RetentionSettings, options = {}): Promise<readonly string[]> =>
  (await collect(applyRetention(placeOf(bench), retention, options))).map(({ runId }) => runId);

const idsIn = async ({ store }: Bench): Promise<readonly string[]> =>
  (await store.listRuns({ tenant: 'default' })).rows.map(({ runId }) => runId).sort();

const stores: Readonly<Record<string, (now: () => number) => Store>> = {
  'with an index': (now) => createMemoryStore({ now }),
  'without an index': (now) => plain(createMemoryStore({ now })),
};

describe.each(Object.keys(stores))('a store %s', (kind) => {
  const bench = (): Bench => {
    const made = createBench();
    const store = stores[kind]!(made.clock.now);
    return createBench({ store, clock: made.clock });
  };

  test('D18 of ten ended runs the three newest stay, and those that are open are neither counted nor removed', async () => {
    const one = bench();
    await runToRest(one.engine, asking, {}, 'open');
    for (let n = 0; n < 10; n += 1) await runToRest(one.engine, ending, {}, `run-${n}`);
    await runToRest(one.engine, asking, {}, 'open-too');
    expect(await applied(one, { runs: 3 })).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => `run-${n}`));
    expect(await idsIn(one)).toEqual(['open', 'open-too', 'run-7', 'run-8', 'run-9']);
    expect(await applied(one, { runs: 3 })).toEqual([]);
  });

  test('D18 each status has its own age, from the end on, and no age removes a paused run', async () => {
    const one = bench();
    await runToRest(one.engine, ending, {}, 'done');
    await runToRest(one.engine, failing, {}, 'failed');
    await runToRest(one.engine, asking, {}, 'paused');
    const ages = { completed: '7d', failed: '30d', cancelled: 1 } as const;
    expect(await applied(one, ages)).toEqual([]);
    await one.clock.advance(8 * dayMs);
    expect(await applied(one, ages, { dryRun: true })).toEqual(['done']);
    expect(await applied(one, ages)).toEqual(['done']);
    await one.clock.advance(1000 * dayMs);
    expect(await applied(one, ages)).toEqual(['failed']);
    expect(await idsIn(one)).toEqual(['paused']);
  });

  test('D18 runs of the system go seven days after their end, and others of a graph of that name as the settings say', async () => {
    const one = bench();
    for (const origin of ['webhook', 'bulk', 'schedule'] as const) {
      const own = graphOf(origin, [node('a', 'read', () => 1)], edges('> a', 'a >'));
      await runToRest(one.engine, own, {}, `${origin}-of-a-user`);
      await (await one.engine.start(own, {}, { runId: `cairn:${origin}:1`, origin })).result();
    }
    const others = ['bulk-of-a-user', 'schedule-of-a-user', 'webhook-of-a-user'];
    const removed = async (): Promise<readonly string[]> =>
      (await cleanUpPlace(placeOf(one), async () => undefined)).removed.map(({ runId }) => runId).sort();
    await one.clock.advance(6 * dayMs);
    expect(await removed()).toEqual([]);
    await one.clock.advance(2 * dayMs);
    expect(await removed()).toEqual(['cairn:bulk:1', 'cairn:schedule:1', 'cairn:webhook:1']);
    expect(await idsIn(one)).toEqual(others);
  });

  test('D18 of each value of a label as many stay as it says', async () => {
    const one = bench();
    for (let n = 0; n < 4; n += 1)
      for (const user of ['ann', 'bob']) {
        const handle = await one.engine.start(ending, {}, { runId: `${user}-${n}`, meta: { labels: { user } } });
        await handle.result();
      }
    await runToRest(one.engine, ending, {}, 'nobody');
    expect([...(await applied(one, { perLabel: { user: 3 } }))].sort()).toEqual(['ann-0', 'bob-0']);
    const run = await one.store.readRun({ tenant: 'default', runId: 'ann-3' });
    const some = await expireSome(placeOf(one), run!, readRetention({ perLabel: { user: 1 } }));
    expect(some.removed.map(({ runId }) => runId).sort()).toEqual(['ann-1', 'ann-2']);
    expect(await idsIn(one)).toEqual(['ann-3', 'bob-1', 'bob-2', 'bob-3', 'nobody']);
  });

  test('D18 runs with forks or tags stay, and so does one that is held', async () => {
    const one = bench();
    for (const runId of ['forked', 'tagged', 'held', 'free']) await runToRest(one.engine, ending, {}, runId);
    one.engine.know(ending);
    await one.engine.fork({ runId: 'forked', seq: 0 }, { runId: 'fork' });
    await one.store.tagCheckpoint({ tenant: 'default', runId: 'tagged' }, { name: 't', seq: 0 });
    await one.store.claimRun({ tenant: 'default', runId: 'held', workerId: 'held', leaseMs: 1e12 });
    await one.clock.advance(dayMs);
    expect(await applied(one, { completed: '1h' })).toEqual(['free']);
    expect(await idsIn(one)).toEqual(['fork', 'forked', 'held', 'tagged']);
  });

  test('D18 whoever stops reading has removed no more than it saw in a transaction', async () => {
    const one = bench();
    for (let n = 0; n < 120; n += 1) await runToRest(one.engine, ending, {}, `run-${String(n).padStart(3, '0')}`);
    await one.clock.advance(dayMs);
    const place = placeOf(one);
    await collect(applyRetention(place, { completed: '1h' }, {}), 1);
    expect(await idsIn(one)).toHaveLength(70);
    const [newest] = (await one.store.listRuns({ tenant: 'default', limit: 1 })).rows;
    await expireSome(place, newest!, readRetention({ completed: '1h' }));
    expect(await idsIn(one)).toHaveLength(20);
  });
});

test('D18.1 whoever starts, signals, answers, cancels or reads a removed run is told when it went, and forgetting frees its id', async () => {
  const bench = createBench();
  const { engine, store, options } = bench;
  await runToRest(engine, ending, {}, 'order-1');
  await bench.clock.advance(8 * dayMs);
  await applied(bench, { completed: '7d' });
  const history = openHistory(store, { blobs: options.blobs });
  const calls = [
    () => engine.start(ending, {}, { runId: 'order-1' }),
    () => engine.signal('order-1', 'go', 1),
    () => engine.answer('order-1', 'w', 1),
    () => engine.cancel('order-1'),
    () => engine.resume('order-1', { graph: ending }),
    () => history.state('order-1'),
    () => history.remove('order-1'),
  ];
  for (const call of calls)
    await expect(call()).rejects.toMatchObject({ code: 'RUN_EXPIRED', data: { runId: 'order-1' } });
  expect(await history.remove('order-1', { forget: true })).toMatchObject({ removed: [], forgotten: 'order-1' });
  await expect(history.state('order-1')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  expect((await runToRest(engine, ending, {}, 'order-1')).status).toBe('completed');
  await history.remove('order-1');
  await expect(engine.start(ending, {}, { runId: 'order-1' })).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
  await bench.clock.advance(31 * dayMs);
  expect((await runToRest(engine, ending, {}, 'order-1')).status).toBe('completed');
});

test('D18.1 an export brings a removed run back', async () => {
  const { engine, store, options } = createBench();
  await runToRest(engine, ending, {}, 'run');
  const history = openHistory(store, { blobs: options.blobs });
  const text = await collect(history.export('run', { move: true }));
  await history.remove('run');
  const lines = async function* (): AsyncGenerator<string> {
    yield* text;
  };
  await history.import(lines(), { move: true, trust: true });
  expect((await history.find('run')).status).toBe('completed');
});

test('D18 a graph that is compiled with a retention keeps to it when its runs have ended, and their results are given', async () => {
  const store = createMemoryStore();
  const graph = new AgentGraph({}, { id: 'kept' })
    .addNode('a', () => 1, { effectClass: 'read' })
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store, retention: { runs: 3 } });
  for (let n = 0; n < 10; n += 1) expect((await graph.invoke({}, { runId: `run-${n}` })).status).toBe('completed');
  await graph.close();
  const { rows } = await store.listRuns({ tenant: 'default' });
  expect(rows.map(({ runId }) => runId)).toEqual(['run-9', 'run-8', 'run-7']);
  const wrong = { runs: 'three' } as unknown as RetentionSettings;
  expect(() => new AgentGraph({}).addNode('a', () => 1).compile({ retention: wrong })).toThrowError(/retention/);
});

test('D18 the older name of an age is that of each status which says none, and may be none at all', () => {
  expect(readRetention({ failed: '1h' }, 0).ages).toEqual({ completed: 0, failed: 3_600_000, cancelled: 0 });
  expect(readRetention({ failed: '1h' }).ages).toEqual({ failed: 3_600_000 });
});

test.each([
  [{ completed: '7 days' }, 'retention.completed'],
  [{ completed: 0 }, 'retention.completed'],
  [{ runs: 0 }, 'retention.runs'],
  [{ perLabel: { user: 1.5 } }, 'retention.perLabel.user'],
  [{ older: '7d' }, 'retention.older'],
])('D18 %o is refused by name', (settings, path) => {
  expect(() => readRetention(settings as RetentionSettings)).toThrowError(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(path) as string }),
  );
});

test.each(Object.entries(stores))(
  'D18.2 a run that was started to be kept for longer stays that long: %s',
  async (_, open) => {
    const bench = createBench();
    const store = open(bench.clock.now);
    const own = createBench({ store, clock: bench.clock });
    for (const [runId, meta] of [
      ['plain', {}],
      ['longer', { keepFor: '30d' }],
      ['shorter', { keepFor: '1h' }],
    ] as const)
      await (await own.engine.start(ending, {}, { runId, meta })).result();
    await bench.clock.advance(8 * dayMs);
    const retention = { completed: '7d' };
    expect((await applied({ ...own, clock: bench.clock }, retention, { dryRun: true })).toSorted()).toEqual([
      'plain',
      'shorter',
    ]);
    expect((await applied({ ...own, clock: bench.clock }, retention)).toSorted()).toEqual(['plain', 'shorter']);
    await bench.clock.advance(23 * dayMs);
    expect(await applied({ ...own, clock: bench.clock }, retention)).toEqual(['longer']);
  },
);

test('D18.2 a time that is none is refused when the run is started', async () => {
  const { engine } = createBench();
  await expect(engine.start(ending, {}, { meta: { keepFor: 'long' } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});
