/**
 * A look of a worker among many parked runs reads few rows, whatever waits: counted by the database itself (Postgres), or by what its
 * statements may walk and give (SQLite). In the gate over a few thousand runs, in `npm run prove` over 100,000 of 10,000 keys.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { defineLimit } from '../../src/graph/limit.ts';
import { LimitRecords } from '../../src/engine/places/limit-records.ts';
import { RunPlaces } from '../../src/engine/places/run-places.ts';
import type { LimitStore } from '../../src/ports/limits.ts';
import type { Store } from '../../src/ports/store.ts';
import { openPostgresStore, type PgConnection, type PostgresPool } from '../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { scale } from '../support/scale.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/** Keys, each with one run that has its place and nine that wait in its line. */
const keyCount = scale(300, 10_000);
const parkedOfKey = 10;
const parked = keyCount * parkedOfKey;
const tenant = 't';
const taken = 16;
const limit = defineLimit('lines', { concurrency: 1, per: ({ input }) => input['user'] });
const keyOf = (no: number): { readonly name: string; readonly key: string } => ({
  name: limit.name,
  key: `${limit.name}:u${no}`,
});

/** Counts the rows that are read while something is done. */
type CountRows = (work: () => Promise<unknown>) => Promise<number>;

interface Seen {
  readonly nothingReady: number;
  readonly freed: number;
  readonly taken: number;
  readonly sweep: number;
  readonly lookMs: number;
}

/** What a worker does: a look where all wait, sixteen places given back, a look that takes their runs, and a sweep over the next lines. */
async function look(store: Store, count: CountRows): Promise<Seen> {
  const limits = store.limits as LimitStore;
  const records = new LimitRecords({
    store: limits,
    tenant,
    workerId: 'w',
    clock: { now: Date.now, monotonic: () => performance.now(), setTimer: () => () => undefined },
  });
  await records.define(limit);
  const places = new RunPlaces(records, () => undefined);
  const claimNext = () => store.claimNext({ tenant, workerId: 'w', leaseMs: 60_000, limit: taken });
  await claimNext();
  const nothingReady = await count(claimNext);
  const begunAt = performance.now();
  for (let round = 0; round < 20; round += 1) await claimNext();
  const lookMs = (performance.now() - begunAt) / 20;
  const freed = await count(async () => {
    for (let no = 1; no <= taken; no += 1)
      await places.leave({ tenant, runId: `holder-${no}`, workerId: 'h', token: 0, leaseMs: 0 }, [keyOf(no)], true);
  });
  let runs: readonly string[] = [];
  const took = await count(async () => {
    runs = (await claimNext()).map(({ run }) => run.runId);
  });
  expect(runs.toSorted()).toEqual(Array.from({ length: taken }, (_, no) => `parked-${no + 1}-1`).toSorted());
  const sweep = await count(() => places.sweep());
  return { nothingReady, freed, taken: took, sweep, lookMs };
}

function report(store: string, { nothingReady, freed, taken: took, sweep, lookMs }: Seen): void {
  console.log(
    `${store}: ${parked} parked runs of ${keyCount} keys: a look that finds nothing reads ${nothingReady} rows in ${lookMs.toFixed(2)} ms, one that takes ${taken} reads ${took}, giving ${taken} places back ${freed}, a sweep of 50 lines ${sweep}`,
  );
}

/** @param ofKey - rows that are read for a key at most: of its limit, its record, the first of its line, and what is written */
function check({ nothingReady, freed, taken: took, sweep }: Seen, ofKey: number): void {
  expect(nothingReady).toBeLessThanOrEqual(50);
  expect(took).toBeLessThanOrEqual(2 * taken + 50);
  expect(freed).toBeLessThanOrEqual(taken * ofKey);
  expect(sweep).toBeLessThanOrEqual(50 * ofKey);
}

const holderState = (no: string): string =>
  `'{"holders":[{"runId":"holder-' || ${no} || '","of":"run","count":1}],"isLined":true}'`;

