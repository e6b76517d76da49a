/** The operation `tag`: names a checkpoint, or removes a name. */
import { checkpointField } from '../contract/fields.ts';
import { objectOf, text, whole } from '../contract/output-shapes.ts';
import { checkTagName, removeTag, tagCheckpoint as setTag } from '../../history/read/tag-checkpoint.ts';
import { findCheckpointToChange } from '../runs/find-run.ts';
import type { RoutedOperation } from '../contract/operation.ts';

export interface TagCheckpointInput {
  readonly checkpoint: string;
  readonly name: string;
  readonly remove?: boolean;
}

export interface TagCheckpointOutput {
  readonly runId: string;
  readonly name: string;
  /** Absent if the tag was removed. */
  readonly seq?: number;
}

export const tagCheckpoint: RoutedOperation<TagCheckpointInput, TagCheckpointOutput> = {
  name: 'tag_checkpoint',
  command: 'tag',
  summary: 'name a checkpoint; pruning keeps it',
  input: {
    checkpoint: checkpointField(),
    name: {
      type: 'text',
      description: 'the name; RUN@name then means the checkpoint',
      isRequired: true,
      isPositional: true,
    },
    remove: { type: 'flag', description: 'remove the name from the run' },
  },
  output: 'the tag',
  outputSchema: objectOf({ runId: text, name: text }, { seq: whole }),
  isReadOnly: false,
  scope: 'fork',
  route: 'POST /checkpoints/{checkpoint}/tags',
  async run(context, { checkpoint, name, remove = false }) {
    if (!remove) checkTagName(name);
    const found = await findCheckpointToChange(context, checkpoint);
    if (!remove) return setTag(context.store, found, name);
    const { runId } = await removeTag(context.store, found.run, name);
    return { runId, name };
  },
};
