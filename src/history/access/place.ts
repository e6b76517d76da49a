/** A place: the store where histories are, with what is needed to read or change them. */
import { CairnError } from '../../errors.ts';
import type { Claim, RunRow, Store, GrantedClaim, OpenWait, RunQuery, WaitQuery } from '../../ports/store.ts';
import type { ChoiceExplainer } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Ids } from '../../ports/ids.ts';
import { heldBy } from '../../ports/held-runs.ts';
import { requireIntact } from '../../ports/intact-run.ts';

export function isHeld({ claim }: Pick<RunRow, 'claim'>): boolean {
  return claim?.workerId === heldBy;
}

/** The error for a claim that was refused because `owner` has the run. */
export function refusalOf(runId: string, owner: string, remainingMs: number): CairnError {
  return owner === heldBy
    ? new CairnError('RUN_HELD', { runId })
    : new CairnError('CLAIM_TAKEN', { runId, owner, remainingMs });
}

export function fencedError({ runId, token }: Claim, current: number): CairnError {
  return new CairnError('CLAIM_FENCED', { runId, token, current });
}

/** Extends the lease of one claim. @throws CLAIM_FENCED */
export async function renewClaim(store: Store, claim: Claim): Promise<void> {
  const [renewal] = await store.renewClaims([claim]);
  if (renewal?.isHeld !== true) throw fencedError(claim, renewal?.current ?? 0);
}

/** A place for code that only lists runs. */
export interface ReadPlace {
  readonly tenant: string;
  readonly store: Store;
  /** Whether the worker with this id is known to be dead; undefined if not known. */
  readonly isWorkerDead: (workerId: string) => boolean | undefined;
  /** The current time in epoch ms, for computing ages. */
  readonly now: () => number;
}

/** A place for code that reads states: their large values are blobs. */
export interface StatePlace extends ReadPlace {
  readonly blobs: BlobStore;
  /** Loads what explains choices that a dialect compiled into graphs. Default: of those, only the edges taken are shown. */
  readonly explainChoice?: () => Promise<ChoiceExplainer>;
}

/** A place for code that changes histories. It acts as a worker and claims the run first. */
export interface WritePlace extends StatePlace {
  /** Id of that worker, and whether others are dead. */
  readonly ids: Ids;
}

// Does something to a run under a claim.

const leaseMs = 60_000;

/** Claims a run; takes it over from a worker that is known to be dead. The caller must release the claim. @throws CLAIM_TAKEN, RUN_HELD */
export async function takeClaim({ store, ids, isWorkerDead }: WritePlace, run: RunRow): Promise<GrantedClaim> {
  const { tenant, runId } = run;
  const owner = run.claim?.workerId;
  const takeFrom = owner !== undefined && isWorkerDead(owner) === true ? owner : undefined;
  const reply = await store.claimRun({
    tenant,
    runId,
    workerId: ids.workerId,
    leaseMs,
    ...(takeFrom !== undefined && { takeFrom }),
  });
  if (reply.claim === undefined) throw refusalOf(runId, reply.owner, reply.remainingMs);
  return reply;
}

/** Calls a function under a claim, and always releases the claim. @throws CLAIM_TAKEN, RUN_HELD */
export async function withClaim<Result>(
  place: WritePlace,
  row: RunRow,
  act: (claim: Claim, run: RunRow) => Promise<Result>,
): Promise<Result> {
  const { claim, run } = await takeClaim(place, row);
  try {
    return await act(claim, run);
  } finally {
    await place.store.releaseClaim(claim);
  }
}

// Reads all runs and all waits of a store, page by page.

interface Where {
  readonly store: Store;
  readonly tenant: string;
}

const pageSize = 200;

/** Runs, newest first. @param query - which runs; default: all. `limit` is the page size */
export async function* readAllRuns(
  { store, tenant }: Where,
  query: Omit<RunQuery, 'tenant' | 'cursor'> = {},
): AsyncGenerator<RunRow> {
  let cursor: string | undefined;
  do {
    const page = await store.listRuns({ tenant, limit: pageSize, ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/**
 * All runs, or those of one graph, newest first, as an array. For code that changes runs, since a change moves a run within the list.
 * @throws STORE_CORRUPT the row of a run is not as it was written
 */
export async function collectRuns(place: Where, graphId?: string): Promise<readonly RunRow[]> {
  const runs: RunRow[] = [];
  for await (const run of readAllRuns(place, graphId === undefined ? {} : { graphId })) {
    runs.push(requireIntact(place.store.name, run));
  }
  return runs;
}

/** Open waits, soonest due first. @param query - as for {@link readAllRuns} */
export async function* readAllWaits(
  { store, tenant }: Where,
  query: Omit<WaitQuery, 'tenant' | 'cursor'> = {},
): AsyncGenerator<OpenWait> {
  let cursor: string | undefined;
  do {
    const page = await store.listWaits({ tenant, limit: pageSize, ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Ids of the waits of a run whose answer waits to be taken: its state has them as open. */
export async function readAnsweredIds(store: Store, run: RunRow): Promise<ReadonlySet<string>> {
  const { tenant, runId } = run;
  const ids = new Set<string>();
  if (!run.hasMessages) return ids;
  for await (const { waitId } of readAllWaits({ store, tenant }, { runId, isAnswered: true })) ids.add(waitId);
  return ids;
}
