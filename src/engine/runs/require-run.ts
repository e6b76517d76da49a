/** The row of a run that must be there. */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

/** @throws RUN_NOT_FOUND */
export async function requireRun({ store, tenant }: EngineEnvironment, runId: string): Promise<RunRow> {
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
  return run;
}
