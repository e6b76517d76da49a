/** Runs a block's statements on SQLite, with a connection and transaction of their own. */
import type { SQLInputValue, DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type BoundStatement,
  type SqlFailureFacts,
  type SqlJob,
  type SqlResult,
  distinct,
  exactInteger,
  joinResults,
} from './sql-job.ts';
import { readdirSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { changesRows } from './raw-work.ts';

// Messages between a block and the child process that uses SQLite for it.

export interface SqlitePlace {
  /** Absolute path, or `:memory:`. */
  readonly path: string;
  /** The file that the path led to when it was judged. Absent: there was none, or it is `:memory:`. */
  readonly file?: { readonly dev: bigint; readonly ino: bigint };
  readonly pragmas: Readonly<Record<string, string | number | boolean>>;
}

/** A statement with values of types that SQLite accepts. */
export interface SqliteStatement extends BoundStatement {
  readonly values: readonly SQLInputValue[];
}

/** The job as plain data. */
export interface SqliteJob extends Pick<SqlJob, 'isReadOnly' | 'isAlone' | 'timeoutMs'> {
  readonly first: readonly SqliteStatement[];
  readonly statements: readonly SqliteStatement[];
}

export type ToChild =
  | { readonly kind: 'job'; readonly place: SqlitePlace; readonly job: SqliteJob }
  /** The parent allows the commit. Nothing is stored before that. */
  | { readonly kind: 'commit' };

export interface SqliteFailure extends SqlFailureFacts {
  readonly reason: string;
}

export type FromChild =
  /** The process has started and accepts jobs. */
  | { readonly kind: 'up' }
  /** The process has the locks it needs; from now on, running the statements may take any time. */
  | { readonly kind: 'begun' }
  /** The process waits for permission to commit. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'result'; readonly result: SqlResult }
  | { readonly kind: 'failure'; readonly failure: SqliteFailure };

/** Delay between two tries to lock a database that another process has locked. */
const lockPollMs = 20;

/** Memory limit of SQLite, so that one query cannot use all memory. */
const heapBytes = 1024 * 1024 * 1024;

/** The most bytes of all returned rows together. */
const rowBytesMax = 64 * 1024 * 1024;

/** Callbacks to the parent during a transaction. */
export interface TransactionSteps {
  /** Called before the first statement. Called again if the transaction has to start over because another process held a lock. */
  readonly begun: () => Promise<void>;
  /** Resolves when the transaction may be committed. */
  readonly mayCommit: () => Promise<void>;
}

/** Runs a job. @throws SqliteFailure (plain data) */
export async function runInTransaction(
  place: SqlitePlace,
  job: SqliteJob,
  steps: TransactionSteps,
): Promise<SqlResult> {
  const deadline = performance.now() + job.timeoutMs;
  const progress: Progress = { isCommitting: false };
  for (;;) {
    try {
      return await runOnce(place, job, steps, progress);
    } catch (error) {
      if (!isLocked(error) || performance.now() >= deadline) throw failureOf(error, job, progress);
      await sleep(lockPollMs);
    }
  }
}

interface Progress {
  isCommitting: boolean;
}

async function runOnce(
  place: SqlitePlace,
  job: SqliteJob,
  steps: TransactionSteps,
  progress: Progress,
): Promise<SqlResult> {
  const db = open(place, job.isReadOnly);
  try {
    db.exec(`PRAGMA hard_heap_limit = ${heapBytes}`);
    for (const [name, value] of Object.entries(place.pragmas)) {
      // A read-only connection cannot change the journal mode.
      if (name !== 'journal_mode' || !job.isReadOnly) db.exec(`PRAGMA ${name} = ${pragmaValue(value)}`);
    }
    if (!job.isAlone) db.exec(job.isReadOnly ? 'BEGIN' : 'BEGIN IMMEDIATE');
    await steps.begun();
    for (const statement of job.first) runStatement(db, statement);
    const result = joinResults(job.statements.map((statement) => runStatement(db, statement)));
    if (job.isAlone) return result;
    if (!job.isReadOnly) await steps.mayCommit();
    progress.isCommitting = true;
    db.exec('COMMIT');
    return result;
  } finally {
    // Closing rolls back a transaction that is still open.
    db.close();
  }
}

function open({ path, file }: SqlitePlace, readOnly: boolean): DatabaseSync {
  if (path === ':memory:') return openDatabase(path, { timeout: 0 });
  const db = openDatabase(path, { readOnly, timeout: 0 });
  if (file !== undefined && isOpen(path, file)) return db;
  db.close();
  throw Object.assign(new Error('the file was replaced while it was opened'), { errcode: cannotOpen });
}

/** Whether the database that was opened is this file: nothing of it has been read yet. On Linux, /proc lists what this process has open. */
function isOpen(path: string, { dev, ino }: NonNullable<SqlitePlace['file']>): boolean {
  const isThis = (at: string): boolean => {
    const found = statSync(at, { bigint: true, throwIfNoEntry: false });
    return found?.dev === dev && found.ino === ino;
  };
  const descriptors = '/proc/self/fd';
  if (process.platform !== 'linux') return isThis(path);
  return readdirSync(descriptors).some((name) => isThis(`${descriptors}/${name}`));
}

/** Opens a database without Node 22's warning that its SQLite is experimental. */
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

const pragmaValue = (value: string | number | boolean): string =>
  typeof value === 'boolean' ? (value ? 'ON' : 'OFF') : String(value);

function runStatement(db: DatabaseSync, bound: SqliteStatement): SqlResult {
  const statement = db.prepare(bound.text);
  // If SQLite sees the end of the statement earlier than we do, the rest of the text would be dropped.
  if (statement.sourceSQL.length < bound.text.length)
    throw Object.assign(new Error('the end of a statement cannot be told'), { code: 'ERR_SQLITE_ERROR', errcode: 1 });
  statement.setReadBigInts(true);
  const { values } = bound;
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

/** Reads all rows. @throws Error they are too large to return */
function readRows(statement: StatementSync, values: readonly SQLInputValue[]): readonly (readonly unknown[])[] {
  statement.setReturnArrays(true);
  const rows: unknown[][] = [];
  let sizeBytes = 0;
  for (const row of eachRow(statement, values)) {
    const read = (row as readonly unknown[]).map((value) => (typeof value === 'bigint' ? exactInteger(value) : value));
    for (const value of read)
      sizeBytes += 8 + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 0);
    if (sizeBytes > rowBytesMax) throw new Error(`the rows are over ${rowBytesMax / 1024 / 1024} MiB; select fewer`);
    rows.push(read);
  }
  return rows;
}

/** The rows. Node gives nothing for a row with a value that is longer than any string. @throws Error there is such a value */
function* eachRow(statement: StatementSync, values: readonly SQLInputValue[]): Iterable<unknown> {
  const rows = statement.iterate(...values);
  for (;;) {
    const next = rows.next() as IteratorResult<unknown> | undefined;
    if (next === undefined) throw new Error(`a value is over ${rowBytesMax / 1024 / 1024} MiB; select a part of it`);
    if (next.done === true) return;
    yield next.value;
  }
}

function counts(db: DatabaseSync): { readonly changes: bigint; readonly id: bigint } {
  const statement = db.prepare('SELECT changes() AS changes, last_insert_rowid() AS id');
  statement.setReadBigInts(true);
  return statement.get() as { readonly changes: bigint; readonly id: bigint };
}

const locked = new Set([5, 6]); // SQLITE_BUSY, SQLITE_LOCKED
const constraint = 19;
const cannotOpen = 14;
const tooBig = 18;

function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}

function isLocked(error: unknown): boolean {
  return locked.has(resultCode(error) ?? 0);
}

function failureOf(error: unknown, job: SqliteJob, { isCommitting }: Progress): SqliteFailure {
  const { isAlone, isReadOnly, timeoutMs } = job;
  const code = resultCode(error);
  const data = { errcode: code };
  if (isLocked(error))
    return {
      reason: `the database was locked for ${timeoutMs / 1_000} s`,
      code: 'SQL_UNAVAILABLE',
      applied: 'no',
      data,
    };
  const mayHaveApplied = !isReadOnly && (isAlone || (isCommitting && code !== constraint));
  const applied = mayHaveApplied ? 'unknown' : 'no';
  if (code === tooBig)
    return {
      reason: 'SQLite: a value is larger than it can hold (1 GB); select a part of it',
      code: 'SQL_FAILED',
      applied,
      data,
    };
  return { reason: `SQLite: ${(error as Error).message}`, code: 'SQL_FAILED', applied, data };
}
