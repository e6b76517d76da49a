/** Finds a run by its id, or by a unique prefix of its id or key. */
import { CairnError } from '../errors.ts';
import type { RunRow } from '../ports/store.ts';
import type { ReadContext } from './operation.ts';

const shownMatches = 5;

/**
 * Finds the one run that is meant by a reference; an exact id wins over a prefix.
 *
 * @throws RUN_NOT_FOUND; CHECKPOINT_AMBIGUOUS several runs begin like this; STORE_* as the store
 */
export async function findRun(
  { store, tenant }: Pick<ReadContext, 'store' | 'tenant'>,
  reference: string,
): Promise<RunRow> {
  if (reference === '') throw new CairnError('RUN_NOT_FOUND', { runId: reference });
  const exact = await store.readRun({ tenant, runId: reference });
  if (exact !== undefined) return exact;
  const matches = await store.findRuns(tenant, reference, shownMatches);
  const [only, ...others] = matches;
  if (only === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: reference });
  if (others.length > 0)
    throw new CairnError('CHECKPOINT_AMBIGUOUS', { reference, matches: matches.map(({ runId }) => runId) });
  return only;
}
