/** The tables of a Postgres store, how they come to be, and who may use them. */
import { CairnError } from '../../errors.ts';
import type { Database, Query } from './database.ts';

/** Number of the lock under which layouts are changed; any number that nobody else uses. */
const migrationLock = 7_043_118;

/**
 * The layouts, each from the one before. `S` stands for the schema.
 *
 * - `runs` has what is needed to claim a run and to go on with it. `ready_at` is the earliest time at which there is something to do:
 *   the run's due time, its oldest message or its first due wait. It is computed from the row's own columns, so no two writers can disagree.
 *   A commit that changes neither status nor waits nor messages touches no index.
 * - Texts are compared by bytes (`collate "C"`), whatever the locale of the database.
 * - Bodies are stored as they are: they are small or compressed already.
 */
const layouts: readonly string[] = [
  `
create sequence S.tokens;
create sequence S.orders;
create function S.now_ms() returns bigint language sql stable parallel safe
  as $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint $$;
create table S.runs (
  no bigint generated always as identity primary key,
  tenant text collate "C" not null, run_id text collate "C" not null, key text collate "C" not null,
  graph_id text collate "C" not null, graph_hash text collate "C" not null,
  status smallint not null, head bigint not null, created_at bigint not null, updated_at bigint not null,
  parent_run text collate "C", parent_seq bigint,
  token bigint not null default 0, owner text collate "C", lease_until bigint not null default 0,
  pruned_below bigint not null default 0,
  queue text collate "C" not null, queue_key text collate "C", rate_class text collate "C",
  priority bigint not null, due bigint not null,
  message_count int not null default 0, message_at bigint, wait_at bigint,
  ready_at bigint generated always as (
    case when status <= 2 then least(case when status <= 1 then due end, message_at, wait_at) end) stored,
  meta bytea not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create unique index runs_by_id on S.runs (tenant, run_id);
create index runs_by_key on S.runs (tenant, key);
create index runs_by_no on S.runs (tenant, no);
create index runs_by_status on S.runs (tenant, status, no);
create index runs_by_graph on S.runs (tenant, graph_id, no);
create index runs_by_time on S.runs (tenant, created_at);
create index runs_by_parent on S.runs (tenant, parent_run, no) where parent_run is not null;
create index runs_ready on S.runs (tenant, priority desc, ready_at, no) where ready_at is not null and owner is null;
create index runs_ready_by_graph on S.runs (tenant, graph_id, priority desc, ready_at, no)
  where ready_at is not null and owner is null;
create index runs_leased on S.runs (tenant, lease_until) where ready_at is not null and owner is not null;
create table S.labels (
  tenant text collate "C" not null, name text collate "C" not null, value text collate "C" not null, run bigint not null,
  primary key (run, name));
create index labels_by_value on S.labels (tenant, name, value, run);
create table S.checkpoints (
  run bigint not null, seq bigint not null, at bigint not null, checksum bytea not null, body bytea not null,
  primary key (run, seq));
create table S.snapshots (
  run bigint not null, seq bigint not null, checksum bytea not null, body bytea not null, primary key (run, seq));
create table S.waits (
  id bigint not null default nextval('S.orders'), run bigint not null, wait_id text collate "C" not null,
  tenant text collate "C" not null, kind smallint not null, due bigint not null, checksum bytea, body bytea not null,
  primary key (run, wait_id));
create index waits_by_due on S.waits (tenant, due, id);
create index waits_by_kind on S.waits (tenant, kind, due, id);
create table S.messages (
  id bigint not null default nextval('S.orders'), run bigint not null, kind text not null,
  name text collate "C" not null, at bigint not null, taken boolean not null default false, checksum bytea,
  body bytea not null, primary key (run, kind, name));
create table S.tags (
  run bigint not null, name text collate "C" not null, seq bigint not null, primary key (run, name));
create table S.blobs (
  tenant text collate "C" not null, hash text collate "C" not null, size bigint not null, touched_at bigint not null,
  primary key (tenant, hash));
create table S.blob_pieces (
  tenant text collate "C" not null, hash text collate "C" not null, no int not null, body bytea not null,
  primary key (tenant, hash, no));
create table S.memory_writes (
  owner text collate "C" not null, session text collate "C" not null, key text collate "C" not null,
  primary key (owner, session, key));
create table S.memories (
  id bigint generated always as identity primary key, owner text collate "C" not null,
  session text collate "C" not null, content text not null, at bigint not null);
create index memories_of on S.memories (owner, session, id);
alter table S.checkpoints alter column body set storage external;
alter table S.snapshots alter column body set storage external;
alter table S.blob_pieces alter column body set storage external;`,
  `
create unlogged table S.live_pieces (
  tenant text collate "C" not null, run_id text collate "C" not null, n bigint not null, node text not null,
  detail text not null, primary key (tenant, run_id, n));`,
  // Who works on the runs, with the hash of each graph by its id, and which runs their code refused; `head` is where those stood.
  `
create table S.workers (
  tenant text collate "C" not null, worker_id text collate "C" not null, graphs jsonb not null,
  seen_at bigint not null, alive_until bigint not null, body bytea not null, primary key (tenant, worker_id));
create table S.refusals (
  run bigint not null, refused_by text collate "C" not null, head bigint not null, at bigint not null,
  primary key (run, refused_by));`,
  // Owners that never gave a run back: while its head was `deaths_head`, and since it came to rest.
  `
alter table S.runs add column claims int not null default 0, add column deaths int not null default 0,
  add column deaths_head bigint not null default 0, add column deaths_unreleased int not null default 0;
update S.runs set claims = 1 where token > 0;`,
  // Where the tables were when they were last used: location.ts.
  `
alter table S.store add column location text collate "C";`,
  // What a run goes on under; null where it is its graph's hash.
  `
alter table S.runs add column code text collate "C";`,
  // What limits across processes count by, and the runs that wait for a place; `part` says who shares a line fairly with others.
  `
create table S.limits (
  tenant text collate "C" not null, name text collate "C" not null, version text collate "C" not null, body text not null,
  primary key (tenant, name)) with (fillfactor = 50);
create table S.line (
  tenant text collate "C" not null, line text collate "C" not null, priority bigint not null, rank bigint not null,
  run bigint not null primary key, run_id text collate "C" not null, part text collate "C");
create index line_in_order on S.line (tenant, line, priority desc, rank, run);
create index line_by_run on S.line (tenant, run_id);
create index line_by_group on S.line (tenant, line, part, rank) where part is not null;`,
  // When runs came to an end, which only ends write; lines of removed ones; duties that one process does for all. Ends of before are noted
  // a part at a time (removals.ts), for which `runs_without_end` finds them. The look at removed runs is volatile: its view is that of now.
  `
alter table S.runs add column ended_at bigint;
create index runs_by_end on S.runs (tenant, graph_id, status, ended_at, no) where ended_at is not null;
create index runs_without_end on S.runs (no) where status >= 3 and ended_at is null;
create table S.removed (
  tenant text collate "C" not null, run_id text collate "C" not null, at bigint not null, until bigint not null,
  because text not null, primary key (tenant, run_id));
create index removed_until on S.removed (until);
create table S.duties (name text collate "C" primary key, owner text collate "C" not null, until bigint not null);
create function S.is_removed(text, text) returns boolean language sql volatile
  as $$ select exists (select 1 from S.removed where tenant = $1 and run_id = $2 and until > S.now_ms()) $$;`,
  // Which runs name which blobs, and how many writes have; what the rows of a graph's runs name, once for all of them, for good. `read_claims`
  // is `claims` as long as each claim was granted by a version that notes this, and `is_read` says so of a message: another version, which does
  // not know the columns, leaves them behind, and indexes find those runs. A claim writes indexes anyway; a message that is taken changes none. Their
  // conditions are such that the planner expects few rows, whatever it has counted.
  `
alter table S.runs add column read_claims int not null default -1;
alter table S.messages add column is_read boolean not null default false;
create table S.blob_references (
  tenant text collate "C" not null, hash text collate "C" not null, run bigint not null, times int not null,
  primary key (tenant, hash, run));
create index blob_references_by_run on S.blob_references (run);
create table S.definitions (
  tenant text collate "C" not null, hash text collate "C" not null, graph_id text collate "C" not null,
  primary key (tenant, hash, graph_id));
create index runs_unread on S.runs (tenant, no) where nullif(read_claims = claims, false) is null;
create index messages_unread on S.messages (run) where nullif(is_read, false) is null;`,
];