// SQLite: each statement walks an index in its order, and is asked for no more rows than it gives.

test(`FL2 a look among ${parked} parked runs of ${keyCount} keys reads few rows of SQLite`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-lines-'));
  const path = join(folder, 'store.db');
  const store = openSqliteStore({ path });
  const asked = new Set<string>();
  let [rows, own] = [0, 0];
  // oxlint-disable-next-line typescript/unbound-method -- they are called with the statement that they are called on
  const { get, all } = StatementSync.prototype;
  const noted = (statement: StatementSync, found: number): void => {
    rows += found;
    asked.add(statement.sourceSQL);
  };
  try {
    await store.readIdentity();
    const db = new DatabaseSync(path);
    db.exec(`
      with recursive n(k) as (select 1 union all select k + 1 from n where k < ${keyCount}),
        m(j) as (select 0 union all select j + 1 from m where j < ${parkedOfKey})
      insert into runs (tenant, run_id, no, token, lease_until, status, pruned_below, head_seen, lease_ms, priority, due, created_at, key,
        graph_id, graph_hash, queue, meta)
      select '${tenant}', case j when 0 then 'holder-' || k else 'parked-' || k || '-' || j end, (k - 1) * ${parkedOfKey + 1} + j + 1, 0, 0,
        1, 0, 0, 0, 0, 1, 1, 'k' || k || '-' || j, 'g', 'h', '', x'' from n, m;
      insert into checkpoints (run, seq, at, checksum, body) select no, 0, 1, zeroblob(32), x'' from runs;
      insert into places (run, seq, id) select run, seq, id from checkpoints;
      insert into line (tenant, line, priority, rank, run, run_id)
      select tenant, '${limit.name}:u' || ((no - 1) / ${parkedOfKey + 1} + 1), 0, 0, no, run_id from runs where run_id like 'parked-%';
      with recursive n(k) as (select 1 union all select k + 1 from n where k < ${keyCount})
      insert into limits (tenant, name, version, body)
      select '${tenant}', 'place ${limit.name}:u' || k, 'v', ${holderState('k')} from n;
      update placed set up_to = (select max(id) from checkpoints);
      analyze;`);
    // What is read by its key, one row at a time: of a run that is taken its own row, its head and its messages.
    StatementSync.prototype.get = function (...values) {
      const row = get.apply(this, values as never);
      noted(this, 0);
      own += row === undefined ? 0 : 1;
      return row;
    };
    StatementSync.prototype.all = function (...values) {
      const found = all.apply(this, values as never);
      noted(this, found.length);
      return found;
    };
    const ownRows: number[] = [];
    const seen = await look(store, async (work) => {
      [rows, own] = [0, 0];
      await work();
      ownRows.push(own);
      return rows;
    });
    Object.assign(StatementSync.prototype, { get, all });
    report('SQLite', seen);
    console.log(`SQLite: besides, rows that are read by their keys: ${ownRows.join(', ')}`);
    check(seen, 1);
    for (const [index, most] of [50, taken * 8, taken * 8, 50 * 8].entries())
      expect(ownRows[index]).toBeLessThanOrEqual(most);
    const steps = [...asked].flatMap((sql) =>
      db
        .prepare(`explain query plan ${sql}`)
        .all()
        .map((row) => `${String(row['detail'])} <- ${sql.slice(0, 80)}`),
    );
    expect(steps.length).toBeGreaterThan(10);
    // Untaken messages are few, and have an index of their own that is read whole.
    const wide = /^SCAN (?:r|runs|l|line|limits|checkpoints|waits|messages)\b(?!.*messages_untaken)/u;
    expect(steps.filter((step) => wide.test(step))).toEqual([]);
    db.close();
  } finally {
    Object.assign(StatementSync.prototype, { get, all });
    await store.close();
    rmSync(folder, { recursive: true });
  }
});

// Postgres: each statement is carried out once more under `explain analyze`, in a transaction that is rolled back.

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Plan[];
}

