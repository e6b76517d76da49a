/** The run that a person or a model names. */
import { findRun as findNamed, resolveReference } from '../../history/read/references.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadContext } from '../declare/operation.ts';

type Where = Pick<ReadContext, 'store' | 'tenant'>;

/** By its id, its key, or a unique prefix of either. @throws RUN_NOT_FOUND; CHECKPOINT_AMBIGUOUS several runs begin like this; STORE_* as the store */
export function findRun({ store, tenant }: Where, name: string): Promise<RunRow> {
  return findNamed(store, tenant, name);
}

/** The same, or the run of a checkpoint that is named: for what does not depend on which of its checkpoints is meant. @throws as {@link findRun}, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED */
export async function findRunOf({ store, tenant }: Where, name: string): Promise<RunRow> {
  return (await resolveReference(store, tenant, name)).run;
}
