/** The layout of the database. Page size and WAL are fixed before the first table is created. */

import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import { isBusy } from '../sqlite-errors.ts';
import { endedCodes, isAtRest, isUnplaced, waitingCode } from './run-rows.ts';

export const layoutVersion = 13;

/** 'Cair', the SQLite application id of our databases. */
export const applicationId = 0x43616972;

/** A page holds seven rows of 2 KiB. SQLite's default of 4 KiB would hold one. */
const pageBytes = 16_384;

/**
 * How the tables are laid out, and why.
 *
 * Checkpoints are stored in the order of arrival and found through a narrow index. Clustering them by run would write one page for each run
 * in every shared transaction. The index is the table `places`. It is written for many checkpoints at once, and has those with ids up to
 * `placed.up_to`.
 *
 * Runs are clustered by id and have few indexes, because an admission waits for its pages to be written. Keys of runs, which people type,
 * are searched along the index of statuses, which also separates graphs in listings.
 *
 * The second row of `placed` holds the largest token of a removed run, because no token is used twice. The third holds the number of
 * places.
 *
 * Runs that were never claimed have a status of their own, and an index in the order of `claimNext`. So a long queue need not be sorted,
 * and a run that is claimed when it is admitted writes no page of that index. `head_seen` is the run's head at the last write of its row: a
 * head below it means that checkpoints were lost.
 *
 * `code` is what a run goes on under; null where it is its graph's hash.
 *
 * `deaths` counts owners that never gave the run back while its head was `deaths_head`, `deaths_unreleased` those since it came to rest.
 *
 * `check_value` of a run is that of its columns which the run itself never changes (row-check.ts); null in rows from before it existed.
 *
 * `lease_ms` is the length of a run's lease; 0 where that is not known. A wait has `opened`, the time, if it has a due time.
 *
 * `ended_at` is when a run came to its status, of one that is over.
 *
 * `read_claims` is `claims` as long as every claim of the run was granted, and so every commit written, by a version that notes the blobs
 * that it names; another, which does not know the column, leaves it behind. `is_read` says so of a message. `times` of a reference counts the
 * writes that named the blob. What the rows of a graph's runs name stands once for all of them, as that of run 0 with the graph's id, which
 * is empty in all others; it stays. Other references go with their run, whichever version removes it.
 *
 * `no` is a run's short number in the other tables. Columns that change come before those that may be long. A wait that is never due has
 * the largest due time.
 */
const placeTables = `
  create table places (run integer not null, seq integer not null, id integer not null, primary key (run, seq)) without rowid;
  create table placed (one integer primary key, up_to integer not null);
  insert into placed (one, up_to) values (1, 0);
`;

const storeTable = `
  create table store (one integer primary key, identity text not null);
  insert into store (one, identity) values (1, lower(hex(randomblob(16))));
`;

/** Labels stand in the order in which runs with one are listed. An index finds those of a run, to change or remove them. */
const labelsTable = `
  create table labels (tenant text not null, name text not null, value text not null, run integer not null, run_id text not null,
    primary key (tenant, name, value, run)) without rowid;
  create index labels_by_run on labels (run);
`;

/** Has all columns that listings choose by, so that rows which are not listed are not read. */
const statusIndex = `
  create index runs_by_status on runs (tenant, status, no, graph_id, key, created_at);
`;

/** The labels that files of an older layout have, in the meta of their runs. */
const olderLabels = `
  select r.tenant, l.key as name, l.value, r.no as run, r.run_id from runs r, json_each(cast(r.meta as text), '$.labels') l
  where json_valid(cast(r.meta as text)) and l.type = 'text'`;

/** Who works on the runs, and which runs their code refused; `head` is where those stood. Both tables have few rows. */
const workerTables = `
  create table workers (tenant text not null, worker_id text not null, graphs text not null, seen_at integer not null,
    alive_until integer not null, body blob not null, primary key (tenant, worker_id)) without rowid;
  create table refusals (run integer not null, refused_by text not null, head integer not null, at integer not null);
  create unique index refusals_by_run on refusals (run, refused_by);
`;

const queueIndex = `
  create index runs_to_take on runs (tenant, priority desc, due, no, queue, graph_id) where status = ${waitingCode};
`;

const queueByGraphIndex = `
  create index runs_to_take_by_graph on runs (tenant, graph_id, priority desc, due, no, queue) where status = ${waitingCode};
`;

/** What limits across processes count by, and the runs that wait for a place; `part` says who shares a line fairly with others. */
const limitTables = `
  create table limits (tenant text not null, name text not null, version text not null, body text not null,
    primary key (tenant, name)) without rowid;
  create table line (tenant text not null, line text not null, priority integer not null, rank integer not null, run integer not null,
    run_id text not null, part text, primary key (tenant, line, priority desc, rank, run)) without rowid;
  create unique index line_by_run on line (run);
  create index line_by_group on line (tenant, line, part, rank);
`;

/** Waits with a due time by when they were opened, to find those that were opened before the clock was set back. */
const openedIndex = `
  create index waits_by_opened on waits (tenant, opened, run_id, due) where opened is not null;
`;