/** The rows that a plan read from tables and indexes. */
function rowsOf(plan: Plan): number {
  const { 'Node Type': type, 'Actual Rows': rows, 'Actual Loops': loops, Plans: inner = [] } = plan;
  const isRead = type.endsWith('Scan') && !/CTE|Function|Subquery|Values|WorkTable/u.test(type);
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  return (isRead ? (rows + removed) * loops : 0) + inner.reduce((sum, one) => sum + rowsOf(one), 0);
}

const server = await preparePostgres();

describe.skipIf(typeof server === 'string')(`Postgres${typeof server === 'string' ? `: ${server}` : ''}`, () => {
  if (typeof server === 'string') return;
  afterAll(() => server.stop());

  test(`FL2 a look among ${parked} parked runs of ${keyCount} keys reads few rows of Postgres`, async () => {
    await server.empty();
    await server.run(`
      insert into cairn.runs (tenant, run_id, key, graph_id, graph_hash, status, head, created_at, updated_at, queue, priority, due, meta)
      select '${tenant}', case j when 0 then 'holder-' || k else 'parked-' || k || '-' || j end, 'k' || k || '-' || j, 'g', 'h', 2, 0, 1, 1,
        '', 0, 1, '' from generate_series(1, ${keyCount}) k, generate_series(0, ${parkedOfKey}) j order by k, j;
      insert into cairn.line (tenant, line, priority, rank, run, run_id)
      select tenant, '${limit.name}:u' || split_part(run_id, '-', 2), 0, 0, no, run_id from cairn.runs where run_id like 'parked-%';
      insert into cairn.limits (tenant, name, version, body)
      select '${tenant}', 'place ${limit.name}:u' || k, 'v', ${holderState('k')} from generate_series(1, ${keyCount}) k`);
    await server.run('vacuum analyze');
    const packageName = 'pg';
    const { default: pg } = (await import(packageName)) as {
      readonly default: { readonly Pool: new (settings: object) => PostgresPool };
    };
    const pool = new pg.Pool({ connectionString: server.url, max: 4 });
    let [isCounting, rows] = [false, 0];
    const onRows = (more: number): void => void (rows += more);
    const store = openPostgresStore({ pool: explained(pool, () => isCounting, onRows) });
    try {
      const seen = await look(store, async (work) => {
        [isCounting, rows] = [true, 0];
        await work();
        isCounting = false;
        return rows;
      });
      report('Postgres', seen);
      check(seen, 12);
    } finally {
      await store.close();
      await pool.end();
    }
  });
});

/** A pool whose statements are explained before they are carried out. */
function explained(pool: PostgresPool, isCounting: () => boolean, onRows: (rows: number) => void): PostgresPool {
  const seen = new WeakSet<PgConnection>();
  return {
    connect: async () => {
      const connection = await pool.connect();
      if (seen.has(connection)) return connection;
      seen.add(connection);
      const query = connection.query.bind(connection);
      let isInside = false;
      connection.query = async (statement) => {
        const { text, values } = statement;
        if (/^\s*begin/iu.test(text)) isInside = true;
        if (/^\s*(commit|rollback)/iu.test(text)) isInside = false;
        if (values.length === 0 || !isCounting()) return query(statement);
        const send = (own: string, given: readonly unknown[] = []) =>
          query({ text: own, values: [...given], types: { getTypeParser: () => String } });
        await send(isInside ? 'savepoint explained' : 'begin');
        const { rows } = (await send(`explain (analyze, timing off, format json) ${text}`, values)) as unknown as {
          readonly rows: readonly { readonly 'QUERY PLAN': string }[];
        };
        await send(isInside ? 'rollback to savepoint explained' : 'rollback');
        const [found] = JSON.parse(String(rows[0]?.['QUERY PLAN'])) as readonly { readonly Plan: Plan }[];
        onRows(rowsOf(found?.Plan as Plan));
        return query(statement);
      };
      return connection;
    },
    end: () => pool.end(),
    on: (event, listener) => pool.on(event, listener),
  };
}
