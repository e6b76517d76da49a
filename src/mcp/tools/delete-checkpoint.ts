/** The tool `delete_checkpoint`: removes a checkpoint that nothing needs. Removing a run's newest checkpoint removes the run. */
import { perform } from '../../operations/declare/perform.ts';
import { deleteCheckpoint as remove } from '../../operations/store/delete-checkpoint.ts';
import { text, type Tool } from './tool.ts';
import { isMissing, type CheckpointInput } from './get-checkpoint-info.ts';

export const deleteCheckpoint: Tool<CheckpointInput> = {
  name: 'delete_checkpoint',
  title: 'Delete a checkpoint',
  description:
    'Delete a checkpoint. Deleting the newest one of a run removes the whole run, so a paused workflow that is no longer needed goes this way. One that other runs were forked from is refused.',
  input: { checkpoint_id: text('Id of the checkpoint.', { minLength: 1 }) },
  required: ['checkpoint_id'],
  output: {
    type: 'object',
    properties: {
      deleted: { type: 'boolean' },
      checkpoint_id: { type: 'string' },
      message: { type: 'string' },
    },
    required: ['deleted', 'checkpoint_id', 'message'],
  },
  hints: { isReadOnly: false, isDestructive: true, isIdempotent: true, isOpenWorld: false },
  async run({ context }, { checkpoint_id: id }) {
    try {
      await perform(remove, context, { checkpoint: id });
      return { content: { deleted: true, checkpoint_id: id, message: 'Checkpoint deleted successfully' } };
    } catch (error) {
      if (!isMissing(error)) throw error;
      return { content: { deleted: false, checkpoint_id: id, message: 'Checkpoint not found' } };
    }
  },
};
