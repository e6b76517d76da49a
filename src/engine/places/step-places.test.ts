import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest, testIds } from '../../../test/engine-kit.ts';
import { scale } from '../../../test/support/scale.ts';
import { defineLimit, type Limit, type LimitOptions } from '../../graph/limit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { LimitStore, LimitWrite } from '../../ports/limits.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';
import type { Claim } from '../../ports/store.ts';
import { admission, tenant } from '../../testing/store-suite/examples.ts';
import { createEngine } from '../engine.ts';
import { LimitRecords } from './limit-records.ts';
import { StepPlaces, type Permit } from './step-places.ts';
import { createEngineWorker } from '../worker.ts';

let count = 0;
const limitOf = (options: LimitOptions): Limit => defineLimit(`steps-${(count += 1)}`, options);

/** Counts what is in progress at once. */
class Gauge {
  now = 0;
  most = 0;
  calls = 0;

  readonly call = async (): Promise<number> => {
    this.calls += 1;
    this.most = Math.max(this.most, (this.now += 1));
    await new Promise((resolve) => setImmediate(resolve));
    this.now -= 1;
    return this.calls;
  };
}

test('FL5 a list of many steps under a limit has no more of them in progress, and writes once for many of them', async () => {
  const items = scale(300, 20_000);
  const gauge = new Gauge();
  const limit = limitOf({ concurrency: 8 });
  const store = createMemoryStore();
  const writes: LimitWrite[] = [];
  const limits = store.limits as LimitStore;
  const counted = {
    ...store,
    limits: { ...limits, write: (write: LimitWrite) => (writes.push(write), limits.write(write)) },
  };
  const bench = createBench({ store: counted });
  const list = async (ctx: NodeContext): Promise<number> => {
    const all = Array.from({ length: items }, (_, index) => ctx.step(`s${index}`, { limit }, gauge.call));
    return (await Promise.all(all)).length;
  };
  const result = await runToRest(bench.engine, graphOf('list', [node('all', 'read', list)], edges('> all', 'all >')));
  expect(result.status).toBe('completed');
  expect([gauge.calls, gauge.most]).toEqual([items, 8]);
  expect(writes.length).toBeLessThan(items / 10);
  await expect.poll(() => limits.list('default', { prefix: 'place ', limit: 9 })).toEqual([]);
});

test('FL5 steps of several runs and engines under several limits keep all of them', async () => {
  const clock = createVirtualClock({ isAutomatic: true });
  const store = createMemoryStore({ now: clock.now });
  const provider = limitOf({ concurrency: 3 });
  const perUser = limitOf({ concurrency: 2, per: ({ input }) => input['user'] });
  const all = new Gauge();
  const users = { ann: new Gauge(), bob: new Gauge() };
  const work = async (ctx: NodeContext): Promise<number> => {
    const { user } = ctx.input as { readonly user: keyof typeof users };
    const call = async (): Promise<void> => void (await Promise.all([all.call(), users[user].call()]));
    const steps = [1, 2, 3, 4].map((no) =>
      ctx.step(`s${no}`, { effect: 'external', limit: [provider, perUser] }, call),
    );
    return (await Promise.all(steps)).length;
  };
  const graph = graphOf('work', [node('all', 'read', work)], edges('> all', 'all >'));
  const engines = ['one', 'two'].map((name) => createBench({ store, clock, ids: testIds(name) }).engine);
  const runs = ['ann', 'ann', 'bob', 'bob'].map((user, index) =>
    runToRest(engines[index % 2] as (typeof engines)[number], graph, { user }),
  );
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'completed'));
  expect(all.calls).toBe(16);
  expect([all.most <= 3, users.ann.most <= 2, users.bob.most <= 2]).toEqual([true, true, true]);
});

