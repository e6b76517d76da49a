/** The public id of a checkpoint, which never changes, whatever is forked or pruned later. */
import { checkpointId } from '../../history/stored/checkpoint.ts';
import { readOwner } from '../../history/load/lineage.ts';
import { findRun, quotedRun } from '../runs/find-run.ts';
import type { ReadContext } from '../contract/operation.ts';

/** The id of the checkpoint with this seq. @throws RUN_NOT_FOUND */
export async function nameCheckpoint(context: ReadContext, runId: string, seq: number): Promise<string> {
  const owner = await readOwner(context.store, await findRun(context, quotedRun(runId)), seq);
  return checkpointId(owner.key, seq);
}
