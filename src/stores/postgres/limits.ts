/** What limits need of the database: records, and lines of runs. */
import {
  aheadMax,
  type LimitChange,
  type LimitRecord,
  type LimitStore,
  type LimitWrite,
  type LineRow,
  type ParkedRun,
  type PlaceHolder,
} from '../../ports/limits.ts';
import type { RunKey } from '../../ports/store.ts';
import { wakeUnparked } from '../watchers.ts';
import type { Query } from './database.ts';
import { fromText, keyOf, statusCode, toText, type Tables } from './tables.ts';

const [running, paused] = [statusCode('running'), statusCode('paused')];

const page = (column: string): string =>
  `tenant = $1 and ${column} > $2 and ${column} >= $3 and left(${column}, length($3)) = $3 order by ${column} limit $4`;

/** The records are locked in one order, so that no two writes wait for each other. */
const lockRecords = `
  select l.name, l.version from S.limits l where l.tenant = $1 and l.name = any($2::text[]) order by l.name for update`;
const addRecord = `insert into S.limits (tenant, name, version, body) values ($1, $2, $3, $4) on conflict do nothing returning 1`;
const setRecord = `update S.limits set version = $3, body = $4 where tenant = $1 and name = $2 and version = $5 returning 1`;
const removeRecord = `delete from S.limits where tenant = $1 and name = $2 and version = $3 returning 1`;

/** Rows are locked in the order in which every statement locks them. */
const parkRuns = `
  with parked as materialized (
    select * from json_to_recordset($2::text::json) as a(run_id text, token bigint, line text, rank bigint, part text)),
  locked as materialized (
    select r.no, a.* from parked a join S.runs r on r.tenant = $1 and r.run_id = a.run_id and r.token = a.token
    order by r.no for no key update of r),
  released as (
    update S.runs r set token = nextval('S.tokens'), owner = null, lease_until = 0,
      status = case when r.status = ${running} then ${paused} else r.status end
    from locked where r.no = locked.no returning r.no, r.status, r.priority)
  insert into S.line (tenant, line, priority, rank, run, run_id, part)
  select $1, l.line, g.priority, l.rank, l.no, l.run_id, l.part from locked l join released g on g.no = l.no where g.status = ${paused}
  on conflict do nothing`;

const unparkRuns = `
  with gone as (delete from S.line where tenant = $1 and run_id = any($2::text[]) returning run),
  locked as materialized (
    select r.no from S.runs r join gone on gone.run = r.no where r.status = ${paused} order by r.no for no key update of r)
  update S.runs r set status = ${running} from locked where r.no = locked.no`;

/** Claims whose lease ran out are given up, so that they are renewed no more. */
const checkHolders = `
  with holders as materialized (
    select * from unnest($2::text[], $3::bigint[]) with ordinality a(run_id, token, i)),
  locked as materialized (
    select r.no, r.status, r.token, r.owner, r.lease_until > S.now_ms() as is_leased, a.token as expected, a.i
    from holders a join S.runs r on r.tenant = $1 and r.run_id = a.run_id order by r.no for no key update of r),
  released as (
    update S.runs r set token = nextval('S.tokens'), owner = null, lease_until = 0 from locked l
    where r.no = l.no and l.expected = l.token and l.owner is not null and not l.is_leased)
  select i, case when expected is null then status <= ${paused} else expected = token and owner is not null and is_leased end as holds
  from locked`;

const firstOfLine = `
  select l.run_id, l.priority, l.rank from S.line l join S.runs r on r.no = l.run and r.status = ${paused}
  where l.tenant = $1 and l.line = $2 order by l.priority desc, l.rank, l.run limit $3`;

const linesAfter = `
  with recursive found(line) as (
    (select line from S.line where tenant = $1 and line > $2 and line >= $3 order by line limit 1)
    union all
    select (select l.line from S.line l where l.tenant = $1 and l.line > found.line order by l.line limit 1)
    from found where found.line is not null)
  select line from found where line is not null and left(line, length($3)) = $3 limit $4`;

const aheadOf = `
  select p.line, (select count(*) from (
    select 1 from S.line l where l.tenant = $1 and l.line = p.line
      and (l.priority > p.priority or (l.priority = p.priority and (l.rank, l.run) < (p.rank, p.run))) limit ${aheadMax}) counted) as ahead
  from S.line p where p.tenant = $1 and p.run_id = $2`;

interface StoredRecord {
  readonly name: string;
  readonly version: string;
  readonly body: string;
}

