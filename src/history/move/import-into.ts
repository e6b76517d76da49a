/** Takes an exported run into a place (H4). */
import type { WritePlace } from '../place/place.ts';
import { importRun, type ImportReport } from './import.ts';

/** Whether an import is the run itself or a copy of it. */
export interface ImportAs {
  /** Keeps its id: it was exported to be moved. */
  readonly move?: boolean;
  /** Id of the copy. Default: a new one. */
  readonly runId?: string;
}

/** @param text - what {@link exportRun} gave, in any pieces. @throws as {@link importRun} */
export function importInto(
  { store, blobs, tenant, ids, now }: WritePlace,
  text: AsyncIterable<string>,
  { move = false, runId }: ImportAs = {},
): Promise<ImportReport> {
  return importRun(store, blobs, text, {
    tenant,
    workerId: ids.workerId,
    ...(move ? { as: 'move' } : { as: 'copy', newRunId: runId ?? ids.createRunId(now()) }),
  });
}
