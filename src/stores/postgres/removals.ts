/** Runs that ended, in the order in which they expire; their removal in one transaction; lines of removed runs; duties. */
import type {
  EndedQuery,
  EndedRemoval,
  EndedRuns,
  Remembrance,
  RemovalReason,
  RemovedRun,
  Removals,
} from '../../ports/removals.ts';
import type { RunKey } from '../../ports/store.ts';
import type { Query } from './database.ts';
import { endedCodes, fromText, keyOf, kindCode, never, readCursor, statusCode, toText, type Tables } from './tables.ts';

/** Tables with rows of runs (column `run`). */
export const tablesOfRun = [
  'labels',
  'checkpoints',
  'snapshots',
  'waits',
  'messages',
  'tags',
  'refusals',
  'line',
  'blob_references',
] as const;

const firstEnded = Math.min(...endedCodes);

/** How many runs of before ends were noted get theirs in one write. */
const filledAtOnce = 5_000;

/** Notes when runs ended that ended under an older layout, a part at a time, so that nobody waits for all of them. */
async function fillEnds(tables: Tables): Promise<void> {
  for (let filled = filledAtOnce; filled === filledAtOnce;)
    filled = (
      await tables.query(
        `update S.runs set ended_at = updated_at where no in (
          select no from S.runs where status >= ${firstEnded} and ended_at is null order by no limit ${filledAtOnce} for update skip locked)
        returning 1`,
      )
    ).length;
}

/** Goes from one graph to the next in the index, however many runs each has. */
const graphs = `
  with recursive g as (
    (select graph_id from S.runs where tenant = $1 and ended_at is not null order by graph_id limit 1)
    union all select (select r.graph_id from S.runs r where r.tenant = $1 and r.ended_at is not null and r.graph_id > g.graph_id
      order by r.graph_id limit 1) from g where g.graph_id is not null)
  select graph_id from g where graph_id is not null`;

const newestOf = (code: number): string =>
  `(select ended_at, no from S.runs where tenant = $1 and graph_id = $2 and status = ${code} and ended_at is not null
    order by ended_at desc, no desc limit $3::bigint + 1)`;

/** The newest of those that are beyond a number. */
const bound = `
  select ended_at, no from (
    ${endedCodes.map(newestOf).join(' union all ')}) n
  order by ended_at desc, no desc limit 1 offset $3::bigint`;

const list = `
  select r.run_id, r.no, r.ended_at,
    (select 1 from S.runs f where f.tenant = r.tenant and f.parent_run = r.run_id limit 1) is not null as has_forks,
    (select 1 from S.tags t where t.run = r.no limit 1) is not null as has_tags
  from S.runs r
  where r.tenant = $1 and r.graph_id = $2 and r.status = $3 and r.ended_at is not null
    and (r.ended_at, r.no) > ($4::bigint, $5::bigint) and (r.ended_at, r.no) < ($6::bigint, $7::bigint)
  order by r.ended_at, r.no limit $8`;

interface StoredEnd {
  readonly run_id: string;
  readonly no: number;
  readonly ended_at: number;
  readonly has_forks: boolean;
  readonly has_tags: boolean;
}

export function createEndedRuns(tables: Tables): EndedRuns {
  const boundOf = async ({ tenant, graphId, endedBefore, beyond }: EndedQuery): Promise<readonly [number, number]> => {
    const byAge = [endedBefore ?? (beyond === undefined ? never : -1), -1] as const;
    if (beyond === undefined) return byAge;
    const [newest] = await tables.query<Pick<StoredEnd, 'ended_at' | 'no'>>(bound, [
      toText(tenant),
      toText(graphId),
      beyond,
    ]);
    return newest === undefined || newest.ended_at < byAge[0] ? byAge : [newest.ended_at, newest.no + 1];
  };
  return {
    graphs: async (tenant) => {
      await fillEnds(tables);
      return (await tables.query<{ graph_id: string }>(graphs, [toText(tenant)])).map((row) => fromText(row.graph_id));
    },
    list: async (query) => {
      const { tenant, graphId, status, limit, cursor } = query;
      const [at = -1, no = -1] = readCursor(cursor, 2);
      const before = await boundOf(query);
      const key = [toText(tenant), toText(graphId), statusCode(status)];
      const found = await tables.query<StoredEnd>(list, [...key, at, no, ...before, limit + 1]);
      const last = found[limit - 1];
      return {
        rows: found.slice(0, limit).map((row) => ({
          runId: fromText(row.run_id),
          endedAt: row.ended_at,
          hasForks: row.has_forks,
          hasTags: row.has_tags,
        })),
        ...(last !== undefined && found.length > limit && { cursor: `${last.ended_at}.${last.no}` }),
      };
    },
  };
}

