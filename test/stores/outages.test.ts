/**
 * Postgres and Redis that nobody reaches for longer than a lease, under workers that all live: their runs go on soon after the return, and
 * not when the deadlines of the effects that were announced before are over, which is ten minutes later (O2.8).
 */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/app/process/system-clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openRedisStore } from '../../src/stores/redis/index.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { until } from '../support/awaited.ts';
import { CuttingProxy } from '../support/cutting-proxy.ts';
import { startFleet } from '../support/fleet.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';
import { isProving, scale } from '../support/scale.ts';

interface Server {
  readonly url: string;
  readonly empty: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

const servers: Readonly<Record<string, { start: () => Promise<Server | string>; open: (url: string) => Store }>> = {
  Postgres: { start: () => preparePostgres(), open: (url) => openPostgresStore({ url }) },
  Redis: { start: () => startRedis(), open: (url) => openRedisStore({ url }) },
};

/** In leases, with the number of workers. */
const outages: readonly (readonly [leases: number, workers: number])[] = isProving
  ? [0.5, 1, 1.5, 2, 4, 10].flatMap((leases) => [2, 3, 5].map((workers) => [leases, workers] as const))
  : [[2, 3]];

describe.each(Object.entries(servers))('%s', (name, { start, open }) => {
  test(
    'O2.8 O3.2 workers that lose the server for longer than a lease go on with their runs, and nobody is asked',
    { timeout: scale(60_000, 60 * 60_000) },
    async ({ skip }) => {
      const server = await start();
      if (typeof server === 'string') {
        skip(server);
        return;
      }
      const { hostname, port } = new URL(server.url);
      const proxy = await CuttingProxy.before(Number(port));
      const url = server.url.replace(`${hostname}:${port}`, `127.0.0.1:${proxy.port}`);
      // The default in `npm run prove`.
      const leaseMs = scale(600, 10_000);
      const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
      try {
        for (const [leases, workers] of outages) {
          const random = createSeededRandom(leases * 100 + workers);
          await server.empty();
          const stores: Store[] = [];
          const openStore = (): Store => {
            const store = open(stores.length === 0 ? server.url : url);
            stores.push(store);
            return store;
          };
          const fleet = await startFleet({
            workers,
            runs: 6,
            effects: scale(12, 30),
            effectMs: () => (0.02 + 0.2 * random.next()) * leaseMs,
            leaseMs,
            clock: systemClock,
            openStore,
          });
          const moved = async (): Promise<number> =>
            [...(await fleet.progress()).values()].reduce((sum, { ended }) => sum + ended, 0);
          await until('effects are made', async () => (await moved()) > 6, 20);
          proxy.bar();
          await sleep(leases * leaseMs);
          const before = await fleet.progress();
          proxy.admit();
          const returnedAt = performance.now();
          await until(
            'all runs have moved',
            async () => {
              const now = await fleet.progress();
              return [...before].every(([runId, { ended, isOver }]) => isOver || (now.get(runId)?.ended ?? 0) > ended);
            },
            50,
          );
          const tookMs = performance.now() - returnedAt;
          const timesUp = isProving ? 2 * leaseMs : Infinity;
          if (isProving)
            console.log(`${name}: ${workers} workers, away for ${leases} leases: moved ${Math.round(tookMs)} ms after`);
          expect(tookMs).toBeLessThan(timesUp);
          await until(
            'all runs have ended',
            async () => (await fleet.report()).completed === fleet.runs,
            scale(50, 500),
          );
          expect(await fleet.report()).toEqual({ completed: 6, doubts: 0, once: 6 * scale(12, 30) });
          await fleet.close();
          for (const store of stores) await store.close();
        }
      } finally {
        await proxy.close();
        await server.stop();
      }
    },
  );
});
