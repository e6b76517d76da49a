/** Sql blocks on SQLite: a connection and a transaction for each block. */
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BoundStatement } from './bind-params.ts';
import { distinct, exactInteger, joinResults, jsonText, sqlFailure, type SqlJob, type SqlResult } from './sql-job.ts';
import { changesRows } from './statement-class.ts';

export interface SqlitePlace {
  /** Absolute, or `:memory:`. */
  readonly path: string;
  readonly pragmas: Readonly<Record<string, string | number | boolean>>;
}

/** Between two looks at a database that another process has locked. */
const lockPollMs = 20;

/** @throws NodeFailure SQL_FAILED, SQL_UNAVAILABLE; the signal's reason */
export async function runOnSqlite(place: SqlitePlace, job: SqlJob): Promise<SqlResult> {
  const deadline = performance.now() + job.timeoutMs;
  for (;;) {
    job.signal.throwIfAborted();
    const progress: Progress = { isCommitting: false };
    try {
      // In one piece: blocks of one process never wait for each other while they hold a lock.
      return runOnce(place, job, progress);
    } catch (error) {
      if (!isLocked(error) || performance.now() >= deadline) throw asFailure(error, job, progress);
      await sleep(lockPollMs, undefined, { signal: job.signal }).catch(() => undefined);
    }
  }
}

interface Progress {
  isCommitting: boolean;
}

function runOnce(place: SqlitePlace, job: SqlJob, progress: Progress): SqlResult {
  const db = open(place, job.isReadOnly);
  const runAll = (): SqlResult => joinResults(job.statements.map((statement) => runStatement(db, statement)));
  try {
    for (const [name, value] of Object.entries(place.pragmas)) {
      // A reader takes the journal as it is.
      if (name !== 'journal_mode' || !job.isReadOnly) db.exec(`PRAGMA ${name} = ${pragmaValue(value)}`);
    }
    if (!job.isAlone) db.exec(job.isReadOnly ? 'BEGIN' : 'BEGIN IMMEDIATE');
    for (const statement of job.first) runStatement(db, statement);
    const result = runAll();
    if (job.isAlone) return result;
    progress.isCommitting = true;
    db.exec('COMMIT');
    return result;
  } finally {
    // A transaction that is still open is rolled back.
    db.close();
  }
}

function open({ path }: SqlitePlace, readOnly: boolean): DatabaseSync {
  if (path !== ':memory:' && !readOnly && !existsSync(path)) createFile(path);
  return openDatabase(path, { readOnly: readOnly && path !== ':memory:', timeout: 0 });
}

/** Node 22 warns that its SQLite is experimental, which is not for the user to judge. */
function openDatabase(...args: ConstructorParameters<typeof DatabaseSync>): DatabaseSync {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
    return new Database(...args);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** For the owner alone, as everything that Cairn makes. */
function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

const pragmaValue = (value: string | number | boolean): string =>
  typeof value === 'boolean' ? (value ? 'ON' : 'OFF') : String(value);

function runStatement(db: DatabaseSync, bound: BoundStatement): SqlResult {
  const statement = db.prepare(bound.text);
  // What SQLite takes for the end of a statement must be its end here, too, or the rest would be dropped.
  if (statement.sourceSQL.length < bound.text.length)
    throw Object.assign(new Error('the end of a statement cannot be told'), { code: 'ERR_SQLITE_ERROR', errcode: 1 });
  statement.setReadBigInts(true);
  const values = bound.values.map(toSqlite);
  const columns = distinct(statement.columns().map(({ name }) => name));
  const rows = columns.length === 0 ? run(statement, values) : readRows(statement, values);
  if (!changesRows(bound)) return { columns, rows, affected: 0, lastInsertId: null };
  const { changes, id } = counts(db);
  const isInsert = bound.words.includes('INSERT') || bound.words[0] === 'REPLACE';
  return { columns, rows, affected: Number(changes), lastInsertId: isInsert && changes > 0n ? exactInteger(id) : null };
}

function run(statement: StatementSync, values: readonly SQLInputValue[]): readonly [] {
  statement.run(...values);
  return [];
}

function readRows(statement: StatementSync, values: readonly SQLInputValue[]): readonly (readonly unknown[])[] {
  statement.setReturnArrays(true);
  const rows = statement.all(...values) as unknown as readonly (readonly unknown[])[];
  return rows.map((row) => row.map((value) => (typeof value === 'bigint' ? exactInteger(value) : value)));
}

function counts(db: DatabaseSync): { readonly changes: bigint; readonly id: bigint } {
  const statement = db.prepare('SELECT changes() AS changes, last_insert_rowid() AS id');
  statement.setReadBigInts(true);
  return statement.get() as { readonly changes: bigint; readonly id: bigint };
}

/** A value as SQLite keeps it. Whole numbers are bound as such: as floating point, 5 would become '5.0' in a text column. */
function toSqlite(value: unknown): SQLInputValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (Number.isNaN(value)) throw new Error('it has no NaN');
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'bigint' || typeof value === 'string' || value instanceof Uint8Array) return value;
  return value instanceof Date ? value.toISOString() : jsonText(value);
}

const locked = new Set([5, 6]); // SQLITE_BUSY, SQLITE_LOCKED
const constraint = 19;

function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}

function isLocked(error: unknown): boolean {
  return locked.has(resultCode(error) ?? 0);
}

function asFailure(error: unknown, { isAlone, isReadOnly, timeoutMs }: SqlJob, { isCommitting }: Progress): unknown {
  const code = resultCode(error);
  const data = { errcode: code };
  if (isLocked(error)) {
    const reason = `the database was locked for ${timeoutMs / 1_000} s`;
    return sqlFailure(reason, { code: 'SQL_UNAVAILABLE', applied: 'no', data }, error);
  }
  const mayHaveApplied = !isReadOnly && (isAlone || (isCommitting && code !== constraint));
  const applied = mayHaveApplied ? 'unknown' : 'no';
  return sqlFailure(`SQLite: ${(error as Error).message}`, { code: 'SQL_FAILED', applied, data }, error);
}
