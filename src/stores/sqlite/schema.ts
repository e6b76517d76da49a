/** The layout of the database. It is fixed at birth: page size and WAL are chosen before the first table. */

import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../errors.ts';

export const layoutVersion = 1;

/** 'Cair': tells our databases from those of other programs. */
const applicationId = 0x43616972;

/** Seven rows of 2 KiB fill a page, where SQLite's default of 4 KiB would hold one. */
const pageBytes = 16_384;

/**
 * Checkpoints are appended in order of arrival and found through a narrow index, as clustering them by run would touch a page a run in
 * each shared transaction. Runs are clustered by id and have few indexes, as an admission is waited for and writes a page for each: a run's
 * key, which people type, is looked for along the index of statuses, in which a listing also tells graphs apart.
 *
 * `no` is a run's short number in the other tables. What of a run's row changes stands before what may be long. A wait that is never due has
 * the largest due time.
 */
const tables = `
  create table runs (
    tenant text not null,
    run_id text not null,
    no integer not null,
    token integer not null,
    lease_until integer not null,
    status integer not null,
    pruned_below integer not null,
    created_at integer not null,
    key text not null,
    graph_id text not null,
    graph_hash text not null,
    parent_run text,
    parent_seq integer,
    owner text,
    meta blob not null,
    primary key (tenant, run_id)
  ) without rowid;
  create index runs_by_status on runs (tenant, status, no, graph_id, key);
  create index runs_by_parent on runs (tenant, parent_run, no) where parent_run is not null;

  create table checkpoints (
    id integer primary key,
    run integer not null,
    seq integer not null,
    at integer not null,
    checksum blob not null,
    body blob not null
  );
  create unique index checkpoints_by_seq on checkpoints (run, seq);

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
    body blob not null
  );
  create unique index waits_by_id on waits (run, wait_id);
  create index waits_by_run_due on waits (run, due, id);
  create index waits_by_due on waits (tenant, due, id);
  create index waits_by_kind on waits (tenant, kind, due, id);

  create table messages (
    id integer primary key autoincrement,
    run integer not null,
    kind text not null,
    name text not null,
    tenant text not null,
    run_id text not null,
    at integer not null,
    is_taken integer not null,
    body blob not null
  );
  create unique index messages_by_name on messages (run, kind, name);
  create index messages_untaken on messages (run) where is_taken = 0;

  create table tags (run integer not null, name text not null, seq integer not null, primary key (run, name)) without rowid;
`;

/** Tables that hold rows of a run, by the column `run`. */
export const tablesOfRun = ['checkpoints', 'snapshots', 'waits', 'messages', 'tags'] as const;

function readPragma(db: DatabaseSync, name: string): unknown {
  return Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0];
}

/** Returns whether the database holds our layout; false: it is empty. @throws STORE_VERSION_UNKNOWN, STORE_CORRUPT it belongs to another program */
export function checkLayout(db: DatabaseSync, store: string): boolean {
  const version = readPragma(db, 'user_version') as number;
  if (readPragma(db, 'application_id') === applicationId) {
    if (version > layoutVersion)
      throw new CairnError('STORE_VERSION_UNKNOWN', { store, version, supported: layoutVersion });
    return true;
  }
  const isEmpty = version === 0 && db.prepare('select 1 from sqlite_master').get() === undefined;
  if (!isEmpty) throw new CairnError('STORE_CORRUPT', { store, reason: 'it is the database of another program' });
  return false;
}

/** Creates the layout unless another process was first. `inTransaction` runs before the commit, while no other process can write. */
export function createLayout(db: DatabaseSync, store: string, inTransaction: () => void): void {
  db.exec(`pragma page_size = ${pageBytes}; pragma journal_mode = wal`);
  db.exec('begin immediate');
  try {
    if (!checkLayout(db, store)) {
      db.exec(tables);
      db.exec(`pragma application_id = ${applicationId}; pragma user_version = ${layoutVersion}`);
      inTransaction();
    }
    db.exec('commit');
  } catch (error) {
    if (db.isTransaction) db.exec('rollback');
    throw error;
  }
}
