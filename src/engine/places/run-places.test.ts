import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, testIds, type Bench } from '../../../test/engine-kit.ts';
import { defineLimit, type Limit, type LimitOptions } from '../../graph/limit.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LimitStore } from '../../ports/limits.ts';
import type { Store } from '../../ports/store.ts';
import { createEngine } from '../engine.ts';
import type { Engine, StartOptions } from '../api.ts';
import { editLimit, listLimits } from './limit-settings.ts';
import { createEngineWorker, type Worker } from '../worker.ts';

let count = 0;
const limitOf = (options: LimitOptions): Limit => defineLimit(`runs-${(count += 1)}`, options);

/** A graph whose runs wait inside of their node until they are told to end, and a list of those that began. */
function gated(limit: Graph['policies']['limit']): { graph: Graph; began: string[]; end: (id: string) => void } {
  const began: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (id: string): PromiseWithResolvers<void> => {
    const gate = gates.get(id) ?? Promise.withResolvers<void>();
    gates.set(id, gate);
    return gate;
  };
  const work = node('work', 'read', async (ctx) => {
    began.push(ctx.runId);
    await gateOf(ctx.runId).promise;
  });
  const graph = graphOf('gated', [work], edges('> work', 'work >'), { policies: limit === undefined ? {} : { limit } });
  return { graph, began, end: (id) => gateOf(id).resolve() };
}

function workerOf(bench: Bench, graph: Graph, name = 'worker-2'): { engine: Engine; worker: Worker } {
  const engine = createEngine({ ...bench.options, ids: testIds(name), findGraph: () => graph });
  engine.know(graph);
  const worker = createEngineWorker({ engine, clock: { ...bench.clock, setTimer: () => () => {} } });
  return { engine, worker };
}

async function start(
  bench: Bench,
  graph: Graph,
  runId: string,
  input: unknown = {},
  more: StartOptions = {},
): Promise<void> {
  await bench.engine.start(graph, input, { ...more, runId, detach: true });
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 60; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('FL6 a node that waits for a run of a limit whose place its own run has is refused, and that run has its turn', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  const child = gated(limit);
  child.end('child');
  const awaits = node('awaits', 'read', async () => {
    const handle = await bench.engine.start(child.graph, {}, { runId: 'child' });
    return (await handle.result()).status;
  });
  const parent = graphOf('parent', [awaits], edges('> awaits', 'awaits >'), { policies: { limit } });
  const failed = await (await bench.engine.start(parent, {}, { runId: 'parent' })).result();
  expect(failed.failures?.[0]).toMatchObject({
    code: 'NODE_CALL_REFUSED',
    message: expect.stringContaining(`run child stands in line for limit ${limit.name}`),
  });
  const { worker } = workerOf(bench, child.graph);
  await settled();
  expect(child.began).toEqual(['child']);
  await worker.stop();
});

test('FL6 a run that finds no place waits in line, and goes on when another has ended, the oldest first', async () => {
  const bench = createBench();
  const { graph, began, end } = gated(limitOf({ concurrency: 2 }));
  for (const id of ['a', 'b', 'c', 'd']) await start(bench, graph, id);
  const { engine, worker } = workerOf(bench, graph);
  await settled();
  expect(began).toEqual(['a', 'b']);
  expect(await engine.inspect('d')).toMatchObject({ isQueued: true, queued: { ahead: 1 } });
  end('b');
  await expect.poll(() => began).toEqual(['a', 'b', 'c']);
  expect(await engine.inspect('d')).toMatchObject({ queued: { ahead: 0 } });
  end('c');
  await expect.poll(() => began).toEqual(['a', 'b', 'c', 'd']);
  for (const id of ['a', 'd']) end(id);
  await expect.poll(async () => (await engine.inspect('d')).status).toBe('completed');
  await worker.stop();
  const limits = bench.store.limits as LimitStore;
  expect(await limits.list('default', { prefix: 'place ', limit: 9 })).toEqual([]);
});

test('FL6 where a place is free and runs stand in line, as when an operator gave more, who comes anew lets the first of them in', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  const { graph, began, end } = gated(limit);
  for (const id of ['a', 'b', 'c']) await start(bench, graph, id);
  const { engine, worker } = workerOf(bench, graph);
  await settled();
  expect(began).toEqual(['a']);
  const place = { store: bench.store, tenant: 'default', now: bench.clock.now(), writer: 'operator' };
  await editLimit(place, limit.name, { action: 'set', amounts: { concurrency: 2 } });
  // What is known of definitions is used for a second.
  bench.clock.timeMs += 2_000;
  await start(bench, graph, 'd');
  await expect.poll(() => began).toEqual(['a', 'b']);
  await settled();
  expect(await engine.inspect('d')).toMatchObject({ queued: { ahead: 1 } });
  for (const id of ['a', 'b', 'c', 'd']) end(id);
  await expect.poll(() => began).toEqual(['a', 'b', 'c', 'd']);
  await worker.stop();
});

