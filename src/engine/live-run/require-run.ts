/** The row of a run that must be there. */
import type { RunRow } from '../../ports/store.ts';
import type { EngineEnvironment } from './run-core.ts';
import { missingRun } from '../../ports/removed-runs.ts';

/** @throws RUN_NOT_FOUND; RUN_EXPIRED it was removed */
export async function requireRun({ store, tenant }: EngineEnvironment, runId: string): Promise<RunRow> {
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) throw await missingRun(store, { tenant, runId });
  return run;
}
