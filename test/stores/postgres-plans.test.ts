/** Each statement of the Postgres store walks an index, whatever is stored: asked of the server itself, over many runs. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openPostgresStore, type PgConnection, type PostgresPool } from '../../src/stores/postgres/index.ts';
import type { Claim, Store } from '../../src/ports/store.ts';
import { admission, commitOf, message, wait } from '../../src/testing/store-suite/examples.ts';
import { preparePostgres, type PostgresUnderTest } from '../support/postgres-store.ts';
import { scale } from '../support/scale.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 600_000 });

const found = await preparePostgres();
if (typeof found === 'string') console.warn(`Plans of Postgres were not tested: ${found}`);

/** How many runs there are. */
const count = scale(4_000, 100_000);
const tenant = 't';
const key = { tenant, runId: 'run-77' };
const claim: Claim = { ...key, workerId: 'w', token: 5, leaseMs: 60_000 };

/** Calls, and the indexes of which one must be walked by each. Tables that hold many rows are never read whole. */
const calls: Readonly<Record<string, readonly [call: (store: Store) => Promise<unknown>, ...indexes: string[]]>> = {
  readRun: [(store) => store.readRun(key), 'runs_by_id'],
  findRuns: [(store) => store.findRuns(tenant, 'run-77', 5), 'runs_by_id', 'runs_by_key'],
  // The server may pass over a few runs of others instead.
  listRuns: [(store) => store.listRuns({ tenant, limit: 20 }), 'runs_by_no', 'runs_pkey'],
  'listRuns after a cursor': [
    (store) => store.listRuns({ tenant, limit: 20, cursor: '500' }),
    'runs_by_no',
    'runs_pkey',
  ],
  'listRuns by status': [(store) => store.listRuns({ tenant, status: ['failed'], limit: 20 }), 'runs_by_status'],
  'listRuns by graph': [(store) => store.listRuns({ tenant, graphId: 'rare', limit: 20 }), 'runs_by_graph'],
  'listRuns by parent': [(store) => store.listRuns({ tenant, parentRunId: 'run-1' }), 'runs_by_parent'],
  'listRuns by label': [(store) => store.listRuns({ tenant, labels: { user: 'u7' }, limit: 20 }), 'labels_by_value'],
  'listRuns by time': [(store) => store.listRuns({ tenant, since: count - 5 }), 'runs_by_time', 'runs_by_no'],
  readCheckpoints: [(store) => store.readCheckpoints(key, { from: 0, to: 9, limit: 3 }), 'checkpoints_pkey'],
  'readCheckpoints of two runs': [
    (store) =>
      Promise.all(['run-77', 'run-78'].map((runId) => store.readCheckpoints({ tenant, runId }, { from: 0, to: 0 }))),
    'checkpoints_pkey',
    'runs_by_id',
  ],
  readSnapshot: [(store) => store.readSnapshot(key, 9), 'snapshots_pkey'],
  readMessages: [(store) => store.readMessages(key), 'messages_pkey'],
  hasMessage: [(store) => store.hasMessage(key, { kind: 'signal', name: 'x' }), 'messages_pkey'],
  listWaits: [(store) => store.listWaits({ tenant, limit: 20 }), 'waits_by_due'],
  'listWaits by kind': [(store) => store.listWaits({ tenant, kinds: ['doubt'], limit: 20 }), 'waits_by_kind'],
  'listWaits of a run': [(store) => store.listWaits({ tenant, runId: key.runId }), 'waits_pkey'],
  readTags: [(store) => store.readTags(key), 'tags_pkey'],
  // A fleet has few workers: they may be read whole.
  listWorkers: [(store) => store.listWorkers(tenant), 'workers'],
  readBacklog: [async (store) => store.readBacklog?.({ tenant }), 'runs_ready', 'runs_ready_by_graph'],
  claimRun: [(store) => store.claimRun({ ...key, workerId: 'w', leaseMs: 60_000 }), 'runs_by_id'],
  claimNext: [(store) => store.claimNext({ tenant, workerId: 'w', leaseMs: 60_000, limit: 4 }), 'runs_ready'],
  'claimNext of a graph': [
    (store) => store.claimNext({ tenant, workerId: 'w', leaseMs: 60_000, graphs: ['rare'], limit: 4 }),
    'runs_ready_by_graph',
  ],
  'claimNext by hash': [
    (store) =>
      store.claimNext({ tenant, workerId: 'w', leaseMs: 9, graphs: ['rare'], codes: { rare: 'other' }, limit: 4 }),
    'runs_ready_by_graph',
  ],
  countRuns: [async (store) => store.countRuns?.({ tenant, status: ['failed'], exceptIds: ['x:'] }), 'runs_by_status'],
  countOpen: [async (store) => store.countOpen?.(tenant), 'runs_by_status', 'waits_by_due'],
  countCodes: [async (store) => store.countCodes?.(tenant, ['rare']), 'runs_by_graph'],
  listClaimable: [(store) => store.listClaimable({ tenant, limit: 4 }), 'runs_ready'],
  renewClaims: [(store) => store.renewClaims([claim]), 'runs_by_id'],
  commit: [(store) => store.commit(commitOf(claim, 2)).catch(() => undefined), 'runs_by_id'],
  'commits of two runs': [
    (store) =>
      Promise.allSettled([store.commit(commitOf(claim, 2)), store.commit(commitOf({ ...claim, runId: 'run-78' }, 2))]),
    'runs_by_id',
  ],
  'commit with changes': [
    (store) =>
      store
        .commit(
          commitOf(claim, 2, { status: 'paused', openWaits: [wait('w1')], closeWaits: ['w2'], takeMessages: [1] }),
        )
        .catch(() => undefined),
    'runs_by_id',
  ],
  releaseClaim: [(store) => store.releaseClaim(claim, 'hash'), 'runs_by_id'],
  postMessage: [(store) => store.postMessage({ ...message('run-77'), tenant }), 'runs_by_id'],
  writeSnapshot: [
    (store) => store.writeSnapshot(key, { seq: 1, body: new Uint8Array(9), checksum: new Uint8Array(32) }),
    'checkpoints_pkey',
  ],
  labelRun: [
    async (store) => {
      const { meta } = (await store.readRun(key)) ?? { meta: new Uint8Array() };
      await store.labelRun?.({ ...key, labels: { user: 'u8' }, oldMeta: meta, meta: new Uint8Array(3) });
    },
    'runs_by_id',
    'labels_pkey',
  ],
  tagCheckpoint: [(store) => store.tagCheckpoint(key, { name: 'n', seq: 1 }), 'checkpoints_pkey'],
  removeTag: [(store) => store.removeTag(key, 'n'), 'tags_pkey'],
  'admitRun of a fork': [
    (store) => store.admitRun(admission('fork', { tenant, parent: { runId: 'run-1', seq: 0 } })),
    'checkpoints_pkey',
  ],
  pruneRun: [
    (store) =>
      store
        .pruneRun({ ...key, token: 0, remove: [0], replace: [], snapshots: [], prunedBelow: 1 })
        .catch(() => undefined),
    'runs_by_id',
  ],
  removeRun: [(store) => store.removeRun({ tenant, runId: 'run-9' }).catch(() => undefined), 'runs_by_id'],
};

