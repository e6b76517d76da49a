/** All runs of a store, page by page. */
import type { RunQuery, RunRow } from '../../ports/store.ts';
import type { ReadContext } from '../declare/operation.ts';

const pageSize = 200;

/** @param query - which of them; default: all */
export async function* readAllRuns(
  { store, tenant }: Pick<ReadContext, 'store' | 'tenant'>,
  query: Pick<RunQuery, 'parentRunId' | 'status' | 'graphId'> = {},
): AsyncGenerator<RunRow> {
  let cursor: string | undefined;
  do {
    const page = await store.listRuns({ tenant, limit: pageSize, ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Those of a graph, or all, newest first; for what changes runs, which moves them in the list. */
export async function collectRuns(context: ReadContext, graphId?: string): Promise<readonly RunRow[]> {
  const runs: RunRow[] = [];
  for await (const run of readAllRuns(context, graphId === undefined ? {} : { graphId })) runs.push(run);
  return runs;
}
