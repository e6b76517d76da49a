/** Claims of runs: granted, extended, given up. Tokens come from a sequence, and a grant is durable before it is known, so none comes twice. */
import { CairnError } from '../../errors.ts';
import type {
  Claim,
  ClaimableQuery,
  ClaimReply,
  ClaimRequest,
  GrantedClaim,
  NextRequest,
  RunKey,
} from '../../ports/store.ts';
import { keyOf, fromText, modeTable, runColumns, toGranted, toText, type StoredRun, type Tables } from './tables.ts';

/** Who holds a run that was refused is read in the statement that refused it. */
const claimOne = `
  with found as materialized (
    select no, owner, lease_until - S.now_ms() as remaining from S.runs
    where tenant = $1 and run_id = $2 for no key update),
  claimed as (
    update S.runs r set token = nextval('S.tokens'), owner = $3, lease_until = S.now_ms() + $4::bigint
    from found where r.no = found.no and (found.owner is null or found.remaining <= 0 or found.owner = $5::text)
    returning ${runColumns})
  select claimed.*, found.owner as found_owner, found.remaining as found_remaining
  from found left join claimed on true`;

/** Renewals and releases need not be durable: one that is lost leaves a lease that runs out. */
const quick = modeTable(`'off'`);

const renew = `
  with ${quick}
  update S.runs set lease_until = S.now_ms() + $4::bigint from mode
  where set = 'off' and tenant = $1 and run_id = $2 and token = $3 returning message_count`;

const release = `
  with ${quick}
  update S.runs set token = nextval('S.tokens'), owner = null, lease_until = 0 from mode
  where set = 'off' and tenant = $1 and run_id = $2 and token = $3 returning no`;

/** The newest token of a run; 0 if there is no such run. */
export async function readToken(tables: Tables, key: RunKey): Promise<number> {
  const [row] = await tables.query<{ token: number }>(
    `select token from S.runs where tenant = $1 and run_id = $2`,
    keyOf(key),
  );
  return row?.token ?? 0;
}

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
 * The statement for a request with these filters. Free runs are found by an index in their order, for each graph that was asked for; leases
 * that ran out by an index of their own. A row that another worker is just claiming is passed over.
 */
function nextText(hasGraphs: boolean, hasQueues: boolean, hasExcept: boolean, claims: boolean): string {
  const filter = `${hasQueues ? 'and queue = any($7::text[])' : ''} ${hasExcept ? 'and not (run_id = any($8::text[]))' : ''}`;
  const due = `r.tenant = $1 and r.ready_at <= at.ms and r.due <= at.ms`;
  const order = `order by priority desc, ready_at, no limit $3`;
  const free = `select r.no, r.priority, r.ready_at from S.runs r, at where ${due} and r.ready_at is not null and r.owner is null ${filter}`;
  const lapsed = `select r.no, r.priority, r.ready_at from S.runs r, at where ${due} and r.ready_at is not null and r.owner is not null
    and r.lease_until <= S.now_ms() ${hasGraphs ? 'and r.graph_id = any($6::text[])' : ''} ${filter}`;
  const locked = claims ? 'for no key update of r skip locked' : '';
  const end = claims
    ? `update S.runs r set token = nextval('S.tokens'), owner = $4, lease_until = S.now_ms() + $5::bigint
    from chosen where r.no = chosen.no returning ${runColumns}, r.ready_at`
    : 'select r.run_id, r.no, r.priority, r.ready_at from S.runs r join chosen on r.no = chosen.no';
  return `
    with at as materialized (select coalesce($2::bigint, S.now_ms()) as ms, $4::text, $5::bigint, $6::text[], $7::text[], $8::text[]),
    free as materialized (${
      hasGraphs
        ? `select found.* from (select distinct unnest($6::text[]) as id) graph cross join lateral
          (${free} and r.graph_id = graph.id ${order} ${locked}) found`
        : `${free} ${order} ${locked}`
    }),
    lapsed as materialized (${lapsed} ${order} ${locked}),
    chosen as (select * from (select * from free union all select * from lapsed) c ${order})
    ${end}`;
}

/** Finds the runs that can go on, in order, and claims them if a worker is named. */
async function findNext(
  tables: Tables,
  { tenant, at, graphs, queues, except = [], limit }: ClaimableQuery,
  worker: Pick<NextRequest, 'workerId' | 'leaseMs'> | undefined,
): Promise<readonly (StoredRun & { ready_at: number })[]> {
  if (limit <= 0 || graphs?.length === 0 || queues?.length === 0) return [];
  const rows = await tables.query<StoredRun & { ready_at: number }>(
    nextText(graphs !== undefined, queues !== undefined, except.length > 0, worker !== undefined),
    [
      toText(tenant),
      at ?? null,
      limit,
      worker === undefined ? null : toText(worker.workerId),
      worker?.leaseMs ?? null,
      graphs?.map(toText) ?? null,
      queues?.map(toText) ?? null,
      except.map(toText),
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

/** @throws CLAIM_FENCED */
export async function renewClaim(tables: Tables, claim: Claim): Promise<{ readonly hasMessages: boolean }> {
  const { runId, token, leaseMs } = claim;
  const [row] = await tables.query<{ message_count: number }>(renew, [...keyOf(claim), token, leaseMs]);
  if (row !== undefined) return { hasMessages: row.message_count > 0 };
  throw new CairnError('CLAIM_FENCED', { runId, held: token, current: await readToken(tables, claim) });
}

/** @returns whether the claim was the newest */
export async function releaseClaim(tables: Tables, claim: Claim): Promise<boolean> {
  return (await tables.query(release, [...keyOf(claim), claim.token])).length > 0;
}
