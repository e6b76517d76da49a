import { describe, expect, test, vi } from 'vitest';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import { createEngine } from './engine.ts';
import { createEngineWorker, type Worker } from './worker.ts';
import { within } from '../../test/support/awaited.ts';
import { createBench, edges, graphOf, node, runToRest, testIds, type Bench } from '../../test/engine-kit.ts';

test('W5 a worker takes up answered and due runs of other processes', async () => {
  const bench = createBench();
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node('nap', 'read', async (ctx) => ctx.sleepUntil(1_700_000_000_000 + 60_000)),
    ],
    edges('> ask', 'ask > nap', 'nap >'),
  );
  const paused = await runToRest(bench.engine, graph);
  const engine = createEngine({ ...bench.options, ids: testIds('worker-2'), findGraph: () => graph });
  const faults: unknown[] = [];
  const worker = createEngineWorker({
    engine,
    clock: { ...bench.clock, setTimer: () => () => {} },
    onError: (_, error) => faults.push(error),
  });
  expect(await worker.look()).toBe(0);
  await bench.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  expect(await worker.look()).toBe(1);
  await expect.poll(async () => (await engine.inspect(paused.runId)).status).toBe('paused');
  bench.clock.timeMs += 61_000;
  const late = createEngineWorker({
    engine,
    clock: { ...bench.clock, now: () => bench.clock.timeMs, setTimer: () => () => {} },
  });
  await late.look();
  await expect.poll(async () => (await engine.inspect(paused.runId)).status).toBe('completed');
  await worker.stop();
  await late.stop();
  expect(faults).toEqual([]);
});

