/** The clock of the host is set in the middle of runs, by an hour in either direction, on each store whose processes share that clock. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Engine } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { createEngineWorker } from '../../src/engine/worker.ts';
import type { NodeContext, Reconciliation } from '../../src/graph/contracts/node-contract.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { examinePlace } from '../../src/history/verify/examine-place.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { openFileStore } from '../../src/stores/file/index.ts';
import { HostClock } from '../../src/stores/host-clock.ts';
import { MemoryTables } from '../../src/stores/run-tables.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createTablesStore } from '../../src/stores/tables-store.ts';
import { createVirtualClock, type VirtualClock, type VirtualProcess } from '../../src/ports/virtual-clock.ts';
import { edges, graphOf, node, testIds } from '../engine-kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-set-clock-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hourMs = 3_600_000;
const leaseMs = 2_000;
let places = 0;

type Open = (wall: () => number, monotonic: () => number) => Store;

const stores: Readonly<Record<string, Open>> = {
  memory: (wall, monotonic) => {
    const tables = new MemoryTables(new HostClock(wall, monotonic), 'memory:', '');
    return createTablesStore(tables, { durability: 'none', isShared: false });
  },
  sqlite: (now) => openSqliteStore({ path: join(folder, `${(places += 1)}.db`), now }),
  'file:': (now) => openFileStore({ path: join(folder, `${(places += 1)}`), now }),
};

/** A host whose clock can be set, and the workers on it. */
class Host {
  readonly virtual: VirtualClock = createVirtualClock();
  readonly store: Store;
  offsetMs = 0;
  #workers = 0;

  constructor(open: Open) {
    this.store = open(this.now, () => this.virtual.monotonic());
  }

  readonly now = (): number => this.virtual.timeMs + this.offsetMs;

  /** Starts a worker. */
  start(process: VirtualProcess, graph: Graph, dead: readonly string[] = []): Engine {
    const clock: Clock = { ...this.virtual.openProcess(process), now: this.now };
    const ids = testIds(`worker-${(this.#workers += 1)}`, dead);
    const blobs = createMemoryBlobs();
    const engine = createEngine({ store: this.store, blobs, clock, ids, leaseMs, findGraph: () => graph });
    createEngineWorker({ engine, clock, pollMs: 200, concurrency: 8 });
    return engine;
  }

  /** Lets time pass, by the monotonic clock. */
  async pass(ms: number): Promise<void> {
    await this.virtual.advance(ms);
  }
}

const sleepers = (host: Host): Graph =>
  graphOf(
    'g',
    [
      node('timer', 'read', async (ctx) => ctx.sleepUntil(ctx.now() + 6_000)),
      node('signal', 'read', async (ctx) => ctx.receive('go', { timeoutMs: 6_000, defaultValue: 'none' })),
      node(
        'retry',
        'read',
        (ctx) => {
          if (ctx.attempt < 3) throw new Error('again');
        },
        { retry: { attempts: 5, delayMs: 3_000, backoff: 'fixed' } },
      ),
      node('busy', 'read', async (ctx) => {
        for (let step = 0; step < 16; step += 1)
          await ctx.step(`step ${step}`, { effect: 'read' }, () => host.virtual.sleep(200));
      }),
    ],
    edges('> timer', '> signal', '> retry', '> busy', 'timer >', 'signal >', 'retry >', 'busy >'),
  );

/** What `doctor` says of the clock. */
async function clockFinding({ store, now }: Host): Promise<string | undefined> {
  const place = { store, blobs: createMemoryBlobs(), tenant: 'default', isWorkerDead: () => undefined, now };
  const findings = await examinePlace(place);
  return findings.find(({ name }) => name === 'clock')?.detail;
}

