/** What the other stores cost beside SQLite: the same runs, the same promises where the store makes them. */
import { join } from 'node:path';
import { openFileStore } from '../../src/stores/file/index.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openRedisStore } from '../../src/stores/redis/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { startRedis } from '../../test/support/redis.ts';
import { createStore } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import { NotMeasured, type Group, type Sample } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 100;
const runs = 20;
const workloads = [
  { name: '100 pure nodes one after another, per node', effectClass: 'pure', count: 1 },
  { name: '100 write nodes one after another, per node', effectClass: 'write', count: 1 },
  { name: '20 runs x 100 pure nodes at once, per node', effectClass: 'pure', count: runs },
] as const;
const stores = ['file', 'redis', 'postgres'] as const;
const rowOf = (store: string, workload: string): string => `${store}: ${workload}`;

/** Files, journals and the log of Redis, which syncs each write, are on the same disk; Postgres syncs nothing here. */
export const storesBesideSqlite: Group = {
  rows: stores.flatMap((store) => workloads.map(({ name }) => ({ name: rowOf(store, name), against: 'sqlite:' }))),
  warmUps: 1,
  prepare: async (folder) => {
    const [redis, postgres] = [await startRedis('--dir', folder), await startPostgres()];
    if (typeof redis === 'string') throw new NotMeasured(redis);
    if (typeof postgres === 'string') throw new NotMeasured(postgres);
    let opened = 0;
    const open: Readonly<Record<(typeof stores)[number], () => Store>> = {
      file: () => openFileStore({ path: join(folder, `journals-${(opened += 1)}`) }),
      redis: () => openRedisStore({ url: redis.url }),
      postgres: () => openPostgresStore({ url: postgres.url }),
    };
    const graphs = workloads.map((workload) => ({
      ...workload,
      graph: chainGraph(makeList(count, outputOfKib), workload.effectClass),
    }));
    const timeOn = async (store: Store, { graph, count: at }: (typeof graphs)[number]): Promise<number> => {
      // Connected, with its tables: neither is what a node costs.
      await store.readIdentity();
      const tookMs = await timeRuns(graph, store, at);
      await store.close();
      return (tookMs / (count * at)) * 1000;
    };
    return {
      repeat: async () => {
        const samples: Record<string, Sample> = {};
        for (const workload of graphs)
          for (const store of stores) {
            const floor = await timeOn(createStore(folder, 'normal', { durability: 'default' }), workload);
            samples[rowOf(store, workload.name)] = { ours: await timeOn(open[store](), workload), floor, unit: 'us' };
          }
        return samples;
      },
      close: async () => void (await Promise.all([redis.stop(), postgres.stop()])),
    };
  },
};