test('FL5 a run that only waits for a place keeps no slot of its worker, and leaves no intent', async () => {
  const clock = createVirtualClock();
  const limit = limitOf({ concurrency: 1 });
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const limited = graphOf(
    'limited',
    [
      node('call', 'read', (ctx) =>
        ctx.step('send', { effect: 'external', limit }, async () => {
          begun.push(ctx.runId);
          await gate.promise;
        }),
      ),
    ],
    edges('> call', 'call >'),
  );
  const free = graphOf('free', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const findGraph = (id: string) => (id === 'free' ? free : limited);
  const { engine, store } = createBench({ clock, store: createMemoryStore({ now: clock.now }), findGraph });
  for (const graph of [limited, free]) engine.know(graph);
  const worker = createEngineWorker({ engine, clock: { ...clock, setTimer: () => () => {} }, concurrency: 2 });
  const settle = async (ms: number): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) {
      await clock.advance(ms / 10);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  for (const runId of ['holds', 'waits']) await engine.start(limited, {}, { runId, detach: true });
  await settle(500);
  await engine.start(free, {}, { runId: 'free', detach: true });
  await settle(100);
  await worker.look();
  await settle(100);
  expect([begun, (await engine.inspect('free')).isQueued]).toEqual([['holds'], true]);
  await settle(1_000);
  await worker.look();
  await settle(100);
  expect((await engine.inspect('free')).status).toBe('completed');
  expect((await store.readRun({ tenant: 'default', runId: 'waits' }))?.head).toBe(0);
  gate.resolve();
  await settle(2_000);
  expect([begun, (await engine.inspect('waits')).status]).toEqual([['holds', 'waits'], 'completed']);
  await worker.stop();
});

test('FL5 calls that come in one instant while all places are taken begin when places are free, whatever their runs are called', async () => {
  const store = createMemoryStore();
  const limit = limitOf({ concurrency: 2 });
  const clock = createVirtualClock();
  const records = new LimitRecords({ store: store.limits as LimitStore, tenant, clock, workerId: 'w' });
  await records.define(limit);
  const places = new StepPlaces(records);
  const keys = [{ name: limit.name, key: limit.name }];
  const begun: string[] = [];
  const permits: Permit[] = [];
  const enter = async (runId: string): Promise<void> => {
    const { claim } = await store.admitRun(admission(runId, { claim: { workerId: 'w', leaseMs: 1e9 } }));
    void places.enter(claim as Claim, keys, 0, new AbortController().signal).then((permit) => {
      begun.push(runId);
      permits.push(permit);
    });
  };
  for (const runId of ['first', 'second']) await enter(runId);
  await clock.advance(10);
  // The last by name comes first: all others came in the same millisecond.
  for (const runId of ['z', 'y', 'a', 'b', 'c']) await enter(runId);
  await clock.advance(1_000);
  while (permits.length > 0) {
    permits.shift()?.leave();
    await clock.advance(1_000);
  }
  expect(begun).toEqual(['first', 'second', 'a', 'b', 'c', 'y', 'z']);
});

test('FL13 calls of experiments have a quarter of the places, after all others, and their forks are under no limits of runs', async () => {
  const store = createMemoryStore();
  const limit = limitOf({ concurrency: 8 });
  const clock = createVirtualClock();
  const records = new LimitRecords({ store: store.limits as LimitStore, tenant, clock, workerId: 'w' });
  await records.define(limit);
  const places = new StepPlaces(records);
  const granted: string[] = [];
  const enter = async (runId: string): Promise<() => Promise<void>> => {
    const { claim } = await store.admitRun(admission(runId, { claim: { workerId: 'w', leaseMs: 1e9 } }));
    const keys = [{ name: limit.name, key: limit.name }];
    const permit = places.enter(claim as Claim, keys, 0, new AbortController().signal);
    void permit.then(() => granted.push(runId));
    return async () => (await permit).leave();
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) {
      await clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const leaves = [];
  for (let index = 0; index < 4; index += 1) leaves.push(await enter(`cairn:experiment:e:${index}`));
  await settle();
  expect(granted).toHaveLength(2);
  for (let index = 0; index < 7; index += 1) await enter(`run-${index}`);
  await settle();
  // Six others fill what is left, and the seventh goes before the two that wait.
  expect(granted.filter((id) => id.startsWith('run-'))).toHaveLength(6);
  await leaves[0]?.();
  await settle();
  expect(granted.filter((id) => id.startsWith('run-'))).toHaveLength(7);
  expect(granted).toHaveLength(9);
  places.close();

  const graph = graphOf('limited', [node('a', 'pure', () => 1)], edges('> a', 'a >'), { policies: { limit } });
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'original');
  const forkOf = async (runId: string, origin?: 'experiment'): Promise<string | undefined> => {
    await bench.engine.fork({ runId: 'original', seq }, { runId, ...(origin && { origin, effects: 'refuse' }) });
    return (await bench.store.readRun({ tenant: 'default', runId }))?.schedule.key;
  };
  expect(await forkOf('fork')).toContain(limit.name);
  expect(await forkOf('cairn:experiment:e:x', 'experiment')).toBeUndefined();
});

test('FL5 nodes under a limit wait before they are announced', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  const gauge = new Gauge();
  const nodes = ['a', 'b', 'c'].map((id) => node(id, 'external', gauge.call, { limit }));
  const graph = graphOf('nodes', nodes, edges('> a', '> b', '> c', 'a >', 'b >', 'c >'));
  bench.engine.know(graph);
  const intents: number[] = [];
  const result = await runToRest(bench.engine, graph, {}, 'run');
  for await (const event of bench.engine.events('run'))
    if (event.type === 'checkpoint') intents.push(event.change.filter(({ kind }) => kind === 'intent').length);
  expect([result.status, gauge.calls, gauge.most]).toEqual(['completed', 3, 1]);
  expect(intents.reduce((most, one) => Math.max(most, one))).toBe(1);
});

