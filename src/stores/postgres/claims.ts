/**
 * Claims of runs: granted, extended, released. Tokens come from a sequence, and a grant is durable before it is known, so none comes twice.
 */
import { CairnError } from '../../errors.ts';
import { heldBy } from '../../ports/held-runs.ts';
import type { Backlog } from '../../ports/run-counts.ts';
import type {
  Claim,
  ClaimableQuery,
  ClaimReply,
  ClaimRequest,
  GrantedClaim,
  GraphCodes,
  NextRequest,
  Renewal,
  WorkerBeat,
  WorkerRow,
} from '../../ports/store.ts';
import {
  keyOf,
  fromText,
  modeTable,
  runColumns,
  statusCode,
  toBytes,
  toGranted,
  toText,
  type StoredRun,
  type Tables,
} from './tables.ts';

/** Counts a claim of a run `r`, and the death of an owner that it is taken over from, unless a person holds it. */
const countDeath = (
  workerId: string,
): string => `claims = r.claims + 1, read_claims = case when r.read_claims = r.claims then r.claims + 1 else r.read_claims end, deaths_head = r.head,
      deaths = (case when r.deaths_head = r.head then r.deaths else 0 end) + coalesce(r.owner <> ${workerId} and ${workerId} <> '${heldBy}', false)::int,
      deaths_unreleased = (case when r.status = ${statusCode('paused')} then 0 else r.deaths_unreleased end) + coalesce(r.owner <> ${workerId} and ${workerId} <> '${heldBy}', false)::int`;

/** Who holds a run that was refused is read in the statement that refused it. */
const claimOne = `
  with found as materialized (
    select no, owner, lease_until - S.now_ms() as remaining from S.runs
    where tenant = $1 and run_id = $2 for no key update),
  claimed as (
    update S.runs r set token = nextval('S.tokens'), owner = $3, lease_until = S.now_ms() + $4::bigint, ${countDeath('$3')}
    from found where r.no = found.no and (found.owner is null or found.remaining <= 0 or found.owner = $5::text)
    returning ${runColumns})
  select claimed.*, found.owner as found_owner, found.remaining as found_remaining
  from found left join claimed on true`;

/** The most refusals of a run that are recorded. */
const refusalsMax = 32;
/** How long a worker is listed after it was last heard of. */
const workerListedMs = 24 * 3_600_000;

/** Renewals and releases need not be durable: one that is lost leaves a lease that runs out. */
const quick = modeTable(`'off'`);

/** Rows are locked in one order, so that two renewals never wait for each other. */
export const renewText: string = `
  with ${quick},
  renewals as materialized (
    select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) with ordinality a(tenant, run_id, token, lease, i)),
  locked as materialized (
    select r.no, a.i, a.lease from renewals a join S.runs r on r.tenant = a.tenant and r.run_id = a.run_id and r.token = a.token
    order by r.no for no key update of r),
  renewed as (
    update S.runs r set lease_until = S.now_ms() + l.lease from locked l, mode
    where set = 'off' and r.no = l.no returning l.i, r.message_count)
  select a.i, n.message_count, (
    case when n.i is null then (select token from S.runs r where r.tenant = a.tenant and r.run_id = a.run_id) end) as current
  from renewals a left join renewed n on n.i = a.i order by a.i`;

const release = `
  with ${quick},
  released as (
    update S.runs set token = nextval('S.tokens'), owner = null, lease_until = 0 from mode
    where set = 'off' and tenant = $1 and run_id = $2 and token = $3 returning no, head),
  old as (
    delete from S.refusals f using released where f.run = released.no and $4::text is not null
      and (f.head < released.head or f.refused_by = any(
        select o.refused_by from S.refusals o where o.run = released.no order by o.at desc offset ${refusalsMax - 1}))
      and f.refused_by <> $4::text),
  refused as (
    insert into S.refusals (run, refused_by, head, at) select no, $4::text, head, S.now_ms() from released where $4::text is not null
    on conflict (run, refused_by) do update set head = excluded.head, at = excluded.at)
  select no from released`;

const note = `
  with ${quick},
  old as (delete from S.workers where seen_at < S.now_ms() - ${workerListedMs})
  insert into S.workers (tenant, worker_id, graphs, seen_at, alive_until, body)
  select $1, $2, $3::text::jsonb, S.now_ms(), S.now_ms() + $4::bigint, $5 from mode where set = 'off'
  on conflict (tenant, worker_id) do update set graphs = excluded.graphs, seen_at = excluded.seen_at,
    alive_until = excluded.alive_until, body = excluded.body`;

