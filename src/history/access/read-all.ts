/**
 * Reads all runs and all waits of a store, page by page. Between two pages timers, signals and other calls get their turn: a store in this
 * process answers at once, so that nothing else would, and what was read would pile up.
 */
import type { RunRow, Store, OpenWait, RunQuery, WaitQuery } from '../../ports/store.ts';
import { requireIntact } from '../../ports/intact-run.ts';
import { letOthersIn } from '../stored/pace.ts';

interface Where {
  readonly store: Store;
  readonly tenant: string;
}

const pageSize = 200;

/** Runs, newest first. @param query - which runs; default: all. `limit` is the page size @param after - cursor of a page before */
export async function* readAllRuns(
  { store, tenant }: Where,
  query: Omit<RunQuery, 'tenant' | 'cursor'> = {},
  after?: string,
): AsyncGenerator<RunRow> {
  let cursor = after;
  do {
    const page = await store.listRuns({ tenant, limit: pageSize, ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
    if (cursor !== undefined) await letOthersIn();
  } while (cursor !== undefined);
}

/**
 * Runs, newest first, as an array. For code that changes runs, since a change moves a run within the list.
 * @param query - as for {@link readAllRuns}
 * @throws STORE_CORRUPT the row of a run is not as it was written
 */
export async function collectRuns(
  place: Where,
  query: Parameters<typeof readAllRuns>[1] = {},
): Promise<readonly RunRow[]> {
  const runs: RunRow[] = [];
  for await (const run of readAllRuns(place, query)) runs.push(requireIntact(place.store.name, run));
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