test('FL5 what would keep its place while it waits is refused where it is called', async () => {
  const limit = limitOf({ concurrency: 1 });
  const waits: readonly ((ctx: NodeContext) => Promise<unknown>)[] = [
    (ctx) => ctx.ask({ prompt: '?' }),
    (ctx) => ctx.receive('word'),
    (ctx) => ctx.sleepUntil(1e15),
    (ctx) => ctx.run(graphOf('child', [node('a', 'pure', () => 1)], edges('> a', 'a >')), {}),
    (ctx) => ctx.step('inner', { limit }, () => 1),
  ];
  for (const call of waits) {
    const graph = graphOf('waits', [node('a', 'read', call, { limit })], edges('> a', 'a >'));
    const result = await runToRest(createBench().engine, graph);
    expect([result.status, result.failures?.[0]?.code]).toEqual(['failed', 'NODE_CALL_REFUSED']);
  }
});

test('FL5 a step that fails gives its place back before it is tried again', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  let tries = 0;
  const flaky = (ctx: NodeContext): Promise<unknown> =>
    Promise.all([
      ctx.step('flaky', { limit, retry: { attempts: 3, delayMs: 1_000 } }, () => {
        if ((tries += 1) < 3) throw new Error('not yet');
      }),
      ctx.step('other', { limit }, () => 1),
    ]);
  const result = await runToRest(bench.engine, graphOf('flaky', [node('a', 'read', flaky)], edges('> a', 'a >')));
  expect([result.status, tries]).toEqual(['completed', 3]);
});

test('FL5 beginnings keep their rate, and none comes at once after a while in which none could', async () => {
  const clock = createVirtualClock({ isAutomatic: true });
  const bench = createBench({ clock, store: createMemoryStore({ now: clock.now }) });
  const limit = limitOf({ requestsPerMinute: 600, burst: 5 });
  const at: number[] = [];
  const list = async (ctx: NodeContext): Promise<void> => {
    for (const round of [0, 1]) {
      const all = Array.from({ length: 30 }, (_, index) =>
        ctx.step(`s${round}-${index}`, { limit }, () => at.push(clock.now())),
      );
      await Promise.all(all);
      clock.timeMs += 10_000;
    }
  };
  await runToRest(bench.engine, graphOf('rated', [node('a', 'read', list)], edges('> a', 'a >')));
  expect(at).toHaveLength(60);
  for (const [index, time] of at.entries()) {
    const within = at.slice(index).filter((one) => one < time + 1_000).length;
    expect(within).toBeLessThanOrEqual(10 + 5);
  }
});

test('FL4 two limits of one name that differ are refused in a process, and a store without the part refuses a run', async () => {
  const limit = limitOf({ concurrency: 1 });
  expect(defineLimit(limit.name, { concurrency: 1 })).toBe(limit);
  expect(() => defineLimit(limit.name, { concurrency: 2 })).toThrow(/defined otherwise/);
  expect(() => defineLimit('a b', { concurrency: 1 })).toThrow(/its name/);
  expect(() => defineLimit('none', {})).toThrow(/give it a concurrency/);
  const { limits: _, ...plain } = createMemoryStore();
  const graph = graphOf('plain', [node('a', 'pure', () => 1)], edges('> a', 'a >'), { policies: { limit } });
  const engine = createEngine({ ...createBench().options, store: plain });
  await expect(engine.start(graph, {})).rejects.toMatchObject({ code: 'STORE_UNSUPPORTED' });
});