describe.each(Object.entries(stores))('on %s', (_, open) => {
  test.each([
    ['back', -hourMs],
    ['forward', hourMs],
  ])(
    'O2.7 set %s when a worker has died, no run waits longer than its lease and twice its times',
    async (_way, byMs) => {
      const host = new Host(open);
      const graph = sleepers(host);
      const first = { isDead: false };
      const engine = host.start(first, graph);
      const runIds = ['a', 'b'];
      for (const runId of runIds) await engine.start(graph, {}, { runId, detach: true });
      await host.pass(1_500);
      first.isDead = true;
      host.offsetMs += byMs;
      // Its death is not known, as of a process in another container.
      const other = host.start({ isDead: false }, graph);
      await other.start(graph, {}, { runId: 'new', detach: true });
      await host.pass(16_000);
      const statusOf = async (runId: string) => (await other.inspect(runId)).status;
      expect(await Promise.all([...runIds, 'new'].map(statusOf))).toEqual(Array.from({ length: 3 }, () => 'completed'));
    },
  );

  test.each([
    ['back', -hourMs],
    ['forward', hourMs],
  ])('O2.7 set %s while nobody works, runs that were not begun are taken up', async (_way, byMs) => {
    const host = new Host(open);
    const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
    const process = { isDead: false };
    const engine = createEngine({ store: host.store, blobs: createMemoryBlobs(), clock: host.virtual, ids: testIds() });
    await engine.start(graph, {}, { runId: 'queued', detach: true });
    host.offsetMs += byMs;
    const worker = host.start(process, graph);
    await host.pass(1_000);
    expect((await worker.inspect('queued')).status).toBe('completed');
  });

  test('O2.7 W5 a timer is not due early when the clock is set back, and at most its own length late', async () => {
    const host = new Host(open);
    const woken: number[] = [];
    const graph = graphOf(
      'g',
      [
        node('nap', 'read', async (ctx) => {
          await ctx.sleepUntil(1_700_000_000_000 + 60_000);
          woken.push(host.virtual.timeMs - 1_700_000_000_000);
        }),
      ],
      edges('> nap', 'nap >'),
    );
    const engine = host.start({ isDead: false }, graph);
    await engine.start(graph, {}, { runId: 'a', detach: true });
    await host.pass(6_000);
    expect(await clockFinding(host)).toBeUndefined();
    host.offsetMs = -hourMs;
    expect(await clockFinding(host)).toMatch(
      /^it was set back by at least 3[56]\d\d s: the newest entry was written at 2023-/,
    );
    await host.pass(114_000);
    expect(woken).toEqual([expect.any(Number)]);
    expect(woken[0]).toBeGreaterThanOrEqual(60_000);
  });
});

// Leases of 2 s are renewed every 667 ms, so these moments come at all distances from a renewal.
const momentsMs = [300, 450, 600, 750];

test.each(momentsMs.flatMap((atMs) => [[atMs, hourMs] as const, [atMs, -hourMs] as const]))(
  'O2.7 P2 set after %i ms by %i ms while workers live, their runs stay theirs and no effect is repeated',
  async (atMs, byMs) => {
    const host = new Host(stores['memory'] as Open);
    const [begun, done]: [string[], string[]] = [[], []];
    const run = async ({ runId }: NodeContext): Promise<void> => {
      begun.push(runId);
      await host.virtual.sleep(3_000);
      done.push(runId);
    };
    // The world is asked about an effect in doubt, and one that is under way has not happened yet.
    const reconcile = (): Reconciliation => ({ happened: false });
    const graph = graphOf(
      'g',
      [node('pay', 'external', run, { timeoutMs: 5_000, implementation: { run, reconcile } })],
      edges('> pay', 'pay >'),
    );
    const engine = host.start({ isDead: false }, graph);
    const runIds = ['a', 'b', 'c'];
    for (const runId of runIds) await engine.start(graph, {}, { runId, detach: true });
    await host.pass(250);
    host.start({ isDead: false }, graph);
    await host.pass(atMs);
    host.offsetMs += byMs;
    await host.pass(10_000);
    expect([begun.sort(), done.sort()]).toEqual([runIds, runIds]);
  },
);