/** Leaves the lines of runs that are removed in the same transaction. */
export async function remember(
  query: Query,
  tenant: string,
  runIds: readonly string[],
  { because, rememberMs }: Remembrance,
): Promise<void> {
  if (rememberMs <= 0 || runIds.length === 0) return;
  await query(
    `insert into S.removed (tenant, run_id, at, until, because)
    select $1, r.id, S.now_ms(), S.now_ms() + $3::bigint, $4 from unnest($2::text[]) as r(id)
    on conflict (tenant, run_id) do update set at = excluded.at, until = excluded.until, because = excluded.because`,
    [toText(tenant), runIds.map(toText), Math.floor(rememberMs), because],
  );
}

/**
 * The rows are locked in one statement and looked at again in the next, whose view is newer than the locks: a fork that was admitted
 * meanwhile held its parent, and is seen then.
 */
const lockEnded = `
  select no from S.runs where tenant = $1 and run_id = any($2::text[]) and status >= ${firstEnded}
    and (owner is null or lease_until <= S.now_ms()) order by no for update skip locked`;

const unneeded = `
  select r.no, r.run_id from S.runs r where r.no = any($1::bigint[])
    and not exists (select 1 from S.runs f where f.tenant = r.tenant and f.parent_run = r.run_id)
    and not exists (select 1 from S.tags t where t.run = r.no)
    and not exists (select 1 from S.waits w where w.run = r.no and w.kind = ${kindCode('delivery')})`;

const forgetOld = `
  delete from S.removed where (tenant, run_id) in (
    select tenant, run_id from S.removed where until <= S.now_ms() order by until limit 200 for update skip locked)`;

/** Removes those of the runs that are over and that nothing needs. @returns their ids */
async function removeEnded(tables: Tables, { tenant, runIds, ...leaves }: EndedRemoval): Promise<readonly string[]> {
  return tables.transaction(async (query) => {
    await query(forgetOld);
    const locked = await query<{ no: number }>(lockEnded, [toText(tenant), runIds.map(toText)]);
    if (locked.length === 0) return [];
    const gone = await query<{ no: number; run_id: string }>(unneeded, [locked.map(({ no }) => no)]);
    const ids = gone.map(({ run_id: id }) => fromText(id));
    await remember(query, tenant, ids, leaves);
    const nos = [gone.map(({ no }) => no)];
    const parts = tablesOfRun.map((table) => `d_${table} as (delete from S.${table} where run = any($1::bigint[]))`);
    await query(`with ${parts.join(', ')} delete from S.runs where no = any($1::bigint[])`, nos);
    return ids;
  });
}

/** The line of a removed run. */
export async function readRemoved(tables: Tables, key: RunKey): Promise<RemovedRun | undefined> {
  const [line] = await tables.query<{ at: number; until: number; because: RemovalReason }>(
    `select at, until, because from S.removed where tenant = $1 and run_id = $2 and until > S.now_ms()`,
    keyOf(key),
  );
  return line && { runId: key.runId, removedAt: line.at, because: line.because, until: line.until };
}

export function createRemovals(tables: Tables): Removals {
  return {
    remove: (removal) => removeEnded(tables, removal),
    read: (key) => readRemoved(tables, key),
    forget: async (key) =>
      (await tables.query(`delete from S.removed where tenant = $1 and run_id = $2 returning 1`, keyOf(key))).length >
      0,
    takeDuty: async (name, workerId, leaseMs) => {
      const taken = await tables.query(
        `insert into S.duties as d (name, owner, until) values ($1, $2, S.now_ms() + $3::bigint)
        on conflict (name) do update set owner = excluded.owner, until = excluded.until
        where d.until <= S.now_ms() or d.owner = excluded.owner returning 1`,
        [toText(name), toText(workerId), leaseMs],
      );
      return taken.length > 0;
    },
  };
}