describe.skipIf(typeof found === 'string')(
  `plans of Postgres over ${count} runs${typeof found === 'string' ? `: ${found}` : ''}`,
  () => {
    const server = found as PostgresUnderTest;
    const sent: { readonly text: string; readonly values: readonly unknown[] }[] = [];
    let store: Store;
    let pool: PostgresPool;

    beforeAll(async () => {
      await server.empty();
      await server.run(filling);
      await server.run('vacuum analyze');
      const packageName = 'pg';
      const { default: pg } = (await import(packageName)) as {
        readonly default: { readonly Pool: new (settings: object) => PostgresPool };
      };
      pool = new pg.Pool({ connectionString: server.url, max: 4 });
      store = openPostgresStore({ pool: recorded(pool, sent) });
      await store.readIdentity();
    });
    afterAll(async () => {
      await store.close();
      await pool.end();
      await server.stop();
    });

    test.each(Object.entries(calls))(
      'S4 %s walks its index, and reads no large table whole',
      async (_, [call, ...indexes]) => {
        sent.length = 0;
        await call(store);
        const asked = sent.filter(({ text, values }) => values.length > 0 && !text.includes('pg_notify'));
        expect(asked.length).toBeGreaterThan(0);
        const connection = await pool.connect();
        const plans: string[] = [];
        for (const { text, values } of asked) {
          const explained = { text: `explain ${text}`, values: [...values], types: { getTypeParser: () => String } };
          const { rows } = (await connection.query(explained)) as { rows: { readonly 'QUERY PLAN': string }[] };
          plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        }
        connection.release();
        const plan = plans.join('\n\n');
        expect(plan).toMatch(new RegExp(`\\b(?:${indexes.join('|')})\\b`));
        expect(plan).not.toMatch(/Seq Scan on (runs|checkpoints|labels|waits|messages|tags|snapshots)\b/);
      },
    );
  },
);