test('FL6 a line moves on when a paused limit is resumed, though all workers were replaced since and nobody starts a run', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  const { graph, began, end } = gated(limit);
  const place = { store: bench.store, tenant: 'default', now: bench.clock.now(), writer: 'operator' };
  await start(bench, graph, 'a');
  end('a');
  const before = workerOf(bench, graph);
  await settled();
  await editLimit(place, limit.name, { action: 'pause' });
  bench.clock.timeMs += 2_000;
  for (const id of ['b', 'c']) await start(bench, graph, id);
  await before.worker.look();
  await settled();
  expect(began).toEqual(['a']);
  await before.worker.stop();
  await editLimit(place, limit.name, { action: 'resume' });
  const after = workerOf(bench, graph, 'worker-3');
  await settled();
  await after.worker.look();
  await expect.poll(() => began).toEqual(['a', 'b']);
  for (const id of ['b', 'c']) end(id);
  await expect.poll(() => began).toEqual(['a', 'b', 'c']);
  await after.worker.stop();
});

test('FL10 an operator sets a limit that is defined here before anything has used it; another name is refused', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  const { graph, began, end } = gated(limit);
  const place = { store: bench.store, tenant: 'default', now: bench.clock.now(), writer: 'operator' };
  await expect(editLimit(place, 'nowhere', { action: 'pause' })).rejects.toThrow('no limit nowhere is known here');
  await editLimit(place, limit.name, { action: 'pause' });
  expect(await listLimits(bench.store, 'default')).toMatchObject([
    { name: limit.name, concurrency: 1, isPaused: true },
  ]);
  await start(bench, graph, 'a');
  const before = workerOf(bench, graph);
  await settled();
  expect(began).toEqual([]);
  await before.worker.stop();
  await editLimit(place, limit.name, { action: 'resume' });
  end('a');
  const after = workerOf(bench, graph, 'worker-3');
  await settled();
  await after.worker.look();
  await expect.poll(() => began).toEqual(['a']);
  await after.worker.stop();
});

test('FL6 a host that lists what can go on looks after lines first, since there may be no worker', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  const { graph, end } = gated(limit);
  const place = { store: bench.store, tenant: 'default', now: bench.clock.now(), writer: 'operator' };
  await start(bench, graph, 'a');
  end('a');
  const { worker } = workerOf(bench, graph);
  await settled();
  await editLimit(place, limit.name, { action: 'pause' });
  bench.clock.timeMs += 2_000;
  await start(bench, graph, 'b');
  await worker.look();
  await settled();
  await worker.stop();
  const host = createEngine({ ...bench.options, ids: testIds('host'), findGraph: () => graph });
  expect(await host.listClaimable({ limit: 9 })).toEqual([]);
  await editLimit(place, limit.name, { action: 'resume' });
  expect(await host.listClaimable({ limit: 9 })).toEqual(['b']);
});

test('FL6 a run that a program awaits in line goes on without any worker: when its limit is resumed, and when the process before it died', async () => {
  const bench = createBench();
  const limit = limitOf({ concurrency: 1 });
  const { graph, began, end } = gated(limit);
  const place = { store: bench.store, tenant: 'default', now: bench.clock.now(), writer: 'operator' };
  const clock = { ...bench.clock, setTimer: () => () => {} };
  const dead = createEngine({ ...bench.options, clock, ids: testIds('dead') });
  void (await dead.start(graph, {}, { runId: 'a' })).result().catch(() => undefined);
  await settled();
  expect(began).toEqual(['a']);
  const alive = createEngine({ ...bench.options, ids: testIds('alive', ['dead']) });
  const second = (await alive.start(graph, {}, { runId: 'b' })).result();
  end('b');
  expect((await second).status).toBe('completed');
  await editLimit(place, limit.name, { action: 'pause' });
  bench.clock.timeMs += 2_000;
  const third = (await alive.start(graph, {}, { runId: 'c' })).result();
  end('c');
  await settled();
  expect(began).toEqual(['a', 'b']);
  await editLimit(place, limit.name, { action: 'resume' });
  expect((await third).status).toBe('completed');
});

