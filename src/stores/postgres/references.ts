/** Which runs name which blobs, and of which runs that may not be known. */
import type { BlobReferences } from '../../ports/blob-references.ts';
import { heldBy } from '../../ports/held-runs.ts';
import { fromText, keyOf, readCursor, toText, type Tables } from './tables.ts';

/** Counts one more write that names a blob. What is selected is tenant, hash and the run's number, each once. */
export const noteReferences = (selected: string): string => `
    insert into S.blob_references as b (tenant, hash, run, times) ${selected}
    on conflict (tenant, hash, run) do update set times = b.times + 1`;

/** A version that does not know of references may have removed a run without them. */
const named = `
  select h.hash from unnest($2::text[]) h(hash) where exists (
    select 1 from S.blob_references b join S.runs r on r.no = b.run where b.tenant = $1 and b.hash = h.hash)`;

const ofRuns = `
  select r.run_id, r.read_claims = r.claims and not exists (
      select 1 from S.messages m where m.run = r.no and not m.is_read and not m.taken) as is_read, b.hash, b.times
  from S.runs r left join S.blob_references b on b.run = r.no
  where r.tenant = $1 and r.run_id = any($2::text[]) order by r.no`;

interface StoredReference {
  readonly run_id: string;
  readonly is_read: boolean;
  readonly hash: string | null;
  readonly times: number;
}

/** The run is locked: whoever writes to it comes before or after. Whoever has it may be writing more than was read. */
const add = `
  with run as materialized (
    select no, head = $4::bigint as is_seen, claims = $5::int and (owner is null or owner = '${heldBy}') as is_at_rest
    from S.runs where tenant = $1 and run_id = $2 for no key update),
  noted as (${noteReferences('select $1, h.hash, run.no, 1 from run cross join unnest($3::text[]) h(hash)')}),
  marked as (
    update S.messages m set is_read = true from run
    where m.run = run.no and run.is_seen and not m.is_read and (m.taken or m.id = any($6::bigint[])))
  update S.runs r set read_claims = r.claims from run where r.no = run.no and run.is_seen and run.is_at_rest`;

const drop = `
  with run as materialized (select no from S.runs where tenant = $1 and run_id = $2 for no key update)
  delete from S.blob_references b using run, unnest($3::text[], $4::int[]) d(hash, times)
  where b.tenant = $1 and b.hash = d.hash and b.run = run.no and b.times = d.times`;

const unread = `
  select no, run_id from (
    select r.no, r.run_id from S.runs r where r.tenant = $1 and nullif(r.read_claims = r.claims, false) is null and r.no > $2::bigint
    union select r.no, r.run_id from S.messages m join S.runs r on r.no = m.run
      where nullif(m.is_read, false) is null and not m.taken and r.tenant = $1 and r.no > $2::bigint) u
  order by no limit $3`;

export function createReferences(tables: Tables): BlobReferences {
  return {
    named: async (tenant, hashes) =>
      (await tables.query<{ hash: string }>(named, [toText(tenant), hashes])).map(({ hash }) => hash),
    of: async (tenant, runIds) => {
      const rows = await tables.query<StoredReference>(ofRuns, [toText(tenant), runIds.map(toText)]);
      const runs = Map.groupBy(rows, ({ run_id: id }) => id);
      return [...runs].map(([id, found]) => ({
        runId: fromText(id),
        named: found.flatMap(({ hash, times }) => (hash === null ? [] : [{ hash, times }])),
        isRead: found[0]?.is_read === true,
      }));
    },
    add: async (key, hashes, read) => {
      const { head = -1, claims = -1, messages = [] } = read ?? {};
      await tables.query(add, [...keyOf(key), [...new Set(hashes)], head, claims, messages]);
    },
    drop: async (key, dropped) => {
      const columns = [dropped.map(({ hash }) => hash), dropped.map(({ times }) => times)];
      await tables.query(drop, [...keyOf(key), ...columns]);
    },
    listUnread: async (tenant, { limit, cursor }) => {
      const [after = -1] = readCursor(cursor, 1);
      const found = await tables.query<{ no: number; run_id: string }>(unread, [toText(tenant), after, limit + 1]);
      const last = found[limit - 1];
      return {
        rows: found.slice(0, limit).map(({ run_id: id }) => fromText(id)),
        ...(last !== undefined && found.length > limit && { cursor: String(last.no) }),
      };
    },
    define: async (tenant, graphId, hashes) => {
      await tables.query(
        `insert into S.definitions (tenant, hash, graph_id) select $1, h.hash, $2 from unnest($3::text[]) h(hash) on conflict do nothing`,
        [toText(tenant), toText(graphId), [...new Set(hashes)]],
      );
    },
    defined: async (tenant, hashes) => {
      const rows = await tables.query<{ hash: string; graph_id: string }>(
        `select hash, graph_id from S.definitions where tenant = $1 and hash = any($2::text[])`,
        [toText(tenant), hashes],
      );
      return rows.map(({ hash, graph_id }) => ({ hash, graphId: fromText(graph_id) }));
    },
  };
}
