/** Rolling deploys: workers with old and new code over one store, each run advanced by code that can. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, testIds, type Bench } from '../../test/engine-kit.ts';
import type { Graph } from '../graph/graph.ts';
import { CodeWaits, listWorkers } from '../history/read/list-workers.ts';
import type { RunRow, Store } from '../ports/store.ts';
import type { Engine } from './api.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { createVirtualClock } from '../ports/virtual-clock.ts';
import { createEngine } from './engine.ts';
import { createEngineWorker, type Worker } from './worker.ts';

const leaseMs = 10_000;

/** A run that waits for a signal in the first node, and goes on with others. */
const version = (...others: readonly string[]): Graph => {
  const ids = ['wait', ...others];
  return graphOf(
    'flow',
    ids.map((id) => (id === 'wait' ? node(id, 'human', (ctx) => ctx.receive('go')) : node(id, 'write', () => id))),
    edges(`> wait`, ...ids.map((id, at) => `${id} > ${ids[at + 1] ?? ''}`)),
  );
};

interface Deployed {
  readonly worker: Worker;
  readonly engine: Engine;
  /** Ids of the runs that it claimed, each time. */
  readonly claimed: string[];
  readonly faults: string[];
}

/** A worker that looks when it is told to. */
function deploy(bench: Bench, name: string, graph: Graph): Deployed {
  const [claimed, faults]: [string[], string[]] = [[], []];
  const store: Store = {
    ...bench.store,
    claimNext: async (request) => {
      const granted = await bench.store.claimNext(request);
      claimed.push(...granted.map(({ run }) => run.runId));
      return granted;
    },
  };
  const engine = createEngine({ ...bench.options, store, leaseMs, ids: testIds(name) });
  engine.know(graph);
  const worker = createEngineWorker({
    engine,
    graphs: [graph.id],
    clock: { ...bench.clock, setTimer: () => () => {} },
    onError: (_, error) => faults.push((error as { code: string }).code),
  });
  return { worker, engine, claimed, faults };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 60; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

async function rowOf({ store }: Bench, runId: string): Promise<RunRow> {
  return (await store.readRun({ tenant: 'default', runId })) as RunRow;
}

const place = (bench: Bench) => ({
  store: bench.store,
  tenant: 'default',
  isWorkerDead: () => undefined,
  now: bench.clock.now,
});

test('W5 in a rolling deploy no worker claims what another has the code for, and then each refuses once', async () => {
  const bench = createBench({ leaseMs });
  const [before, fits, breaks] = [
    version('pay'),
    version('pay', 'thank'),
    graphOf('flow', [node('x', 'write', () => 1)], edges('> x', 'x >')),
  ];
  const old = deploy(bench, 'old', before);
  await old.engine.start(before, {}, { runId: 'r', detach: true });
  await turns();
  await old.worker.look();
  await turns();
  expect([old.claimed, (await rowOf(bench, 'r')).status]).toEqual([['r'], 'paused']);

  const broken = deploy(bench, 'broken', breaks);
  await turns();
  await bench.engine.signal('r', 'go', 1, { stays: true });
  await broken.worker.look();
  expect([broken.claimed, await new CodeWaits(place(bench)).of(await rowOf(bench, 'r'))]).toEqual([[], undefined]);

  // The old worker stops before it has looked; what is left has code that does not fit, and refuses it once.
  await old.worker.stop();
  const stoppedAt = bench.clock.now();
  for (let look = 0; look < 5; look += 1) {
    await broken.worker.look();
    await turns();
    bench.clock.timeMs += 60_000;
    await broken.engine.tellAlive({ startedAt: 0, concurrency: 1, runs: [], only: ['flow'] });
  }
  expect([broken.claimed, broken.faults]).toEqual([['r'], ['RUN_GRAPH_CHANGED']]);
  const { refusals } = await rowOf(bench, 'r');
  expect(refusals?.map(({ by }) => by)).toEqual([breaks.hash]);
  expect(await new CodeWaits(place(bench)).of(await rowOf(bench, 'r'))).toEqual({
    graphHash: before.hash,
    since: stoppedAt,
  });

  // A change that fits goes on without a hand.
  const next = deploy(bench, 'next', fits);
  await turns();
  await next.worker.look();
  await turns();
  expect([next.claimed, next.faults, (await rowOf(bench, 'r')).status]).toEqual([['r'], [], 'completed']);
  for (const { worker } of [broken, next]) await worker.stop();
});

test('W5 after a roll back the old code takes up what the new one refused', async () => {
  const bench = createBench({ leaseMs });
  const [before, breaks] = [version('pay'), graphOf('flow', [node('x', 'write', () => 1)], edges('> x', 'x >'))];
  await bench.engine.start(before, {}, { runId: 'r', detach: true });
  const wrong = deploy(bench, 'wrong', breaks);
  await turns();
  expect([wrong.claimed, wrong.faults]).toEqual([['r'], ['RUN_GRAPH_CHANGED']]);
  await wrong.worker.stop();
  const back = deploy(bench, 'back', before);
  await turns();
  expect([back.claimed, back.faults, (await rowOf(bench, 'r')).status]).toEqual([['r'], [], 'paused']);
  const workers = await listWorkers(place(bench));
  expect(
    workers.map(({ workerId, isAlive, isStopping, graphs }) => [workerId, isAlive, isStopping === true, graphs]),
  ).toEqual([
    ['back', true, false, { flow: before.hash }],
    ['wrong', false, true, {}],
  ]);
  await back.worker.stop();
});

test('O2 the claims of a hundred held runs are renewed in one call for each third of a lease', async () => {
  const clock = createVirtualClock();
  const memory = createMemoryStore({ now: clock.now });
  let renewals = 0;
  const store: Store = {
    ...memory,
    renewClaims: (claims) => {
      renewals += 1;
      expect(claims).toHaveLength(100);
      return memory.renewClaims(claims);
    },
  };
  const bench = createBench({ store, clock, leaseMs });
  const gate = Promise.withResolvers<void>();
  const graph = graphOf('g', [node('long', 'read', () => gate.promise)], edges('> long', 'long >'));
  const handles = [];
  for (let at = 0; at < 100; at += 1) handles.push(await bench.engine.start(graph, {}, { runId: `r${at}` }));
  // A third of a lease is a whole number of milliseconds.
  await clock.advance(3 * leaseMs + 10);
  expect(renewals).toBe(9);
  gate.resolve();
  await clock.runUntilIdle();
  for (const handle of handles) expect((await handle.result()).status).toBe('completed');
});
