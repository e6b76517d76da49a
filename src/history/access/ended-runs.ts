/** The runs of a graph that ended, in the order of their ends, of any store. */
import type { EndedQuery, EndedRun, EndedRuns, EndedStatus } from '../../ports/removals.ts';
import type { Store } from '../../ports/store.ts';
import { readAllRuns } from './read-all.ts';

export const endedStatuses: readonly EndedStatus[] = ['completed', 'failed', 'cancelled'];

/** How a store finds its ended runs: by its index, or by all runs in pages. Then a list is one page, whatever its limit. */
export function endedRunsOf(store: Store): EndedRuns {
  return store.ended ?? { graphs: (tenant) => scanGraphs(store, tenant), list: (query) => scan(store, query) };
}

async function scanGraphs(store: Store, tenant: string): Promise<readonly string[]> {
  const graphs = new Set<string>();
  for await (const { graphId } of readAllRuns({ store, tenant }, { status: endedStatuses })) graphs.add(graphId);
  return [...graphs].sort();
}

async function scan(
  store: Store,
  { tenant, graphId, status, endedBefore, beyond }: EndedQuery,
): Promise<{ readonly rows: readonly EndedRun[] }> {
  const found: (EndedRun & { readonly status: string })[] = [];
  for await (const run of readAllRuns({ store, tenant }, { graphId, status: endedStatuses })) {
    const { runId, updatedAt: endedAt, hasForks = false, hasTags = false } = run;
    if (run.isDamaged !== true) found.push({ runId, endedAt, hasForks, hasTags, status: run.status });
  }
  // Those that were admitted last come first.
  const inOrder = found.reverse().sort((a, b) => a.endedAt - b.endedAt);
  const spare = beyond === undefined ? 0 : Math.max(0, inOrder.length - beyond);
  const isAny = endedBefore === undefined && beyond === undefined;
  const rows = inOrder.filter(
    (run, index) => run.status === status && (isAny || index < spare || run.endedAt < (endedBefore ?? -Infinity)),
  );
  return { rows };
}