export async function claimRun(tables: Tables, request: ClaimRequest): Promise<ClaimReply> {
  const { runId, workerId, leaseMs, takeFrom } = request;
  const from = takeFrom === undefined ? null : toText(takeFrom);
  const [row] = await tables.query<StoredRun & { found_owner: string | null; found_remaining: number }>(claimOne, [
    ...keyOf(request),
    toText(workerId),
    leaseMs,
    from,
  ]);
  if (row === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
  if (row.no !== null) return toGranted(row, workerId, leaseMs);
  return { owner: fromText(row.found_owner ?? ''), remainingMs: row.found_remaining };
}

/**
 * Condition on a run `r`: the asker's code has not refused it at its head, and is the run's own, or no live worker has that and the asker is
 * not pinned.
 */
const fitsCode = (isPinned: boolean): string => `not exists (
  select 1 from code where code.graph_id = r.graph_id and (
    exists (select 1 from S.refusals f where f.run = r.no and f.head = r.head and f.refused_by = code.hash)
    or (code.hash <> coalesce(r.code, r.graph_hash) and r.code is distinct from '' and (${isPinned} or exists (
      select 1 from S.workers w where w.tenant = r.tenant and w.alive_until > S.now_ms()
        and w.graphs ->> r.graph_id = coalesce(r.code, r.graph_hash))))))`;

interface NextShape {
  readonly hasGraphs: boolean;
  readonly hasQueues: boolean;
  readonly hasExcept: boolean;
  readonly hasCodes: boolean;
  readonly isPinned: boolean;
  readonly claims: boolean;
}

/** The priorities of free runs that meet a condition, each found by one look into the index. */
const prioritiesOf = (where: string): string => {
  const highest = (below: string): string =>
    `select q.priority from S.runs q where q.tenant = $1 and ${where} and q.ready_at is not null and q.owner is null ${below} order by q.priority desc limit 1`;
  return `(with recursive p as ((${highest('')})
      union all select (${highest('and q.priority < p.priority')}) from p where p.priority is not null)
    select priority from p where priority is not null) level`;
};

/**
 * The statement for a request with these filters. Free runs are found by an index in their order, for each requested graph and each
 * priority, so that those which are due later are not read; leases that ran out by an index of their own. A row that another worker is just
 * claiming is passed over. The time is one value: a join with it would read all that is not due.
 */
function nextText({ hasGraphs, hasQueues, hasExcept, hasCodes, isPinned, claims }: NextShape): string {
  const filter = `${hasQueues ? 'and queue = any($7::text[])' : ''} ${hasExcept ? 'and not (run_id = any($8::text[]))' : ''}
    ${hasCodes ? `and ${fitsCode(isPinned)}` : ''}`;
  const now = '(select ms from at)';
  const due = `r.tenant = $1 and r.ready_at <= ${now} and r.due <= ${now}`;
  const order = `order by priority desc, ready_at, no limit $3`;
  const locked = claims ? 'for no key update of r skip locked' : '';
  const graph = hasGraphs ? 'r.graph_id = graph.id' : 'true';
  const free = `select r.no, r.priority, r.ready_at from S.runs r where ${due} and ${graph} and r.priority = level.priority
    and r.ready_at is not null and r.owner is null ${filter} order by r.ready_at, r.no limit $3 ${locked}`;
  const lapsed = `select r.no, r.priority, r.ready_at from S.runs r where ${due} and r.ready_at is not null and r.owner is not null
    and r.lease_until <= S.now_ms() ${hasGraphs ? 'and r.graph_id = any($6::text[])' : ''} ${filter} ${order} ${locked}`;
  const levels = hasGraphs
    ? `(select distinct unnest($6::text[]) as id) graph cross join lateral ${prioritiesOf('q.graph_id = graph.id')}`
    : prioritiesOf('true');
  const end = claims
    ? `update S.runs r set token = nextval('S.tokens'), owner = $4, lease_until = S.now_ms() + $5::bigint, ${countDeath('$4')}
    from chosen where r.no = chosen.no returning ${runColumns}, r.ready_at`
    : 'select r.run_id, r.no, r.priority, r.ready_at from S.runs r join chosen on r.no = chosen.no';
  return `
    with at as materialized (select coalesce($2::bigint, S.now_ms()) as ms, $4::text, $5::bigint, $6::text[], $7::text[], $8::text[], $9::text),
    code as materialized (select key as graph_id, value as hash from json_each_text($9::text::json)),
    free as materialized (select found.* from ${levels} cross join lateral (${free}) found),
    lapsed as materialized (${lapsed}),
    chosen as (select * from (select * from free union all select * from lapsed) c ${order})
    ${end}`;
}

/** Finds the runs that can go on, in order, and claims them if a worker is named. */
async function findNext(
  tables: Tables,
  { tenant, at, graphs, queues, codes = {}, isPinned = false, except = [], limit }: ClaimableQuery,
  worker: Pick<NextRequest, 'workerId' | 'leaseMs'> | undefined,
): Promise<readonly (StoredRun & { ready_at: number })[]> {
  if (limit <= 0 || graphs?.length === 0 || queues?.length === 0) return [];
  const rows = await tables.query<StoredRun & { ready_at: number }>(
    nextText({
      hasGraphs: graphs !== undefined,
      hasQueues: queues !== undefined,
      hasExcept: except.length > 0,
      hasCodes: Object.keys(codes).length > 0,
      isPinned,
      claims: worker !== undefined,
    }),
    [
      toText(tenant),
      at ?? null,
      limit,
      worker === undefined ? null : toText(worker.workerId),
      worker?.leaseMs ?? null,
      graphs?.map(toText) ?? null,
      queues?.map(toText) ?? null,
      except.map(toText),
      codesToJson(codes),
    ],
  );
  return [...rows].sort((a, b) => b.priority - a.priority || a.ready_at - b.ready_at || a.no - b.no);
}

export async function claimNext(tables: Tables, request: NextRequest): Promise<readonly GrantedClaim[]> {
  const rows = await findNext(tables, request, request);
  return rows.map((row) => toGranted(row, request.workerId, request.leaseMs));
}

/** Ids of the runs that `claimNext` would claim. */
export async function listClaimable(tables: Tables, query: ClaimableQuery): Promise<readonly string[]> {
  return (await findNext(tables, query, undefined)).map((row) => fromText(row.run_id));
}

/** No more ready runs than this are counted. */
const backlogMax = 10_000;

/** How many runs could go on now, and for how long the one that waits longest could have. */
export async function readBacklog(
  tables: Tables,
  { tenant, graphs, queues }: Pick<ClaimableQuery, 'tenant' | 'graphs' | 'queues'>,
): Promise<Backlog> {
  const part = (isFree: string): string => `
    (select r.ready_at from S.runs r where r.tenant = $1 and r.ready_at is not null and r.ready_at <= S.now_ms()
      and r.due <= S.now_ms() and ${isFree} and ($2::text[] is null or r.graph_id = any($2::text[]))
      and ($3::text[] is null or r.queue = any($3::text[])) limit ${backlogMax})`;
  const [row] = await tables.query<{ ready: number; oldest: number | null }>(
    `select least(count(*), ${backlogMax}) as ready, S.now_ms() - min(ready_at) as oldest from (
      ${part('r.owner is null')} union all ${part('r.owner is not null and r.lease_until <= S.now_ms()')}) found`,
    [toText(tenant), graphs?.map(toText) ?? null, queues?.map(toText) ?? null],
  );
  return { ready: row?.ready ?? 0, ...(row?.oldest != null && { oldestMs: Math.max(0, row.oldest) }) };
}

/** Renews claims, all in one statement. */
export async function renewClaims(tables: Tables, claims: readonly Claim[]): Promise<readonly Renewal[]> {
  if (claims.length === 0) return [];
  const rows = await tables.query<{ message_count: number | null; current: number | null }>(renewText, [
    claims.map(({ tenant }) => toText(tenant)),
    claims.map(({ runId }) => toText(runId)),
    claims.map(({ token }) => token),
    claims.map(({ leaseMs }) => leaseMs),
  ]);
  return rows.map(({ message_count: count, current }) =>
    count === null ? { isHeld: false, current: current ?? 0 } : { isHeld: true, hasMessages: count > 0 },
  );
}

/** @returns whether the claim was the newest */
export async function releaseClaim(tables: Tables, claim: Claim, refusedBy: string | undefined): Promise<boolean> {
  const by = refusedBy === undefined ? null : toText(refusedBy);
  return (await tables.query(release, [...keyOf(claim), claim.token, by])).length > 0;
}

export async function noteWorker(tables: Tables, worker: WorkerBeat): Promise<void> {
  const { tenant, workerId, graphs, aliveMs, body } = worker;
  await tables.query(note, [toText(tenant), toText(workerId), codesToJson(graphs), aliveMs, Buffer.from(body)]);
}

const codesToJson = (codes: GraphCodes): string =>
  JSON.stringify(Object.fromEntries(Object.entries(codes).map(([id, code]) => [toText(id), toText(code)])));

/** The workers that were heard of within the last day. */
export async function listWorkers(tables: Tables, tenant: string): Promise<readonly WorkerRow[]> {
  const rows = await tables.query<{
    worker_id: string;
    graphs: string;
    seen_at: number;
    remaining: number;
    body: Uint8Array;
  }>(
    `select worker_id, graphs::text, seen_at, alive_until - S.now_ms() as remaining, body from S.workers
    where tenant = $1 and seen_at >= S.now_ms() - ${workerListedMs} order by worker_id`,
    [toText(tenant)],
  );
  return rows.map(({ worker_id: id, graphs, seen_at: seenAt, remaining, body }) => ({
    tenant,
    workerId: fromText(id),
    graphs: Object.fromEntries(
      Object.entries(JSON.parse(graphs) as GraphCodes).map(([graph, code]) => [fromText(graph), fromText(code)]),
    ),
    seenAt,
    remainingMs: remaining,
    body: toBytes(body),
  }));
}