/** Runs of a graph that are not advanced now: one that goes from its start to its end at once is written here once. */
const graphIndex = `
  create index runs_by_graph on runs (tenant, graph_id, status, no) where ${isAtRest};
`;

/**
 * Ended runs in the order in which they expire, which is written when a run ends. Lines of removed runs; duties that one process does for
 * all.
 */
const removalTables = `
  create index runs_by_end on runs (tenant, graph_id, status, ended_at, no) where ended_at is not null;
  create table removed (tenant text not null, run_id text not null, at integer not null, until integer not null, because text not null,
    primary key (tenant, run_id)) without rowid;
  create index removed_until on removed (until);
  create table duties (name text primary key, owner text not null, until integer not null) without rowid;
`;

/** Which runs name which blobs; and of which that may not be known, found by an index that is empty once all were read. */
const referenceTables = `
  create table blob_references (tenant text not null, hash text not null, run integer not null, graph_id text not null,
    times integer not null, primary key (tenant, hash, run, graph_id)) without rowid;
  create index blob_references_by_run on blob_references (run);
  create trigger runs_removed after delete on runs begin delete from blob_references where run = old.no; end;
  create index runs_unread on runs (tenant, no) where read_claims <> claims;
  create index messages_unread on messages (tenant, run) where is_taken = 0 and is_read = 0;
`;

/** When the runs of an older layout ended, which is when their newest checkpoint was written. */
const olderEnds = `
  update runs set ended_at = coalesce((select at from checkpoints where id = coalesce(
    (select id from checkpoints where ${isUnplaced} and run = runs.no order by id desc limit 1),
    (select id from places where run = runs.no order by seq desc limit 1))), created_at) where status in (${endedCodes.join(', ')});`;

const tables = `
  create table runs (
    tenant text not null,
    run_id text not null,
    no integer not null,
    token integer not null,
    lease_until integer not null,
    status integer not null,
    pruned_below integer not null,
    head_seen integer not null,
    lease_ms integer not null,
    claims integer not null default 0,
    read_claims integer not null default -1,
    deaths integer not null default 0,
    deaths_head integer not null default 0,
    deaths_unreleased integer not null default 0,
    priority integer not null,
    due integer not null,
    created_at integer not null,
    key text not null,
    graph_id text not null,
    graph_hash text not null,
    code text,
    queue text not null,
    queue_key text,
    parent_run text,
    parent_seq integer,
    owner text,
    check_value integer,
    ended_at integer,
    meta blob not null,
    primary key (tenant, run_id)
  ) without rowid;
  ${statusIndex}
  create index runs_by_parent on runs (tenant, parent_run, no) where parent_run is not null;
  ${queueIndex}
  ${queueByGraphIndex}
  ${graphIndex}
  ${removalTables}

  create table checkpoints (
    id integer primary key,
    run integer not null,
    seq integer not null,
    at integer not null,
    checksum blob not null,
    body blob not null
  );
  ${placeTables}

  create table snapshots (
    id integer primary key,
    run integer not null,
    seq integer not null,
    checksum blob not null,
    body blob not null
  );
  create unique index snapshots_by_seq on snapshots (run, seq);

  create table waits (
    id integer primary key,
    run integer not null,
    wait_id text not null,
    tenant text not null,
    run_id text not null,
    kind text not null,
    due integer not null,
    opened integer,
    checksum blob,
    body blob not null
  );
  create unique index waits_by_id on waits (run, wait_id);
  create index waits_by_run_due on waits (run, due, id);
  create index waits_by_due on waits (tenant, due, id);
  create index waits_by_kind on waits (tenant, kind, due, id);
  ${openedIndex}

  create table messages (
    id integer primary key autoincrement,
    run integer not null,
    kind text not null,
    name text not null,
    tenant text not null,
    run_id text not null,
    at integer not null,
    is_taken integer not null,
    is_read integer not null default 0,
    checksum blob,
    body blob not null
  );
  create unique index messages_by_name on messages (run, kind, name);
  create index messages_untaken on messages (run) where is_taken = 0;

  create table tags (run integer not null, name text not null, seq integer not null, primary key (run, name)) without rowid;
  ${labelsTable}
  ${workerTables}
  ${limitTables}
  ${referenceTables}
  ${storeTable}
`;

/** Tables with rows of runs (column `run`), other than checkpoints and places. */
export const tablesOfRun = ['snapshots', 'waits', 'messages', 'tags', 'labels', 'refusals', 'line'] as const;

function readPragma(db: DatabaseSync, name: string): unknown {
  return Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0];
}

/**
 * Returns the version of the layout; 0 if the database is empty. @throws STORE_VERSION_UNKNOWN, STORE_CORRUPT it belongs to another program
 */
export function checkLayout(db: DatabaseSync, store: string): number {
  // All is read in one transaction: another process may be creating the layout.
  if (db.isTransaction) return readLayout(db, store);
  db.exec('begin');
  try {
    return readLayout(db, store);
  } finally {
    if (db.isTransaction) db.exec('rollback');
  }
}

