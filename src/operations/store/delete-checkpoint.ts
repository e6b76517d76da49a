/** Removes one checkpoint. The newest is removed with its whole run; another is combined with the one after it (C8). */
import { checkpointField } from '../contract/fields.ts';
import { objectOf, oneOf, text } from '../contract/output-shapes.ts';
import { findCheckpointToChange } from '../runs/find-run.ts';
import { removeCheckpoint, type RemovedCheckpoint } from '../../history/retention/remove-checkpoint.ts';
import { refuseRemoval } from '../runs/reserved-answers.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';

export interface DeleteCheckpointInput {
  readonly checkpoint: string;
}

export const deleteCheckpoint: Operation<DeleteCheckpointInput, RemovedCheckpoint, WorkContext> = {
  name: 'delete_checkpoint',
  summary: 'remove a checkpoint that nothing needs; the newest of a run removes the run',
  input: {
    checkpoint: checkpointField(),
  },
  output: 'what was removed',
  outputSchema: objectOf({ checkpointId: text, runId: text, removed: oneOf('run', 'checkpoint') }),
  isReadOnly: false,
  scope: 'admin',
  /** @throws CHECKPOINT_NEEDED, HISTORY_HAS_FORKS, CLAIM_TAKEN, CHECKPOINT_*, RUN_NOT_FOUND, ANSWER_RESERVED it would remove a run that waits for a person */
  async run(context, { checkpoint }) {
    const place = await findCheckpointToChange(context, checkpoint);
    if (place.seq === place.run.head) await refuseRemoval(context, place.run);
    return removeCheckpoint(context, place);
  },
};
