/** Finds the run that a person or model names. */
import { findRun as findNamed, resolveReference, type ResolvedReference } from '../../history/read/references.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadContext } from '../contract/operation.ts';

export { quotedRun, runName } from '../../history/read/references.ts';

type Where = Pick<ReadContext, 'store' | 'tenant'>;

/**
 * Finds a run by its id, its key, or a unique prefix of either. @throws RUN_NOT_FOUND; CHECKPOINT_AMBIGUOUS several runs match; STORE_* as
 * the store
 */
export function findRun({ store, tenant }: Where, name: string): Promise<RunRow> {
  return findNamed(store, tenant, name);
}

/**
 * Finds the run that is about to be changed or answered. The beginning of an id is not enough: the run that was meant may be gone, and
 * another one begin alike. @throws RUN_NOT_FOUND names the runs that begin so; CHECKPOINT_AMBIGUOUS
 */
export function findRunToChange({ store, tenant }: Where, name: string): Promise<RunRow> {
  return findNamed(store, tenant, name, { byPrefix: false });
}

/** The same for a checkpoint of it. @throws the errors of {@link findRunToChange}, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED */
export function findCheckpointToChange({ store, tenant }: Where, name: string): Promise<ResolvedReference> {
  return resolveReference(store, tenant, name, { byPrefix: false });
}

/**
 * Like {@link findRun}; a name of a checkpoint is accepted too and stands for its run. @throws the errors of {@link findRun},
 * CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED
 */
export async function findRunOf({ store, tenant }: Where, name: string): Promise<RunRow> {
  return (await resolveReference(store, tenant, name)).run;
}
