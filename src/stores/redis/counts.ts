/** Counts of runs, without reading them. */
import type { OpenCounts } from '../../ports/run-counts.ts';
import type { CountQuery, RunQuery } from '../../ports/store.ts';
import type { RedisServer } from './server.ts';

/** The runs of a query, as the server takes it. */
export function fixedQuery({
  tenant,
  graphId,
  parentRunId,
  labels = {},
  since,
  until,
}: RunQuery): Readonly<Record<string, unknown>> {
  return { tenant, graphId, parentRun: parentRunId, labels: Object.entries(labels), since, till: until };
}

/** Of several statuses each is counted by itself, since each has an index of its own. Ends: each call begins after the one before. */
export async function countRuns(server: RedisServer, { exceptIds = [], ...query }: CountQuery): Promise<number> {
  let sum = 0;
  for (const status of query.status ?? [undefined])
    for (let before = Number.MAX_SAFE_INTEGER; before > 0;) {
      const fixed = { ...fixedQuery(query), status: status && [status], exceptIds };
      const [count, next] = await server.call('countRuns', { ...fixed, before });
      sum += Number(count);
      before = Number(next);
    }
  return sum;
}

export async function countOpen(server: RedisServer, tenant: string): Promise<OpenCounts> {
  const [running = 0, cancelling = 0, paused = 0, waits = 0, overdue = 0] = (
    await server.call('count', { tenant })
  ).map(Number);
  return { runs: { running, cancelling, paused }, waits, overdue };
}
