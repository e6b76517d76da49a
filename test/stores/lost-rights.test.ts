/**
 * A server that takes rights away from its workers for longer than a lease, bars their logins, is full, or can only be read for a while: their
 * runs go on when that is over, nothing is repeated, and nobody is asked (O2.8).
 */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/app/process/system-clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openRedisStore } from '../../src/stores/redis/index.ts';
import { until } from '../support/awaited.ts';
import { startFleet } from '../support/fleet.ts';
import { openOn, preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';
import { scale } from '../support/scale.ts';

interface Server {
  readonly empty: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** Opens a store for whoever starts the runs, or for a worker. */
  readonly open: (isWorker: boolean) => Store;
  readonly bar: (kind: string) => Promise<void>;
  readonly admit: (kind: string) => Promise<void>;
}

const role = 'rights_role';
const endSessions = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`;
const readOnly = (how: string): string =>
  `do $$ begin execute format('alter database %I ${how}', current_database()); end $$`;

/** What is taken away, and given back. */
type Kinds = Readonly<Record<string, readonly [bar: readonly string[], admit: readonly string[]]>>;

const postgresKinds: Kinds = {
  'rights on the tables are taken away': [[`revoke all on all tables in schema cairn from ${role}`], []],
  'logins are barred': [[`alter role ${role} nologin`, endSessions], [`alter role ${role} login`]],
  'the database can only be read': [
    [readOnly('set default_transaction_read_only = on'), endSessions],
    [readOnly('reset default_transaction_read_only'), endSessions],
  ],
};

async function preparedPostgres(): Promise<Server | string> {
  const server = await preparePostgres();
  if (typeof server === 'string') return server;
  const admin = openOn(server);
  await server.run(`create role ${role} login password 'w'`);
  await admin.grant(role, 'app');
  const url = new URL(server.url);
  [url.username, url.password] = [role, 'w'];
  const run = async (texts: readonly string[] = []): Promise<void> => {
    for (const text of texts) await server.run(text);
  };
  return {
    empty: server.empty,
    stop: async () => {
      await admin.close();
      await server.run(`drop owned by ${role}; drop role ${role}`);
      await server.stop();
    },
    open: (isWorker) => openPostgresStore({ url: isWorker ? url.href : server.url }),
    bar: (kind) => run(postgresKinds[kind]?.[0]),
    admit: async (kind) => {
      await run(postgresKinds[kind]?.[1]);
      await admin.grant(role, 'app');
    },
  };
}

const redisKinds: Kinds = {
  'its rights to write are taken away': [['ACL SETUSER default -@write'], ['ACL SETUSER default +@all']],
  'it is full': [['CONFIG SET maxmemory 1'], ['CONFIG SET maxmemory 0']],
  'it is a replica of a server that is gone': [['REPLICAOF 127.0.0.1 1'], ['REPLICAOF NO ONE']],
};

async function preparedRedis(): Promise<Server | string> {
  const server = await startRedis();
  if (typeof server === 'string') return server;
  const run = async (commands: readonly string[] = []): Promise<void> => {
    for (const command of commands) await server.run(...command.split(' '));
  };
  return {
    empty: server.empty,
    stop: server.stop,
    open: () => openRedisStore({ url: server.url }),
    bar: (kind) => run(redisKinds[kind]?.[0]),
    admit: (kind) => run(redisKinds[kind]?.[1]),
  };
}

const found: readonly (readonly [name: string, server: Server | string, kinds: readonly string[]])[] = [
  ['Postgres', await preparedPostgres(), Object.keys(postgresKinds)],
  ['Redis', await preparedRedis(), Object.keys(redisKinds)],
];
for (const [name, server] of found)
  if (typeof server === 'string') console.warn(`Lost rights on ${name} were not tested: ${server}`);
const servers = found.flatMap(([name, server, kinds]) =>
  typeof server === 'string' ? [] : [[name, server, kinds] as const],
);

describe.each(servers)('%s', (name, server, kinds) => {
  afterAll(server.stop);
  beforeEach(server.empty);

  test.each(kinds)(
    `O2.8 workers go on with their runs after a time in which %s`,
    { timeout: 120_000 },
    async (kind) => {
      const leaseMs = scale(600, 5_000);
      const stores: Store[] = [];
      const fleet = await startFleet({
        workers: 2,
        runs: 4,
        effects: 8,
        effectMs: () => 0.1 * leaseMs,
        leaseMs,
        clock: systemClock,
        openStore: () => {
          const store = server.open(stores.length > 0);
          stores.push(store);
          return store;
        },
      });
      try {
        const ended = async (): Promise<number> =>
          [...(await fleet.progress()).values()].reduce((sum, one) => sum + one.ended, 0);
        await until('effects are made', async () => (await ended()) > 4, 20);
        await server.bar(kind);
        await new Promise((resolve) => setTimeout(resolve, 3 * leaseMs));
        await server.admit(kind);
        await until('all runs have ended', async () => (await fleet.report()).completed === fleet.runs, 200);
        expect([name, await fleet.report()]).toEqual([name, { completed: 4, doubts: 0, once: 32 }]);
      } finally {
        await server.admit(kind);
        await fleet.close();
        for (const store of stores) await store.close();
      }
    },
  );
});