const toRecord = ({ name, version, body }: StoredRecord): LimitRecord => ({
  name: fromText(name),
  version: fromText(version),
  body: fromText(body),
});

/** @returns whether the record was as expected, and is as it shall be now */
async function change(query: Query, tenant: string, { name, expected, version, body }: LimitChange): Promise<boolean> {
  const key = [toText(tenant), toText(name)];
  if (body === undefined)
    return expected === undefined || (await query(removeRecord, [...key, toText(expected)])).length > 0;
  const values = [...key, toText(version), toText(body)];
  const written =
    expected === undefined ? await query(addRecord, values) : await query(setRecord, [...values, toText(expected)]);
  return written.length > 0;
}

/** Takes back a transaction in which a record was not as expected. */
const isNotExpected = Symbol('a record is of another version');

async function writeLimits(tables: Tables, write: LimitWrite): Promise<boolean> {
  const { tenant, changes, park = [], unpark = [] } = write;
  const [only] = changes;
  if (only !== undefined && changes.length === 1 && park.length + unpark.length === 0)
    return change(tables.query, tenant, only);
  try {
    await tables.transaction(async (query) => {
      if (changes.length > 1) await query(lockRecords, [toText(tenant), changes.map(({ name }) => toText(name))]);
      const inOrder = [...changes].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
      for (const one of inOrder) if (!(await change(query, tenant, one))) throw isNotExpected;
      if (park.length > 0) await query(parkRuns, [toText(tenant), JSON.stringify(park.map(toParked))]);
      if (unpark.length > 0) await query(unparkRuns, [toText(tenant), unpark.map(toText)]);
    });
    return true;
  } catch (error) {
    if (error === isNotExpected) return false;
    throw error;
  }
}

const toParked = ({ claim, line, rank, group }: ParkedRun): object => ({
  run_id: toText(claim.runId),
  token: claim.token,
  line: toText(line),
  rank,
  part: group === undefined ? null : toText(group),
});

async function checkPlaces(
  tables: Tables,
  tenant: string,
  holders: readonly PlaceHolder[],
): Promise<readonly boolean[]> {
  if (holders.length === 0) return [];
  const rows = await tables.query<{ i: number; holds: boolean }>(checkHolders, [
    toText(tenant),
    holders.map(({ runId }) => toText(runId)),
    holders.map(({ token }) => token ?? null),
  ]);
  const holding = new Set(rows.flatMap(({ i, holds }) => (holds ? [i] : [])));
  return holders.map((_, index) => holding.has(index + 1));
}

/** @param wake - called for each run that left its line */
export function createPostgresLimits(tables: Tables, wake: (run: RunKey) => void): LimitStore {
  return {
    read: async (tenant, names) => {
      const rows = await tables.query<StoredRecord>(
        `select name, version, body from S.limits where tenant = $1 and name = any($2::text[])`,
        [toText(tenant), names.map(toText)],
      );
      return rows.map(toRecord);
    },
    list: async (tenant, { prefix = '', after = '', limit }) => {
      const text = `select name, version, body from S.limits where ${page('name')}`;
      return (await tables.query<StoredRecord>(text, [toText(tenant), toText(after), toText(prefix), limit])).map(
        toRecord,
      );
    },
    write: async (write) => {
      const isWritten = await writeLimits(tables, write);
      if (isWritten) wakeUnparked(write, wake);
      return isWritten;
    },
    check: (tenant, holders) => checkPlaces(tables, tenant, holders),
    readLine: async (tenant, line, { limit, group }) => {
      const key = [toText(tenant), toText(line)];
      const rows = await tables.query<Omit<LineRow, 'runId'> & { readonly run_id: string }>(firstOfLine, [
        ...key,
        limit,
      ]);
      const first = rows.map(({ run_id, priority, rank }) => ({ runId: fromText(run_id), priority, rank }));
      if (group === undefined) return { first };
      const [last] = await tables.query<{ rank: number | null }>(
        `select max(rank) as rank from S.line where tenant = $1 and line = $2 and part = $3`,
        [...key, toText(group)],
      );
      return { first, ...(last?.rank != null && { lastRank: last.rank }) };
    },
    listLines: async (tenant, { prefix = '', after = '', limit }) => {
      const values = [toText(tenant), toText(after), toText(prefix), limit];
      return (await tables.query<{ line: string }>(linesAfter, values)).map(({ line }) => fromText(line));
    },
    findInLine: async (run) => {
      const [row] = await tables.query<{ line: string; ahead: number }>(aheadOf, [...keyOf(run)]);
      return row && { line: fromText(row.line), ahead: row.ahead };
    },
  };
}
