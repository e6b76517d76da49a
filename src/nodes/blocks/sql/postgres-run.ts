/** Runs Sql blocks on Postgres, each with a connection and transaction of its own. The user installs the package `postgres`. */
import type { Options, PendingQuery, PostgresError, ReservedSql, Row, Sql } from 'postgres';
import type * as postgresPackage from 'postgres';
import { CairnError } from '../../../errors.ts';
import type { BoundStatement } from './bind-params.ts';
import { postgresTypes, toPostgres } from './postgres-values.ts';
import { distinct, joinResults, noResult, sqlFailure, type SqlJob, type SqlResult } from './sql-job.ts';
import { changesRows } from './statement-class.ts';

export interface PostgresPlace {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  readonly ssl: 'disable' | 'require' | 'verify-full';
  readonly connectTimeoutMs: number;
  readonly isolation: string | undefined;
}

type Phase = 'connecting' | 'working' | 'committing' | 'alone';

interface Progress {
  phase: Phase;
  /** The statement in progress, so that it can be cancelled. */
  query: { cancel(): void } | undefined;
}

/** How long a cancelled statement may take to end. */
const leaveSeconds = 1;

/** Runs a job. @throws CairnError CONFIG_MISSING_PEER; NodeFailure SQL_FAILED, SQL_UNAVAILABLE; the signal's reason */
export async function runOnPostgres(place: PostgresPlace, job: SqlJob): Promise<SqlResult> {
  job.signal.throwIfAborted();
  const client = (await loadDriver())(optionsOf(place));
  const progress: Progress = { phase: 'connecting', query: undefined };
  const leave = (): void => {
    // Without a cancel request, the server would go on until it next uses the connection.
    progress.query?.cancel();
    void client.end({ timeout: leaveSeconds });
  };
  job.signal.addEventListener('abort', leave);
  try {
    // The driver can only reserve a connection that is open, so open one first.
    await client.unsafe('SELECT 1');
    const session = await client.reserve();
    return await runIn(session, place, job, progress);
  } catch (error) {
    job.signal.throwIfAborted();
    throw asFailure(error, progress.phase, job, place);
  } finally {
    job.signal.removeEventListener('abort', leave);
    await client.end({ timeout: 0 });
  }
}

async function loadDriver(): Promise<typeof postgresPackage.default> {
  try {
    return (await import('postgres')).default;
  } catch (error) {
    throw new CairnError('CONFIG_MISSING_PEER', { package: 'postgres' }, { cause: error });
  }
}

/** Options of the driver. Everything it would otherwise read from the environment is set. */
function optionsOf(place: PostgresPlace): Options<Record<string, never>> {
  const { host, port, database, username, password, ssl, connectTimeoutMs } = place;
  return {
    // Given as lists, because in a text the driver gives commas and slashes a meaning.
    host: [host] as never,
    port: [port] as never,
    database,
    username,
    password,
    max: 1,
    ssl: ssl === 'disable' ? false : ssl,
    connect_timeout: Math.ceil(connectTimeoutMs / 1_000),
    idle_timeout: 0,
    max_lifetime: null,
    prepare: false,
    fetch_types: false,
    debug: false,
    onnotice: () => undefined,
    target_session_attrs: undefined,
    connection: { application_name: 'cairn', DateStyle: 'ISO' },
    types: postgresTypes as never,
  };
}

async function runIn(
  session: ReservedSql,
  { isolation }: PostgresPlace,
  job: SqlJob,
  progress: Progress,
): Promise<SqlResult> {
  const { statements, isReadOnly, isAlone, timeoutMs } = job;
  const runAll = async (): Promise<SqlResult> => {
    const results: SqlResult[] = [];
    for (const statement of statements) results.push(...(await runStatement(session, statement, progress)));
    return joinResults(results);
  };
  if (isAlone) {
    await session.unsafe(`SET statement_timeout = ${timeoutMs}`);
    for (const statement of job.first) await runStatement(session, statement, progress);
    progress.phase = 'alone';
    return runAll();
  }
  const mode = `${isolation === undefined ? '' : ` ISOLATION LEVEL ${isolation}`} ${isReadOnly ? 'READ ONLY' : 'READ WRITE'}`;
  await session.unsafe(`BEGIN${mode}; SET LOCAL statement_timeout = ${timeoutMs}`);
  progress.phase = 'working';
  for (const statement of job.first) await runStatement(session, statement, progress);
  const result = await runAll();
  progress.phase = 'committing';
  await session.unsafe('COMMIT');
  return result;
}

interface RawResult {
  readonly command: string | null;
  readonly count: number | null;
  readonly columns: readonly { readonly name: string }[] | null;
  readonly [Symbol.iterator]: () => Iterator<readonly unknown[]>;
}

async function runStatement(session: Sql, bound: BoundStatement, progress: Progress): Promise<readonly SqlResult[]> {
  const values = bound.values.map((value) => session.typed(toPostgres(value) as never, 0));
  const query = session.unsafe(bound.text, values) as PendingQuery<Row[]>;
  progress.query = query;
  const returned = (await query.values()) as unknown as RawResult | readonly RawResult[];
  progress.query = undefined;
  const results = 'command' in returned ? [returned] : returned;
  return results.map((result) => ({
    ...noResult,
    columns: distinct((result.columns ?? []).map(({ name }) => name)),
    rows: [...result],
    affected: changesRows(bound) ? (result.count ?? 0) : 0,
  }));
}

/**
 * Error classes that may be temporary: connection failures, serialization conflicts, exhausted resources, operator intervention, locks held
 * by others.
 */
const passing = /^(08|40|53|57)|^55P03$/u;

function asFailure(error: unknown, phase: Phase, { isReadOnly }: SqlJob, place: PostgresPlace): unknown {
  if (CairnError.is(error)) return error;
  const { code, message, detail, constraint_name, table_name, column_name, position } = error as PostgresError;
  // The server answered, so it has rolled back or refused to commit.
  const isAnswer = (error as Error).name === 'PostgresError';
  const isConnection = !isAnswer && typeof code === 'string';
  const isUnknown = !isReadOnly && (phase === 'alone' || (phase === 'committing' && !isAnswer));
  const facts = {
    sqlstate: isAnswer ? code : undefined,
    detail,
    constraint: constraint_name,
    table: table_name,
    column: column_name,
    position,
  };
  const data = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
  const where = isConnection ? `${place.host}:${place.port}: ` : 'Postgres: ';
  return sqlFailure(
    `${where}${message}${detail === undefined ? '' : ` (${detail})`}`,
    {
      code: isConnection || (isAnswer && passing.test(code)) ? 'SQL_UNAVAILABLE' : 'SQL_FAILED',
      applied: isUnknown ? 'unknown' : 'no',
      data,
    },
    error,
  );
}
