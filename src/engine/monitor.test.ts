/** What the log and the counters of an engine are told. */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, runToRest, testIds } from '../../test/engine-kit.ts';
import { recordLog, type LoggedEvent } from '../../test/support/recorded-log.ts';
import { within } from '../../test/support/awaited.ts';
import { listWorkers } from '../history/read/list-workers.ts';
import type { Metrics } from '../ports/metrics.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { createVirtualClock } from '../ports/virtual-clock.ts';
import { createEngine } from './engine.ts';
import { createMonitor } from './monitor.ts';
import { createEngineWorker } from './worker.ts';

function recordMetrics(): { readonly metrics: Metrics; readonly counts: Record<string, number> } {
  const counts: Record<string, number> = {};
  const metrics: Metrics = {
    count: (name, by, attributes) => {
      const key = [name, ...Object.values(attributes)].join(' ');
      counts[key] = (counts[key] ?? 0) + by;
    },
    measure: (name) => void (counts[name] = (counts[name] ?? 0) + 1),
  };
  return { metrics, counts };
}

const brief = (events: readonly LoggedEvent[]): readonly string[] =>
  events.map(({ level, event, run, msg }) => `${level} ${event} ${run}: ${msg}`);

test('E10.8 a run is logged when it is started, comes to rest and is taken up again, with its graph and the worker', async () => {
  const { log, events } = recordLog();
  const asks = graphOf('asks', [node('ask', 'human', (ctx) => ctx.receive('go'))], edges('> ask', 'ask >'));
  const { engine } = createBench({ log });
  await runToRest(engine, asks, {}, 'r');
  await engine.signal('r', 'go', 'a secret word');
  await engine.resume('r', { graph: asks }).then((handle) => handle.result());
  expect(brief(events)).toEqual([
    'info started r: started',
    'info paused r: paused',
    'info taken r: taken',
    'info completed r: completed',
  ]);
  for (const event of events) expect(event).toMatchObject({ graph: 'asks', worker: 'worker-1' });
  expect(JSON.stringify(events)).not.toContain('secret word');
});

test('E10.8 a failed run is logged with the innermost node that nothing handled, the error with its code, and secrets masked', async () => {
  const { log, events } = recordLog();
  const inner = graphOf(
    'inner',
    [
      node('charge', 'read', async (ctx) => {
        const key = await ctx.secrets.get('KEY');
        throw Object.assign(new RangeError(`card ${key} refused`), { code: 'E_CARD' });
      }),
    ],
    edges('> charge', 'charge >'),
  );
  const lost = node('lost', 'pure', () => {
    throw new Error('handled');
  });
  const outer = graphOf(
    'outer',
    [
      lost,
      node('order', 'read', async (ctx) => {
        const { status } = await ctx.run(inner, {});
        throw new Error(`the order ${status}`);
      }),
    ],
    [...edges('> lost', 'order >'), { from: 'lost', to: 'order', on: 'failed' }],
  );
  const { engine } = createBench({ log, secrets: { read: async () => 'planted-secret-value' } });
  await runToRest(engine, outer, {}, 'r');
  expect(events.at(-1)).toMatchObject({
    level: 'error',
    event: 'failed',
    run: 'r',
    graph: 'outer',
    node: 'order/run/charge',
    err: { type: 'RangeError', code: 'E_CARD', message: 'card [secret:KEY] refused' },
  });
  expect(JSON.stringify(events)).not.toContain('planted-secret-value');
});

