/** Runs Sql blocks on Postgres, each with a connection and transaction of its own. The user installs the package `postgres`. */
import {
  exactInteger,
  jsonText,
  type BoundStatement,
  distinct,
  joinResults,
  noResult,
  sqlFailure,
  type SqlJob,
  type SqlResult,
} from './sql-job.ts';
import type * as postgresPackage from 'postgres';
import type { Options, PendingQuery, PostgresError, ReservedSql, Row, Sql } from 'postgres';
import { CairnError } from '../../../errors.ts';
import { importPeer } from '../../../optional-peers.ts';
import { readBytes } from '../../../postgres-driver.ts';
import { changesRows } from './raw-work.ts';

// Parses and writes arrays in the text format of Postgres: `{1,NULL,"a b"}`.

/** An item of an array: a text, NULL, or an array. */
export type ArrayItem = string | null | readonly ArrayItem[];

function writeArray(items: readonly ArrayItem[]): string {
  return `{${items.map(writeItem).join(',')}}`;
}

function writeItem(item: ArrayItem): string {
  if (item === null) return 'NULL';
  return typeof item === 'string' ? `"${item.replaceAll(/["\\]/gu, '\\$&')}"` : writeArray(item);
}

const piece = /"((?:[^"\\]|\\[\s\S])*)"|[{},]|[^{},"]+/gu;

/** Parses an array. @param parse - converts an item that is not NULL */
function readArray(text: string, parse: (item: string) => unknown): readonly unknown[] {
  const outer: unknown[] = [];
  const open: unknown[][] = [outer];
  // If the lower bounds are not 1, the text begins with them: `[0:1]={7,8}`.
  for (const { 0: found, 1: quoted } of text.slice(text.indexOf('{')).matchAll(piece)) {
    const list = open.at(-1) ?? outer;
    if (found === '{') {
      const inner: unknown[] = [];
      list.push(inner);
      open.push(inner);
    } else if (found === '}') open.pop();
    else if (quoted !== undefined) list.push(parse(quoted.replaceAll(/\\([\s\S])/gu, '$1')));
    else if (found !== ',') list.push(found === 'NULL' ? null : parse(found));
  }
  return outer[0] as readonly unknown[];
}

// Converts values to and from Postgres.

interface PostgresType {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (value: unknown) => unknown;
  readonly parse: (text: string) => unknown;
}

type Parse = (text: string) => unknown;

const asText: Parse = (text) => text;
const asJson: Parse = (text) => JSON.parse(text) as unknown;

/** Parsers by type, with the ids of the type and of its array type in `pg_type`. Other types stay text. */
const types: readonly (readonly [id: number, arrayId: number, parse: Parse])[] = [
  [16, 1000, (text) => text === 't'], // bool
  [17, 1001, (text) => new Uint8Array(readBytes(text))], // bytea
  [20, 1016, (text) => exactInteger(BigInt(text))], // int8
  [21, 1005, Number], // int2
  [23, 1007, Number], // int4
  [26, 1028, Number], // oid
  [700, 1021, Number], // float4
  [701, 1022, Number], // float8
  [1700, 1231, asText], // numeric: as exact as it is
  [25, 1009, asText], // text
  [1042, 1014, asText], // bpchar
  [1043, 1015, asText], // varchar
  [2950, 2951, asText], // uuid
  [705, 0, asText], // unknown
  [1082, 1182, asText], // date: a day has no time, and so is no point in time
  [1114, 1115, (text) => readTime(text, `${text.replace(' ', 'T')}Z`)], // timestamp
  [1184, 1185, (text) => readTime(text, text)], // timestamptz
];
const jsonTypes: readonly (readonly [id: number, arrayId: number])[] = [
  [114, 199],
  [3802, 3807],
];

/** A point in time; `infinity` and years before Christ stay text. */
function readTime(text: string, iso: string): Date | string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) || !/^\d/u.test(text) || text.endsWith('BC') ? text : time;
}

/** A list: for arrays what `toString` gives, for JSON and text its JSON. */
type ListParameter = readonly ArrayItem[] & { readonly toJSONText: () => string };

/** A parameter as text, which the server reads as the type that it wants there. */
function toPostgres(value: unknown): ArrayItem {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (!Array.isArray(value)) return jsonText(value);
  const items = value.map(toPostgres);
  return Object.assign(items, { toString: () => writeArray(items), toJSONText: () => jsonText(value) });
}

const serialize = (value: unknown): unknown => value;
const serializeList = (value: unknown): unknown =>
  Array.isArray(value) ? (value as unknown as ListParameter).toJSONText() : value;

/** For the driver: how columns are read and parameters written. */
const postgresTypes: Readonly<Record<string, PostgresType>> = Object.fromEntries(
  [...types, ...jsonTypes.map(([id, arrayId]) => [id, arrayId, asJson] as const)].flatMap(([id, arrayId, parse]) => {
    const takesLists = parse === asText || parse === asJson;
    const parseList: Parse = (text) => readArray(text, parse);
    return [
      [`t${id}`, { to: id, from: [id], serialize: takesLists ? serializeList : serialize, parse }],
      [`t${arrayId}`, { to: arrayId, from: [arrayId], serialize: String, parse: parseList }],
    ];
  }),
);

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
  const { default: connect } = await importPeer<{ readonly default: typeof postgresPackage.default }>('postgres');
  const client = connect(optionsOf(place));
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
