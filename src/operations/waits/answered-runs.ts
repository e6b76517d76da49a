/** Runs whose questions are all answered, and that nobody goes on with: they need a resume. */
import { waitsForResume } from '../../history/read/list-runs.ts';
import type { WaitQuery } from '../../ports/store.ts';
import type { ReadContext } from '../declare/operation.ts';

export interface AnsweredRun {
  readonly runId: string;
  readonly graphId: string;
}

/** The waits that people answer. */
export const asked: NonNullable<WaitQuery['kinds']> = ['question', 'doubt'];

/** At most `limit` of them. @param runId - only this run */
export async function findAnsweredRuns(
  { store, tenant, isWorkerDead }: ReadContext,
  { runId: only, limit }: { readonly runId?: string; readonly limit: number },
): Promise<{ readonly runs: readonly AnsweredRun[]; readonly hasMore: boolean }> {
  const of = { tenant, kinds: asked };
  const page = await store.listWaits({ ...of, isAnswered: true, limit, ...(only !== undefined && { runId: only }) });
  const runs: AnsweredRun[] = [];
  for (const [runId, graphId] of new Map(page.rows.map((wait) => [wait.runId, wait.graphId]))) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined || !waitsForResume(run, isWorkerDead)) continue;
    const left = await store.listWaits({ ...of, runId, isAnswered: false, limit: 1 });
    if (left.rows.length === 0) runs.push({ runId, graphId });
  }
  return { runs, hasMore: page.cursor !== undefined };
}