function readLayout(db: DatabaseSync, store: string): number {
  const version = readPragma(db, 'user_version') as number;
  if (readPragma(db, 'application_id') === applicationId) {
    if (version > layoutVersion)
      throw new CairnError('STORE_VERSION_UNKNOWN', { store, version, supported: layoutVersion });
    return version;
  }
  const isEmpty = version === 0 && db.prepare('select 1 from sqlite_master').get() === undefined;
  if (!isEmpty) throw new CairnError('STORE_CORRUPT', { store, reason: 'it is the database of another program' });
  return 0;
}

/** For each version, the SQL that upgrades to the next. */
const upgrades: Readonly<Record<number, string>> = {
  1: `${placeTables}
    insert into places (run, seq, id) select run, seq, id from checkpoints order by run, seq;
    update placed set up_to = (select coalesce(max(id), 0) from checkpoints);
    drop index checkpoints_by_seq;`,
  2: `alter table runs add column head_seen integer not null default 0;
    alter table runs add column priority integer not null default 0;
    alter table runs add column due integer not null default 0;
    alter table runs add column queue text not null default '';
    alter table runs add column queue_key text;
    update runs set due = created_at, head_seen = coalesce((
      select max(seq) from (select seq from places where run = runs.no
        union all select seq from checkpoints where ${isUnplaced} and run = runs.no)), 0);
    update runs set status = ${waitingCode} where status = 0 and owner is null;
    ${queueIndex}
    alter table waits add column checksum blob;
    alter table messages add column checksum blob;
    ${storeTable}`,
  3: 'alter table runs add column check_value integer;',
  4: `drop index runs_by_status;
    ${statusIndex}
    ${labelsTable}
    insert or ignore into labels (tenant, name, value, run, run_id) ${olderLabels};`,
  5: `${workerTables}
    ${queueByGraphIndex}`,
  6: `alter table runs add column lease_ms integer not null default 0;
    alter table waits add column opened integer;
    ${openedIndex}`,
  7: `alter table runs add column claims integer not null default 0;
    alter table runs add column deaths integer not null default 0;
    alter table runs add column deaths_head integer not null default 0;
    alter table runs add column deaths_unreleased integer not null default 0;
    update runs set claims = 1 where token > 0;`,
  8: 'alter table runs add column code text;',
  9: limitTables,
  10: `alter table runs add column ended_at integer;
    ${olderEnds}
    ${removalTables}`,
  11: `drop index if exists runs_ended_by_graph;
    ${graphIndex}`,
  12: `alter table runs add column read_claims integer not null default -1;
    alter table messages add column is_read integer not null default 0;
    ${referenceTables}`,
};

/**
 * For each older version, temporary views that let a connection read it like this version although it must not change it. Missing columns
 * are handled by the queries.
 */
const stopgaps: Readonly<Record<number, string>> = {
  1: `create temp view places as select run, seq, id from checkpoints;
    create temp view placed as select 1 as one, max(id) as up_to from checkpoints;`,
  4: `create temp view labels as ${olderLabels};`,
  9: `create temp view limits as select '' as tenant, '' as name, '' as version, '' as body where false;
    create temp view line as select '' as tenant, '' as line, 0 as priority, 0 as rank, 0 as run, '' as run_id, '' as part where false;`,
  10: `create temp view removed as select '' as tenant, '' as run_id, 0 as at, 0 as until, '' as because where false;`,
};

export function readAsNewest(db: DatabaseSync, version: number): void {
  for (let from = version; from < layoutVersion; from += 1) db.exec(stopgaps[from] ?? '');
}

const busyDelayMs = 5;

/**
 * Turns the write-ahead log on, for which the file is locked as a whole. While another process does the same, SQLite refuses at once,
 * whatever the busy timeout; so this waits that long by itself.
 */
export function useWriteAheadLog(db: DatabaseSync): void {
  const until = performance.now() + Number(readPragma(db, 'busy_timeout'));
  for (;;) {
    try {
      return db.exec('pragma journal_mode = wal');
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyDelayMs);
    }
  }
}

/**
 * Creates or upgrades the layout, unless another process was first. For a new one, `inTransaction` runs before the commit, while no other
 * process can write.
 */
export function createLayout(db: DatabaseSync, store: string, inTransaction: () => void): void {
  if (checkLayout(db, store) === 0) {
    db.exec(`pragma page_size = ${pageBytes}`);
    useWriteAheadLog(db);
  }
  db.exec('begin immediate');
  try {
    const version = checkLayout(db, store);
    for (let from = version; from > 0 && from < layoutVersion; from += 1) db.exec(upgrades[from] ?? '');
    if (version === 0) {
      db.exec(tables);
      db.exec(`pragma application_id = ${applicationId}`);
      inTransaction();
    }
    db.exec(`pragma user_version = ${layoutVersion}; commit`);
  } catch (error) {
    if (db.isTransaction) db.exec('rollback');
    throw error;
  }
}