/** The newest layout that this version knows. */
const layoutVersion: number = layouts.length;

/** Tables with content, for tests and roles. `store` has the layout's version and the identity. */
export const contentTables = [
  'runs',
  'labels',
  'checkpoints',
  'snapshots',
  'waits',
  'messages',
  'tags',
  'blobs',
  'blob_pieces',
  'memory_writes',
  'memories',
  'live_pieces',
  'workers',
  'refusals',
  'limits',
  'line',
  'removed',
  'duties',
  'blob_references',
  'definitions',
] as const;

/** Writes a schema into a statement: its names begin with `S.`. */
export const inSchema = (text: string, schema: string): string => text.replaceAll(/\bS\./g, `"${schema}".`);

/** The version of the layout that is there; 0 if there is none. */
async function readVersion(query: Query, schema: string): Promise<number> {
  const [found] = await query<{ found: string | null }>(`select to_regclass($1)::text as found`, [`"${schema}".store`]);
  if (found?.found == null) return 0;
  const [row] = await query<{ version: number }>(`select version from "${schema}".store`);
  return row?.version ?? 0;
}

/**
 * Brings the tables of a schema to the newest layout. Processes that do so at the same time wait for one another.
 *
 * @returns the version before and after
 * @throws STORE_VERSION_UNKNOWN the tables are of a newer version; STORE_READ_ONLY, STORE_DENIED the role may not make tables
 */