test('FL4 of two processes that define a limit otherwise, the one that came last applies and logs a warning', async () => {
  const store = createMemoryStore();
  const name = `versions-${(count += 1)}`;
  const warned: string[] = [];
  const recordsOf = (workerId: string): LimitRecords =>
    new LimitRecords({
      store: store.limits as LimitStore,
      tenant: 'default',
      clock: createVirtualClock(),
      workerId,
      onRedefined: (limit) => warned.push(`${workerId} ${limit}`),
    });
  const [older, newer] = [
    { name, concurrency: 1 },
    { name, concurrency: 2 },
  ];
  for (const [index, limit] of [older, older, newer, older, newer].entries())
    await recordsOf(`w${index}`).define(limit);
  expect(warned).toEqual([`w2 ${name}`]);
  const log: unknown[] = [];
  const ignore = (): void => undefined;
  const warn = (fields: object, message?: string): void => void log.push([fields, message]);
  const bench = createBench({ store, log: { debug: ignore, info: ignore, warn, error: ignore } });
  const limit = defineLimit(name, { concurrency: 3 });
  const work = (ctx: NodeContext): Promise<number> => ctx.step('one', { limit }, () => 1);
  await runToRest(bench.engine, graphOf('versions', [node('a', 'read', work)], edges('> a', 'a >')));
  expect(log).toEqual([
    [expect.objectContaining({ event: 'limit-redefined', limit: name }), expect.stringContaining('otherwise')],
  ]);
});

test('FL5 the time of an attempt counts from when it has its place, of a step and of a node', async () => {
  const clock = createVirtualClock({ isAutomatic: true });
  const bench = createBench({ clock, store: createMemoryStore({ now: clock.now }) });
  const limit = limitOf({ concurrency: 1 });
  const forSeconds = async (seconds: number): Promise<number> => {
    for (let second = 0; second < seconds; second += 1)
      await new Promise<void>((resolve) => void clock.setTimer(1_000, resolve));
    return clock.now();
  };
  const options = { effect: 'external', limit, timeoutMs: 7_000 } as const;
  const list = (ctx: NodeContext): Promise<unknown> =>
    Promise.all([1, 2, 3].map((no) => ctx.step(`s${no}`, options, () => forSeconds(5))));
  const steps = await runToRest(bench.engine, graphOf('timed', [node('a', 'read', list)], edges('> a', 'a >')));
  expect(steps.status).toBe('completed');
  const timed = ['a', 'b', 'c'].map((id) => node(id, 'external', () => forSeconds(5), { limit, timeoutMs: 7_000 }));
  const graph = graphOf('timed nodes', timed, edges('> a', '> b', '> c', 'a >', 'b >', 'c >'));
  expect((await runToRest(bench.engine, graph)).status).toBe('completed');
});

test('FL5 a limit on a node that asks or has a graph of its own is refused when the graph is compiled', () => {
  const limit = limitOf({ concurrency: 1 });
  const asks = node('asks', 'human', (ctx) => ctx.ask({ prompt: '?' }), { limit });
  expect(() => graphOf('asking', [asks], edges('> asks', 'asks >'))).toThrow(/a limit on a node that asks/u);
});

test('FL6 a preview of a run under limits takes no place', async () => {
  const store = createMemoryStore();
  const limit = limitOf({ concurrency: 1, counts: 'open' });
  const work = node('work', 'read', (ctx) => ctx.step('one', { limit: limitOf({ concurrency: 1 }) }, () => 1));
  const ask = node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' }));
  const graph = graphOf('previewed', [ask, work], edges('> ask', 'ask > work', 'work >'), { policies: { limit } });
  const { engine } = createBench({ store, findGraph: () => graph });
  const { seq, waits } = await runToRest(engine, graph, {}, 'run');
  const limits = store.limits as LimitStore;
  const before = await limits.list('default', { limit: 99 });
  await engine.preview({ runId: 'run', seq }, { graph, answers: { [waits[0]?.waitId ?? '']: 'yes' } });
  expect(await limits.list('default', { limit: 99 })).toEqual(before);
});