/** Keeps what is sent over a pool. */
function recorded(
  pool: PostgresPool,
  sent: { readonly text: string; readonly values: readonly unknown[] }[],
): PostgresPool {
  const seen = new WeakSet<PgConnection>();
  return {
    connect: async () => {
      const connection = await pool.connect();
      if (seen.has(connection)) return connection;
      seen.add(connection);
      const query = connection.query.bind(connection);
      connection.query = (statement) => {
        sent.push(statement);
        return query(statement);
      };
      return connection;
    },
    end: () => pool.end(),
    on: (event, listener) => pool.on(event, listener),
  };
}

/**
 * Runs of two graphs, a quarter of all of this tenant: most have ended, some are ready, some held, some lapsed, some wait; each tenth is a
 * fork of the first.
 */
const filling = `
  insert into cairn.runs (tenant, run_id, key, graph_id, graph_hash, status, head, created_at, updated_at, parent_run, parent_seq,
    queue, priority, due, meta, token, owner, lease_until, message_count, message_at, wait_at)
  select case all_no % 4 when 0 then 't' else 'u' end, case all_no % 4 when 0 then 'run-' || n else 'other-' || all_no end, 'k' || all_no,
    case when n % 50 = 0 then 'rare' else 'common' end, 'h',
    case when n % 10 = 0 then 0 when n % 10 = 1 then 2 when n % 1000 = 502 then 4 else 3 end, 1, n, n,
    case when n % 10 = 9 then 'run-1' end, case when n % 10 = 9 then 0 end, '', 0, 1, '', n,
    case when n % 40 = 0 then 'w' end, case when n % 80 = 0 then 9e15::bigint else 0 end, 0, null,
    case when n % 10 = 1 then 9e15::bigint end
  from (select k as all_no, k / 4 as n from generate_series(4, 4 * ${count} + 3) k) numbers;
  insert into cairn.checkpoints (run, seq, at, checksum, body)
  select no, s, 1, '\\x00', '\\x00' from cairn.runs, generate_series(0, 1) s where tenant = 't';
  insert into cairn.labels (tenant, name, value, run)
  select 't', 'user', 'u' || (no % 97), no from cairn.runs where tenant = 't';
  insert into cairn.waits (run, wait_id, tenant, kind, due, body)
  select no, 'w', 't', case when no % 1000 = 44 then 3 else 0 end, 9e15::bigint, '\\x00' from cairn.runs
  where tenant = 't';
  insert into cairn.messages (run, kind, name, at, taken, body)
  select no, 'signal', 's', 1, true, '\\x00' from cairn.runs where tenant = 't';
  insert into cairn.tags (run, name, seq) select no, 'n', 1 from cairn.runs;
  insert into cairn.snapshots (run, seq, checksum, body)
  select no, 1, '\\x00', '\\x00' from cairn.runs where tenant = 't'`;
