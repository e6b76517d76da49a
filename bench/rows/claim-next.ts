/** What it costs a worker to find its next runs among many others, of its own graph and of older ones that it does not serve. */
import type { Admission, Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { join } from 'node:path';
import type { Group, Sample } from '../group.ts';
import { median } from '../median.ts';
import { startServer, type MeasuredServer } from '../postgres.ts';

const [few, many] = [1_000, 300_000];
const claimed = 16;
const tries = 15;
/** Admissions that are under way at once while a store is filled. */
const atOnce = 2_000;
const [wanted, other] = ['wanted', 'other'];

const nameOf = (store: string, others: string): string => `${store}: claimNext(16) among 300,000 ${others}`;
const rowsOf = (store: string): Group['rows'] =>
  ['of its graph', 'older ones of another'].map((others) => ({
    name: nameOf(store, others),
    against: 'among 1,000',
    target: 2,
  }));

/** The stores of a kind: with few runs, with many, and with few behind many of another graph. */
interface Filled {
  readonly few: Store;
  readonly many: Store;
  readonly behind: Store;
}

export const claimNext: Group = {
  rows: [...rowsOf('Postgres'), ...rowsOf('SQLite')],
  warmUps: 1,
  prepare: async (folder) => {
    const server = await startServer();
    const postgres: Filled = {
      few: await fillPostgres(server, 'few', [[wanted, few]]),
      many: await fillPostgres(server, 'many', [[wanted, many]]),
      behind: await fillPostgres(server, 'behind', [
        [other, many],
        [wanted, few],
      ]),
    };
    const sqlite: Filled = {
      few: await fillSqlite(folder, 'few', [[wanted, few]]),
      many: await fillSqlite(folder, 'many', [[wanted, many]]),
      behind: await fillSqlite(folder, 'behind', [
        [other, many],
        [wanted, few],
      ]),
    };
    return {
      repeat: async () => ({
        ...(await measure('Postgres', postgres)),
        ...(await measure('SQLite', sqlite)),
      }),
      close: async () => {
        for (const { few: a, many: b, behind: c } of [postgres, sqlite])
          await Promise.all([a.close(), b.close(), c.close()]);
        await server.stop();
      },
    };
  },
};

async function measure(kind: string, stores: Filled): Promise<Readonly<Record<string, Sample>>> {
  const times: Record<keyof Filled, number[]> = { few: [], many: [], behind: [] };
  for (let done = 0; done < tries; done += 1)
    for (const name of ['few', 'many', 'behind'] as const) times[name].push(await timeClaim(stores[name]));
  const floor = median(times.few);
  return {
    [nameOf(kind, 'of its graph')]: { ours: median(times.many), floor, unit: 'ms' },
    [nameOf(kind, 'older ones of another')]: { ours: median(times.behind), floor, unit: 'ms' },
  };
}

/** Milliseconds to claim runs, which are then released again. */
async function timeClaim(store: Store): Promise<number> {
  const startMs = performance.now();
  const granted = await store.claimNext({
    tenant: 't',
    workerId: 'w',
    leaseMs: 60_000,
    graphs: [wanted],
    limit: claimed,
  });
  const took = performance.now() - startMs;
  if (granted.length !== claimed) throw new Error(`${granted.length} runs were claimed`);
  for (const { claim } of granted) await store.releaseClaim(claim);
  return took;
}

type Parts = readonly (readonly [graphId: string, count: number])[];

const admissionOf = (graphId: string, no: number): Admission => ({
  tenant: 't',
  runId: `${graphId}-${no}`,
  key: `${graphId}${no}`,
  graphId,
  graphHash: 'h',
  status: 'running',
  meta: new Uint8Array(40),
  checkpoint: { seq: 0, at: 1, body: new Uint8Array(200), checksum: new Uint8Array(32) },
  waits: [],
  durability: 'process',
});

async function fillSqlite(folder: string, name: string, parts: Parts): Promise<Store> {
  const store = openSqliteStore({ path: join(folder, `${name}.db`), durability: 'normal' });
  for (const [graphId, count] of parts)
    for (let done = 0; done < count; done += atOnce)
      await Promise.all(
        Array.from({ length: Math.min(atOnce, count - done) }, (_, index) =>
          store.admitRun(admissionOf(graphId, done + index)),
        ),
      );
  return store;
}

async function fillPostgres(server: MeasuredServer, schema: string, parts: Parts): Promise<Store> {
  const { store } = server.open(schema);
  await store.readIdentity();
  for (const [graphId, count] of parts)
    await server.pool.query(
      `insert into ${schema}.runs (tenant, run_id, key, graph_id, graph_hash, status, head, created_at, updated_at, queue, priority, due, meta)
      select 't', $1 || '-' || n, $1 || n, $1, 'h', 0, 0, 1, 1, 'default', 0, 1, '' from generate_series(1, $2::int) n`,
      [graphId, count],
    );
  await server.pool.query(`vacuum analyze ${schema}.runs`);
  return store;
}