test('E10.8 E10.9 a retry of a node or a step is logged with its delay, and counted; so are attempts by their outcome', async () => {
  const { log, events } = recordLog();
  const { metrics, counts } = recordMetrics();
  let tries = 0;
  const failTwice = (): string => {
    tries += 1;
    if (tries < 3) throw Object.assign(new Error('not yet'), { code: 'E_SOON' });
    return 'done';
  };
  const graph = graphOf(
    'g',
    [
      node('a', 'read', () => failTwice(), { retry: { attempts: 2, delayMs: 2_500 } }),
      node('b', 'read', (ctx) => ctx.step('s', { retry: { attempts: 2, delayMs: 10 } }, () => failTwice())),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const { engine } = createBench({ log, metrics });
  tries = 1;
  await runToRest(engine, graph, {}, 'r1');
  tries = 1;
  const second = graphOf(
    'g2',
    [node('b', 'read', (ctx) => ctx.step('s', { retry: { attempts: 2, delayMs: 10 } }, failTwice))],
    edges('> b', 'b >'),
  );
  await runToRest(engine, second, {}, 'r2');
  expect(events.filter(({ event }) => event === 'retrying')).toMatchObject([
    {
      level: 'warn',
      run: 'r1',
      node: 'a',
      attempt: 2,
      delayMs: 2_500,
      err: { code: 'E_SOON' },
      msg: 'a: not yet; attempt 2 in 2.5 s',
    },
    { level: 'warn', run: 'r2', node: 'b/s', attempt: 2, delayMs: 10, err: { message: 'not yet' } },
  ]);
  expect(counts).toMatchObject({
    'cairn.retries g': 1,
    'cairn.retries g2': 1,
    'cairn.attempts g retrying': 1,
    'cairn.attempts g completed': 2,
    'cairn.attempts g2 completed': 1,
    'cairn.runs.ended g completed': 1,
    'cairn.claims g': 1,
  });
  expect(counts['cairn.checkpoints g']).toBeGreaterThan(1);
  expect(counts['cairn.checkpoint.bytes g']).toBeGreaterThan(100);
  expect(counts['cairn.checkpoint.save']).toBeGreaterThan(1);
});

test('E10.9 what attempts spend is counted by unit, once', async () => {
  const { metrics, counts } = recordMetrics();
  const spends = node('a', 'read', async (ctx) => {
    ctx.spend({ usd: 0.5 });
    await ctx.step('s', {}, (step) => step.spend({ usd: 0.25, output_tokens: 7 }));
    await ctx.receive('go');
  });
  const graph = graphOf('g', [spends], edges('> a', 'a >'));
  const { engine } = createBench({ metrics });
  await runToRest(engine, graph, {}, 'r');
  expect(counts).toMatchObject({ 'cairn.spent g usd': 0.75, 'cairn.spent g output_tokens': 7, 'cairn.waits g': 1 });
});

test('E10.8 E10.9 a run that another worker has taken over, or whose engine closes, is logged as such, and takeovers are counted', async () => {
  const { log, events } = recordLog();
  const { metrics, counts } = recordMetrics();
  const held = Promise.withResolvers<void>();
  const graph = graphOf('g', [node('long', 'read', () => held.promise)], edges('> long', 'long >'));
  const clock = createVirtualClock({ isAutomatic: false });
  const bench = createBench({
    log,
    metrics,
    clock,
    leaseMs: 3_000,
    store: createMemoryStore({ now: clock.now }),
    findGraph: () => graph,
  });
  const first = await bench.engine.start(graph, {}, { runId: 'r' });
  await clock.advance(10);
  const second = afterCrash(bench);
  await second.resume('r');
  await clock.advance(3_000);
  await expect(first.result()).rejects.toMatchObject({ code: 'CLAIM_LOST' });
  await second.close();
  expect(events.map(({ level, event, worker }) => `${level} ${event} ${worker}`)).toEqual([
    'info started worker-1',
    'warn taken worker-2',
    'warn lease-lost worker-1',
    'info handed-back worker-2',
  ]);
  await bench.engine.tellAlive({ startedAt: 0, concurrency: 1, runs: [] });
  expect(await listWorkers({ store: bench.store, tenant: 'default', isWorkerDead: () => false })).toMatchObject([
    { workerId: 'worker-1', lostLeases: 1 },
  ]);
  expect(events[1]).toMatchObject({ takeover: true, deaths: 1 });
  expect(counts).toMatchObject({ 'cairn.takeovers g': 1, 'cairn.leases.lost g': 1, 'cairn.claims g': 2 });
  held.resolve();
});

test('E10.8 a worker logs what it cannot advance, and a store that cannot be asked', async () => {
  const { log, events } = recordLog();
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const bench = createBench({ log, findGraph: () => undefined });
  await createBench({ store: bench.store, ids: testIds('other') }).engine.start(
    graph,
    {},
    { runId: 'r', detach: true },
  );
  const worker = createEngineWorker({ engine: bench.engine });
  await within('it has looked', worker.look());
  await worker.stop();
  expect(events).toMatchObject([
    {
      level: 'error',
      event: 'stopped',
      run: 'r',
      graph: 'g',
      err: { code: 'CONFIG_INVALID', hint: expect.stringContaining('cairn resume r --file MODULE') as string },
    },
  ]);
  await bench.store.close();
  const away = createEngineWorker({ engine: createEngine({ ...bench.options }) });
  await expect(away.look()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  await away.stop();
  expect(events.at(-1)).toMatchObject({ level: 'error', event: 'look-failed', err: { code: 'STORE_CLOSED' } });
});

test('E10.8 a slow commit is logged, at most one in ten seconds', () => {
  const { log, events } = recordLog();
  let now = 0;
  const clock = { ...createVirtualClock(), monotonic: () => now };
  const monitor = createMonitor({ log, metrics: undefined, telemetry: undefined, clock, workerId: 'w' });
  const about = { runId: 'r', graphId: 'g' };
  for (const [at, tookMs] of [
    [0, 900],
    [1_000, 1_500],
    [5_000, 9_000],
    [12_000, 2_000],
  ] as const) {
    now = at;
    monitor?.saved(about, tookMs);
  }
  expect(events).toMatchObject([
    { level: 'warn', event: 'slow-commit', tookMs: 1_500, msg: 'the store took 1.5 s for a commit' },
    { tookMs: 2_000 },
  ]);
});

test('E10.3 a log and counters that throw change nothing; without any, there is no monitor', async () => {
  const refuse = (): never => {
    throw new Error('full');
  };
  const log = { debug: refuse, info: refuse, warn: refuse, error: refuse };
  const { engine } = createBench({ log, metrics: { count: refuse, measure: refuse } });
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  expect(await runToRest(engine, graph)).toMatchObject({ status: 'completed' });
  expect(createBench().engine.ports.monitor).toBeUndefined();
});