export async function migrate(
  database: Database,
  schema: string,
): Promise<{ readonly from: number; readonly to: number }> {
  return database.transaction(async (query) => {
    await query(`select pg_advisory_xact_lock(${migrationLock})::text`);
    const from = await readVersion(query, schema);
    refuseNewer(database, from);
    if (from === layoutVersion) return { from, to: from };
    if (from === 0) {
      // A role without rights on the database may still own a schema that was made for it.
      const [made] = await query(`select 1 from pg_namespace where nspname = $1`, [schema]);
      if (made === undefined) await query(`create schema "${schema}"`);
      await query(
        inSchema(
          `create table S.store (one int primary key default 1 check (one = 1), version int not null, identity text collate "C" not null)`,
          schema,
        ),
      );
      await query(`revoke all on schema "${schema}" from public`);
      await query(`insert into "${schema}".store (version, identity) values (0, gen_random_uuid()::text)`);
    }
    const roles = from === 0 ? [] : await rolesOf(query, schema);
    for (const layout of layouts.slice(from)) await query(inSchema(layout, schema));
    await query(`update "${schema}".store set version = ${layoutVersion}`);
    await query(`revoke all on all functions in schema "${schema}" from public`);
    // What the new layout adds is for the same roles: workers that run as one go on.
    for (const { quoted, writes } of roles) await grantRights(query, schema, quoted, writes ? 'app' : 'viewer');
    return { from, to: layoutVersion };
  });
}

function refuseNewer(database: Database, version: number): void {
  if (version > layoutVersion)
    throw new CairnError('STORE_VERSION_UNKNOWN', { store: database.name, version, supported: layoutVersion });
}

/**
 * Checks that the tables are there and of a layout that this version knows; makes them if they are not and the role may.
 *
 * @throws STORE_VERSION_UNKNOWN; STORE_UNAVAILABLE there are no tables and the role may not make them
 */
export async function ensureLayout(database: Database, schema: string): Promise<void> {
  const version = await readVersion(database.query, schema);
  refuseNewer(database, version);
  if (version === layoutVersion) return;
  try {
    await migrate(database, schema);
  } catch (error) {
    if (!CairnError.is(error, 'STORE_READ_ONLY', 'STORE_DENIED')) throw error;
    const reason = version === 0 ? `schema ${schema} has no tables` : `schema ${schema} has layout ${version}`;
    const hint = 'Run as a role that may make tables: cairn migrate';
    throw new CairnError('STORE_UNAVAILABLE', { store: database.name, reason, hint }, { cause: error });
  }
}

/** What a role may do: `app` all that an engine needs, `viewer` only read. */
export type PostgresRole = 'app' | 'viewer';

/** Grants a role that exists what it needs of a store's schema. @throws STORE_READ_ONLY, STORE_DENIED this role may not grant it; CONFIG_INVALID there is no such role */
export async function grantRole(database: Database, schema: string, name: string, role: PostgresRole): Promise<void> {
  const [found] = await database.query<{ quoted: string }>(
    `select quote_ident(rolname) as quoted from pg_roles where rolname = $1`,
    [name],
  );
  if (found === undefined)
    throw new CairnError('CONFIG_INVALID', { path: 'role', reason: `the server has no role ${name}` });
  await database.transaction((query) => grantRights(query, schema, found.quoted, role));
}

async function grantRights(query: Query, schema: string, quoted: string, role: PostgresRole): Promise<void> {
  const rights = role === 'app' ? 'select, insert, update, delete' : 'select';
  await query(`grant usage on schema "${schema}" to ${quoted}`);
  await query(`grant ${rights} on all tables in schema "${schema}" to ${quoted}`);
  await query(`grant execute on all functions in schema "${schema}" to ${quoted}`);
  if (role === 'app') await query(`grant usage on all sequences in schema "${schema}" to ${quoted}`);
}

/** The roles that were granted rights on the runs, but for their owner. */
function rolesOf(
  query: Query,
  schema: string,
): Promise<readonly { readonly quoted: string; readonly writes: boolean }[]> {
  return query(
    `select quote_ident(r.rolname) as quoted, bool_or(a.privilege_type = 'INSERT') as writes
     from pg_class c cross join aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
     where c.oid = to_regclass($1) and a.grantee <> c.relowner and a.privilege_type in ('SELECT', 'INSERT')
     group by 1`,
    [`"${schema}".runs`],
  );
}