test('FL6 a higher priority goes first, and each value of per has places of its own', async () => {
  const bench = createBench();
  const { graph, began, end } = gated(limitOf({ concurrency: 1, per: ({ input }) => input['user'] }));
  await start(bench, graph, 'ann-1', { user: 'ann' });
  await start(bench, graph, 'bob-1', { user: 'bob' });
  const { worker } = workerOf(bench, graph);
  await settled();
  expect(began).toEqual(['ann-1', 'bob-1']);
  await start(bench, graph, 'ann-2', { user: 'ann' });
  await start(bench, graph, 'ann-3', { user: 'ann' }, { schedule: { priority: 5 } });
  await settled();
  expect(began).toHaveLength(2);
  end('ann-1');
  await expect.poll(() => began.slice(2)).toEqual(['ann-3']);
  for (const id of ['bob-1', 'ann-2', 'ann-3']) end(id);
  await expect.poll(() => began.slice(3)).toEqual(['ann-2']);
  await worker.stop();
});

test('FL7 who shares a line fairly waits at most one round behind the many runs of another', async () => {
  const bench = createBench();
  const { graph, began, end } = gated(limitOf({ concurrency: 1, fairBy: ({ input }) => input['user'] }));
  const { worker } = workerOf(bench, graph);
  for (let index = 0; index < 6; index += 1) await start(bench, graph, `many-${index}`, { user: 'many' });
  await settled();
  await start(bench, graph, 'one', { user: 'one' });
  await start(bench, graph, 'two-a', { user: 'two' });
  await start(bench, graph, 'two-b', { user: 'two' });
  await settled();
  for (let round = 0; round < 9; round += 1) {
    await expect.poll(() => began.length).toBe(round + 1);
    end(began[round] as string);
  }
  expect(began.indexOf('one')).toBeLessThanOrEqual(3);
  expect(began.indexOf('two-a')).toBeLessThanOrEqual(3);
  expect(began.indexOf('two-b')).toBeLessThanOrEqual(6);
  await worker.stop();
});

/** A graph that asks. */
function asking(limit: Limit): Graph {
  const ask = node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' }));
  return graphOf('asking', [ask], edges('> ask', 'ask >'), { policies: { limit } });
}

test('FL6 a run that waits for an answer holds no place, unless its limit counts open runs', async () => {
  for (const counts of ['claimed', 'open'] as const) {
    const bench = createBench();
    const graph = asking(limitOf({ concurrency: 1, counts }));
    await start(bench, graph, 'first');
    await start(bench, graph, 'second');
    const { engine, worker } = workerOf(bench, graph);
    await expect.poll(async () => (await engine.inspect('first')).waits.length).toBe(1);
    await settled();
    const second = await engine.inspect('second');
    expect([second.waits.length, second.isQueued]).toEqual(counts === 'open' ? [0, true] : [1, undefined]);
    await engine.answer('first', (await engine.inspect('first')).waits[0]?.waitId ?? '', 'yes');
    await expect.poll(async () => (await engine.inspect('first')).status).toBe('completed');
    await expect.poll(async () => (await engine.inspect('second')).waits.length).toBe(1);
    await worker.stop();
  }
});

test('FL6 a run that is cancelled while it waits gives its place to the next', async () => {
  const bench = createBench();
  const graph = asking(limitOf({ concurrency: 1, counts: 'open' }));
  await start(bench, graph, 'first');
  await start(bench, graph, 'second');
  const { engine, worker } = workerOf(bench, graph);
  await expect.poll(async () => (await engine.inspect('first')).waits.length).toBe(1);
  await settled();
  await bench.engine.cancel('first');
  await expect.poll(async () => (await engine.inspect('second')).waits.length).toBe(1);
  await worker.stop();
});

test('FL6 a run in line can be cancelled, and is then passed over', async () => {
  const bench = createBench();
  const { graph, began, end } = gated(limitOf({ concurrency: 1 }));
  const { engine, worker } = workerOf(bench, graph);
  for (const id of ['a', 'b', 'c']) await start(bench, graph, id);
  await settled();
  await engine.cancel('b');
  expect((await engine.inspect('b')).status).toBe('cancelled');
  end('a');
  await expect.poll(() => began).toEqual(['a', 'c']);
  end('c');
  await worker.stop();
});

