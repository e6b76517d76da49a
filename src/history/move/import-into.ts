/** Takes an exported run into a place (H4). */
import type { WritePlace } from '../place/place.ts';
import { importRun, type ImportReport } from './import.ts';

/** Options of an import. */
export interface ImportAs {
  /** Keep the run's id; for an export made with `move`. Default false: import a copy. */
  readonly move?: boolean;
  /** Id of the copy. Default: a new one. */
  readonly runId?: string;
}

/** Imports a run. @param text - the text of {@link exportRun}, in pieces of any size. @throws the errors of {@link importRun} */
export function importInto(
  { store, blobs, tenant, ids, now, isWorkerDead }: WritePlace,
  text: AsyncIterable<string>,
  { move = false, runId }: ImportAs = {},
): Promise<ImportReport> {
  return importRun(store, blobs, text, {
    tenant,
    workerId: ids.workerId,
    isWorkerDead,
    ...(move ? { as: 'move' } : { as: 'copy', newRunId: runId ?? ids.createRunId(now()) }),
  });
}
