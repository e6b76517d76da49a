/** Finds the run that a person or model names. */
import { findRun as findNamed, resolveReference } from '../../history/read/tag-checkpoint.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadContext } from '../contract/operation.ts';

type Where = Pick<ReadContext, 'store' | 'tenant'>;

/**
 * Finds a run by its id, its key, or a unique prefix of either. @throws RUN_NOT_FOUND; CHECKPOINT_AMBIGUOUS several runs match; STORE_* as
 * the store
 */
export function findRun({ store, tenant }: Where, name: string): Promise<RunRow> {
  return findNamed(store, tenant, name);
}

/**
 * Like {@link findRun}; a name of a checkpoint is accepted too and stands for its run. @throws the errors of {@link findRun},
 * CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED
 */
export async function findRunOf({ store, tenant }: Where, name: string): Promise<RunRow> {
  return (await resolveReference(store, tenant, name)).run;
}