describe('W5 runs that cannot be advanced here', () => {
  const known = graphOf('known', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const unknown = graphOf('unknown', [node('a', 'pure', () => 1)], edges('> a', 'a >'));

  /** A worker that looks when it is told to, after its first look. */
  async function workerFor(
    bench: Bench,
    concurrency: number,
  ): Promise<{ readonly worker: Worker; readonly faults: string[] }> {
    const findGraph = (id: string): Graph | undefined => (id === 'known' ? known : undefined);
    const engine = createEngine({ ...bench.options, ids: testIds('worker-2'), findGraph });
    const faults: string[] = [];
    const clock = { ...bench.clock, setTimer: () => () => {} };
    const worker = createEngineWorker({
      engine,
      clock,
      concurrency,
      onError: (runId) => faults.push(runId),
    });
    for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return { worker, faults };
  }

  test('W5 keep no other run from being taken up, however many there are', async () => {
    const bench = createBench();
    await bench.engine.start(known, {}, { runId: 'a-known', detach: true });
    for (let index = 0; index < 130; index += 1)
      await bench.engine.start(unknown, {}, { runId: `b${index}`, detach: true });
    const { worker } = await workerFor(bench, 2);
    const statusOf = async (): Promise<string | undefined> =>
      (await bench.store.readRun({ tenant: 'default', runId: 'a-known' }))?.status;
    for (let looks = 0; looks < 80 && (await statusOf()) !== 'completed'; looks += 1) {
      await worker.look();
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await statusOf()).toBe('completed');
    await worker.stop();
  });

  test('W5 are tried again, less and less often', async () => {
    const bench = createBench();
    await bench.engine.start(unknown, {}, { runId: 'r', detach: true });
    const { worker, faults } = await workerFor(bench, 2);
    expect(faults).toHaveLength(1);
    const tries: number[] = [];
    for (let second = 1; second <= 60; second += 1) {
      bench.clock.timeMs += 1_000;
      if ((await worker.look()) > 0) tries.push(second);
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(tries).toEqual([2, 6, 14, 30]);
    await worker.stop();
  });
});

test('W5 a worker keeps its process, between two looks too, until it is stopped', async () => {
  const { engine, clock } = createBench();
  let isHeld = false;
  const stay = (): (() => void) => {
    isHeld = true;
    return () => (isHeld = false);
  };
  const worker = createEngineWorker({ engine, clock: { ...clock, setTimer: () => () => {}, stay } });
  await worker.look();
  expect(isHeld).toBe(true);
  await worker.stop();
  expect(isHeld).toBe(false);
});

test('W5 a worker takes up what is most urgent first, of its queue alone, and nothing before its time', async () => {
  const bench = createBench();
  const order: string[] = [];
  const graph = graphOf('g', [node('a', 'pure', (ctx) => order.push(ctx.runId))], edges('> a', 'a >'));
  const now = bench.clock.now();
  const schedules = {
    late: { queue: 'mail', dueAt: now + 60_000 },
    low: { queue: 'mail', priority: -1, dueAt: now - 9 },
    new: { queue: 'mail', dueAt: now - 1 },
    old: { queue: 'mail', dueAt: now - 5 },
    urgent: { queue: 'mail', priority: 5, dueAt: now },
    other: { dueAt: now - 100 },
  };
  for (const [runId, schedule] of Object.entries(schedules))
    await bench.engine.start(graph, {}, { runId, detach: true, schedule });
  const engine = createEngine({ ...bench.options, ids: testIds('worker-2'), findGraph: () => graph });
  const clock = { ...bench.clock, setTimer: () => () => {} };
  const worker = createEngineWorker({ engine, clock, queues: ['mail'], concurrency: 1 });
  const look = async (): Promise<void> => {
    for (let looks = 0; looks < 20; looks += 1) {
      await worker.look();
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await look();
  expect(order).toEqual(['urgent', 'old', 'new', 'low']);
  bench.clock.timeMs += 61_000;
  await look();
  expect(order).toEqual(['urgent', 'old', 'new', 'low', 'late']);
  await worker.stop();
});

test('O3.2 a worker looks again as soon as a place is free, in a store that tells nothing', async () => {
  const bench = createBench();
  const quiet = { ...bench.store };
  delete quiet.watch;
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const engine = createEngine({ ...bench.options, store: quiet, findGraph: () => graph });
  for (let index = 0; index < 12; index += 1) await engine.start(graph, {}, { runId: `r${index}`, detach: true });
  const rested: string[] = [];
  // Time stands still: what is done is done without another look of its own.
  const clock = { ...bench.clock, setTimer: () => () => {} };
  const onRested = ({ runId }: { readonly runId: string }): void => void rested.push(runId);
  const worker = createEngineWorker({ engine, clock, concurrency: 2, onRested });
  await expect.poll(() => rested.length).toBe(12);
  await worker.stop();
});

test.each([
  ['a wait', node('nap', 'read', (ctx) => napAgainAndAgain(ctx))],
  ['a retry', node('try', 'read', failAlways, { retry: { attempts: 1_000_000, delayMs: 1_000, factor: 1 } })],
])('W5 a worker that stops lets go of a run that is due every second: %s', async (_, looping) => {
  const graph = graphOf('loops', [looping], edges(`> ${looping.id}`, `${looping.id} >`));
  const { engine, store, clock } = createBench({ findGraph: () => graph });
  const { runId } = await engine.start(graph, {}, { detach: true });
  const worker = createEngineWorker({ engine, clock });
  await vi.waitUntil(() => worker.runs().length === 1);
  await clock.advance(3_000);
  await within('the worker stops', worker.stop());
  const row = await store.readRun({ tenant: 'default', runId });
  expect([row?.status, row?.claim]).toEqual(['paused', undefined]);
  // Whoever comes next goes on with it at its time.
  await clock.advance(1_000);
  const next = createEngineWorker({ engine, clock });
  await vi.waitUntil(() => next.runs().length === 1);
  await within('the next worker stops', next.stop());
});

async function napAgainAndAgain(ctx: NodeContext): Promise<never> {
  for (;;) await ctx.receive('never', { timeoutMs: 1_000, defaultValue: null });
}

function failAlways(): never {
  throw new Error('not yet');
}