test('FL6 a program that starts a run waits in line with it', async () => {
  const bench = createBench({ wakes: true });
  const { graph, began, end } = gated(limitOf({ concurrency: 1 }));
  bench.engine.know(graph);
  const first = await bench.engine.start(graph, {}, { runId: 'a' });
  const second = await bench.engine.start(graph, {}, { runId: 'b' });
  const both = Promise.all([first.result(), second.result()]);
  await settled();
  expect(began).toEqual(['a']);
  end('a');
  end('b');
  expect((await both).map(({ status }) => status)).toEqual(['completed', 'completed']);
  expect(began).toEqual(['a', 'b']);
});

test('FL9 a run that finds no place is refused where its limit says so, and its id stays free', async () => {
  const bench = createBench({ wakes: true });
  const { graph, end } = gated(limitOf({ concurrency: 1, onFull: 'skip' }));
  const first = await bench.engine.start(graph, {}, { runId: 'a' });
  await expect(bench.engine.start(graph, {}, { runId: 'b' })).rejects.toMatchObject({ code: 'LIMIT_FULL' });
  expect(await bench.store.readRun({ tenant: 'default', runId: 'b' })).toBeUndefined();
  expect((await bench.engine.start(graph, {}, { runId: 'a' })).created).toBe(false);
  end('a');
  await first.result();
  end('b');
  expect((await (await bench.engine.start(graph, {}, { runId: 'b' })).result()).status).toBe('completed');
});

test('FL9 of runs that are started in short order only the last begins, after the delay', async () => {
  const bench = createBench();
  const { graph, began, end } = gated(limitOf({ concurrency: 1, onFull: 'replace-queued', delayMs: 5_000 }));
  bench.engine.know(graph);
  for (const id of ['a', 'b', 'c']) await start(bench, graph, id);
  const { engine, worker } = workerOf(bench, graph);
  await settled();
  expect(began).toEqual([]);
  bench.clock.timeMs += 6_000;
  end('c');
  await worker.look();
  await expect.poll(async () => (await engine.inspect('c')).status).toBe('completed');
  expect(began).toEqual(['c']);
  for (const id of ['a', 'b']) expect((await engine.inspect(id)).status).toBe('cancelled');
  await worker.stop();
});

test('FL9 a run that cancels the running one begins when that has ended, what follows its cancel included', async () => {
  const bench = createBench();
  const order: string[] = [];
  const nodes = [
    node('work', 'read', async (ctx) => {
      order.push(`begin ${ctx.runId}`);
      if (ctx.runId === 'a') await new Promise((_, reject) => ctx.signal.addEventListener('abort', reject));
    }),
    node('undo', 'external', (ctx) => void order.push(`undo ${ctx.runId}`)),
  ];
  const limit = limitOf({ concurrency: 1, onFull: 'cancel-running' });
  const graph = graphOf('newest', nodes, edges('> work', 'work >'), { policies: { limit, onCancel: 'undo' } });
  const { engine, worker } = workerOf(bench, graph);
  await start(bench, graph, 'a');
  await expect.poll(() => order).toEqual(['begin a']);
  await engine.start(graph, {}, { runId: 'b', detach: true });
  await expect.poll(async () => (await engine.inspect('b')).status).toBe('completed');
  expect(order).toEqual(['begin a', 'undo a', 'begin b']);
  expect((await engine.inspect('a')).status).toBe('cancelled');
  await worker.stop();
});

/** A store that counts the calls of its methods, those of its limits by `limits.NAME`. */
function counting(store: Store): { store: Store; calls: string[] } {
  const calls: string[] = [];
  const counted = <Part extends object>(part: Part, prefix: string): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (name === 'limits' && typeof member === 'object' && member !== null) return counted(member, 'limits.');
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          calls.push(prefix + String(name));
          return (member as (...given: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  return { store: counted(store, ''), calls };
}

test('FL6 a run without limits asks nothing of the store for them; one with a limit reads and writes its record at take-up and end', async () => {
  const plain = createBench();
  const { store, calls } = counting(plain.store);
  const bench = { ...plain, store, options: { ...plain.options, store } };
  const engine = createEngine(bench.options);
  const free = gated(undefined);
  const { end } = free;
  end('a');
  await (await engine.start(free.graph, {}, { runId: 'a' })).result();
  expect(calls.filter((call) => call.startsWith('limits.'))).toEqual([]);
  const limited = gated(limitOf({ concurrency: 1 }));
  for (const id of ['b', 'c']) {
    limited.end(id);
    calls.length = 0;
    await (await engine.start(limited.graph, {}, { runId: id })).result();
  }
  expect(calls.filter((call) => call.startsWith('limits.'))).toEqual(['limits.write', 'limits.write']);
});
