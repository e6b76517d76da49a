/** Takes an exported run into a place (H4). */
import type { WritePlace } from '../access/place.ts';
import { importRun, type ImportReport } from './import.ts';

/** Options of an import. */
export interface ImportAs {
  /** Keep the run's id; for an export made with `move`. Default false: import a copy. */
  readonly move?: boolean;
  /** Id of the copy. Default: a new one. */
  readonly runId?: string;
  /**
   * Whether the run may do what its text says, as if it had been started here from a file. Default false: what it may reach for is what the
   * process that goes on with it grants. Graphs that a program brings are not concerned.
   */
  readonly trust?: boolean;
}

/** Imports a run. @param text - the text of {@link exportRun}, in pieces of any size. @throws the errors of {@link importRun} */
export function importInto(
  { store, blobs, tenant, ids, now, isWorkerDead }: WritePlace,
  text: AsyncIterable<string>,
  { move = false, runId, trust = false }: ImportAs = {},
): Promise<ImportReport> {
  return importRun(store, blobs, text, {
    tenant,
    workerId: ids.workerId,
    isWorkerDead,
    isTrusted: trust,
    ...(move ? { as: 'move' } : { as: 'copy', newRunId: runId ?? ids.createRunId(now()) }),
  });
}
