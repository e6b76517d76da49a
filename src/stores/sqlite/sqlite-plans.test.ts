/** Listings must walk an index and stop, whatever is stored: asked of SQLite itself. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunQuery, WaitQuery } from '../../ports/store.ts';
import type { Prepare } from './tables/run-rows.ts';
import { EndedRows } from './tables/removals.ts';
import { NextRuns } from './tables/run-writes.ts';
import { HistoryReads } from './tables/history-reads.ts';
import { RunReads, WaitReads } from './tables/wait-reads.ts';
import { layoutVersion } from './tables/schema.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { HostClock } from '../host-clock.ts';

let folder = '';
let db: DatabaseSync;
let asked: string[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-plans-'));
  const path = join(folder, 'store.db');
  await openSqliteStore({ path }).close();
  db = new DatabaseSync(path);
  asked = [];
});

afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

/** The steps SQLite would take for everything that was asked. */
function readPlan(): string[] {
  return asked.flatMap((sql) =>
    db
      .prepare(`explain query plan ${sql}`)
      .all()
      .map((row) => String(row['detail'])),
  );
}

const record: Prepare = (sql) => () => {
  asked.push(sql);
  return db.prepare(sql);
};

const runQueries: readonly Omit<RunQuery, 'tenant'>[] = [
  {},
  { status: ['running', 'failed'] },
  { graphId: 'g' },
  { parentRunId: 'p' },
  { cursor: '5' },
  { status: ['paused'], graphId: 'g', cursor: '5' },
  { labels: { user: 'ann' } },
  { labels: { user: 'ann', team: 'a' }, status: ['paused'], since: 5, until: 9, cursor: '5' },
  { since: 5 },
];

/** A fork of `p`. Forks are listed only where there are some. */
const addFork = `insert into runs (tenant, run_id, no, token, lease_until, status, pruned_below, head_seen, lease_ms, priority, due,
    created_at, key, graph_id, graph_hash, queue, parent_run, parent_seq, meta)
  values ('t', 'f', 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 'k', 'g', 'h', '', 'p', 1, x'')`;

test.each(runQueries)('S4 runs by %o are read in order from an index', (query) => {
  db.exec(addFork);
  new RunReads(record, new HostClock(), layoutVersion, 'store').listRuns({ tenant: 't', ...query });
  const plan = readPlan();
  expect(plan.length).toBeGreaterThan(query.parentRunId === undefined ? 0 : 1);
  // `c` is the page, which an index alone has chosen.
  expect(plan.filter((step) => /SCAN|TEMP B-TREE/.test(step) && step !== 'SCAN c')).toEqual([]);
});

test('S4 runs of a graph are read from its own part of an index, but for those that are advanced', () => {
  new RunReads(record, new HostClock(), layoutVersion, 'store').listRuns({ tenant: 't', graphId: 'g' });
  const searches = readPlan().filter((step) => /SEARCH r USING COVERING INDEX runs_by_(graph|status)/.test(step));
  expect(searches.filter((step) => step.includes('runs_by_graph (tenant=? AND graph_id=? AND status=?)'))).toHaveLength(
    5,
  );
  expect(searches.filter((step) => step.includes('runs_by_status'))).toHaveLength(2);
});

test.each(runQueries.filter(({ cursor }) => cursor === undefined))('S4 runs by %o are counted in an index', (query) => {
  new RunReads(record, new HostClock(), layoutVersion, 'store').countRuns({ tenant: 't', ...query, exceptIds: ['c:'] });
  const plan = readPlan();
  expect(plan.length).toBeGreaterThan(0);
  expect(plan.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
});

const waitQueries: readonly Omit<WaitQuery, 'tenant'>[] = [
  {},
  { kinds: ['question', 'timer'] },
  { dueBy: 5 },
  { runId: 'r' },
  { isAnswered: false, kinds: ['question', 'doubt'] },
  { runId: 'r', isAnswered: true },
  { cursor: '5.1' },
  { runId: 'r', kinds: ['timer'], dueBy: 5, cursor: '5.1' },
];

test.each(waitQueries)('S4 waits by %o are read in order from an index', (query) => {
  new WaitReads(record, layoutVersion).listWaits({ tenant: 't', ...query });
  const plan = readPlan();
  expect(plan.length).toBeGreaterThan(0);
  expect(plan.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
});

const time = { now: 5, forwardMs: 0, forwardAgoMs: 5 };

test.each([{}, { graphs: ['g', 'h'] }])(
  'S4 the next runs to claim are found without looking at finished ones: %o',
  (query) => {
    new NextRuns(record).find({ tenant: 't', at: 5, limit: 9, ...query }, time);
    const tables = readPlan().filter((step) => /(SEARCH|SCAN) (r|runs|waits|messages)\b/.test(step));
    expect(tables.length).toBeGreaterThan(3);
    // Untaken messages are few, and have an index of their own that is read whole.
    expect(tables.filter((step) => step.startsWith('SCAN') && !step.includes('messages_untaken'))).toEqual([]);
  },
);

test('S4 the next runs of a graph are read in order from its own part of an index', () => {
  new NextRuns(record).find({ tenant: 't', at: 5, limit: 9, graphs: ['g'] }, time);
  const queue = readPlan().find((step) => step.includes(' r '));
  expect(queue).toMatch(/runs_to_take_by_graph \(tenant=\? AND graph_id=\?/);
});

test.each([{}, { endedBefore: 5 }, { beyond: 3 }, { endedBefore: 5, beyond: 3, cursor: '1.2' }])(
  'S4 ended runs by %o are read in the order of their ends from an index',
  (query) => {
    const ended = new EndedRows(record);
    ended.list({ tenant: 't', graphId: 'g', status: 'failed', limit: 9, ...query });
    ended.graphs('t');
    // The newest of each status, of which there are three, are merged.
    const steps = readPlan().filter((step) => /SCAN|TEMP B-TREE/.test(step));
    expect(steps.filter((step) => !/SCAN (g|\(subquery-\d+\)|CONSTANT ROW)|COMPOUND|ORDER BY/.test(step))).toEqual([]);
    expect(readPlan().filter((step) => step.includes('runs_by_end')).length).toBeGreaterThan(2);
  },
);

test('S4 a page of checkpoints is read in order from their places, without those behind it', () => {
  new HistoryReads(record).readCheckpoints({ tenant: 't', runId: 'r' }, { from: 1, to: 9, limit: 2 });
  const plan = readPlan();
  const [first, last] = [plan.indexOf('LEFT'), plan.indexOf('RIGHT')];
  expect(last).toBeGreaterThan(first);
  // The newest, which have no place yet, are few, and sorted.
  expect(plan.slice(first, last).filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
});
