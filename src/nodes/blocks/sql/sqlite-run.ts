/** Runs Sql blocks on SQLite. Each uses a child process, which is killed when the block's time is over. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { SQLInputValue } from 'node:sqlite';
import { findProgram } from '../../../optional-peers.ts';
import {
  type BoundStatement,
  jsonText,
  sqlFailure,
  type SqlFailureFacts,
  type SqlJob,
  type SqlResult,
} from './sql-job.ts';
import type { FromChild, SqliteJob, SqlitePlace, SqliteStatement, ToChild } from './sqlite-transaction.ts';

/** Memory limit of JavaScript in the child process, in MiB. */
const heapMb = 512;
/** Extra time for the child process to report a timeout itself, since it knows when it waits for locks. */
const graceMs = 500;

/** A child process without work. The next block reuses it, because starting a process takes as long as many statements. */
let idle: ChildProcess | undefined;

/** Runs a job. @throws NodeFailure SQL_FAILED, SQL_UNAVAILABLE; the signal's reason */
export async function runOnSqlite(place: SqlitePlace, job: SqlJob): Promise<SqlResult> {
  job.signal.throwIfAborted();
  const message: ToChild = { kind: 'job', place, job: plainJob(job) };
  const known = idle;
  idle = undefined;
  const child = known ?? startChild();
  keepAlive(child, true);
  try {
    if (known === undefined) await isUp(child, job.signal);
    const result = await converse(child, message, job);
    if (idle === undefined && child.connected) {
      idle = child;
      keepAlive(child, false);
    } else child.kill('SIGKILL');
    return result;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** Says whether a child process keeps this process alive; an idle one must not. */
function keepAlive(child: ChildProcess, isNeeded: boolean): void {
  if (isNeeded) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}

function startChild(): ChildProcess {
  // The child gets no environment variables: they may contain secrets, and SQLite needs none.
  const child = fork(findProgram(import.meta.dirname, 'nodes/blocks/sql/sqlite-child'), [String(process.pid)], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
    execArgv: [`--max-old-space-size=${heapMb}`],
  });
  child.once('exit', () => {
    if (idle === child) idle = undefined;
  });
  return child;
}

/** Resolves when the child accepts jobs. The block's time does not include this. */
async function isUp(child: ChildProcess, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const ended = once(child, 'exit', { signal: over.signal }).then(() => {
    throw sqlFailure(
      'the process for SQLite does not start',
      { code: 'SQL_FAILED', applied: 'no', data: {} },
      undefined,
    );
  });
  ended.catch(() => undefined);
  try {
    await Promise.race([once(child, 'message', { signal }), ended]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
  }
}

async function converse(child: ChildProcess, message: ToChild, job: SqlJob): Promise<SqlResult> {
  const { isAlone, isReadOnly, timeoutMs, signal } = job;
  let hasBegun = false;
  let mayCommit = false;
  const facts = (code: SqlFailureFacts['code']): SqlFailureFacts => {
    const mayHaveApplied = !isReadOnly && (mayCommit || (isAlone && hasBegun));
    return { code, applied: mayHaveApplied ? 'unknown' : 'no', data: {} };
  };
  const stop = new AbortController();
  const over = { signal: stop.signal };
  try {
    return await new Promise<SqlResult>((resolve, reject) => {
      const fail = (reason: string, code: SqlFailureFacts['code']): void =>
        reject(sqlFailure(reason, facts(code), undefined));
      const timer = setTimeout(() => {
        const reason = hasBegun ? 'the statements took longer than' : 'the database was locked for';
        fail(`${reason} ${timeoutMs / 1_000} s`, 'SQL_UNAVAILABLE');
      }, timeoutMs + graceMs);
      stop.signal.addEventListener('abort', () => clearTimeout(timer));
      signal.addEventListener('abort', () => reject(signal.reason as Error), over);
      const ended = (): void => fail('the process that used SQLite has ended', 'SQL_FAILED');
      const onMessage = (message: FromChild): void => {
        if (message.kind === 'begun') hasBegun = true;
        else if (message.kind === 'result') resolve(message.result);
        else if (message.kind === 'failure') reject(sqlFailure(message.failure.reason, message.failure, undefined));
        else if (message.kind === 'ready') {
          mayCommit = true;
          child.send({ kind: 'commit' } satisfies ToChild);
        }
      };
      child.on('message', onMessage).once('exit', ended).once('error', ended);
      stop.signal.addEventListener('abort', () =>
        child.off('message', onMessage).off('exit', ended).off('error', ended),
      );
      child.send(message, (error) => {
        if (error !== null) ended();
      });
    });
  } finally {
    stop.abort();
  }
}

/** The job as plain data. @throws NodeFailure SQL_FAILED SQLite cannot hold a value */
function plainJob({ first, statements, isReadOnly, isAlone, timeoutMs }: SqlJob): SqliteJob {
  try {
    return {
      first: first.map(plainStatement),
      statements: statements.map(plainStatement),
      isReadOnly,
      isAlone,
      timeoutMs,
    };
  } catch (error) {
    throw sqlFailure(`SQLite: ${(error as Error).message}`, { code: 'SQL_FAILED', applied: 'no', data: {} }, error);
  }
}

const plainStatement = (bound: BoundStatement): SqliteStatement => ({ ...bound, values: bound.values.map(toSqlite) });

/** A value in the form SQLite stores. Integers are bound as bigints: bound as floating point, 5 would become '5.0' in a text column. */
function toSqlite(value: unknown): SQLInputValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (Number.isNaN(value)) throw new Error('it has no NaN');
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'bigint' || typeof value === 'string' || value instanceof Uint8Array) return value;
  return value instanceof Date ? value.toISOString() : jsonText(value);
}
