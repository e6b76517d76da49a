/** `tag`: names a checkpoint. */
import { objectOf, text, whole } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { resolveReference } from '../../history/read/references.ts';
import { findRunOf } from '../runs/find-run.ts';
import type { Operation } from '../declare/operation.ts';

export interface TagCheckpointInput {
  readonly checkpoint: string;
  readonly name: string;
  readonly remove?: boolean;
}

export interface TagCheckpointOutput {
  readonly runId: string;
  readonly name: string;
  /** Absent: the tag was removed. */
  readonly seq?: number;
}

/** Names that would be read as something else in `RUN@name`. */
const reserved = /^(?:head|\d+)$|[@~.]/;
const longestName = 200;

function faultOf(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (name.length > longestName) return `it is longer than ${longestName} characters`;
  return reserved.test(name) ? 'it would be read as another checkpoint' : undefined;
}

export const tagCheckpoint: Operation<TagCheckpointInput, TagCheckpointOutput> = {
  name: 'tag',
  summary: 'name a checkpoint; pruning keeps it',
  input: {
    checkpoint: {
      type: 'text',
      description: 'the checkpoint: RUN@12, RUN or its id',
      isRequired: true,
      isPositional: true,
    },
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
  async run(context, { checkpoint, name, remove = false }) {
    const { store, tenant } = context;
    if (remove) {
      const run = await findRunOf(context, checkpoint);
      if (!(await store.readTags(run)).some((tag) => tag.name === name))
        throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${run.runId}@${name}` });
      await store.removeTag(run, name);
      return { runId: run.runId, name };
    }
    const reason = faultOf(name);
    if (reason !== undefined)
      throw new CairnError('ID_INVALID', {
        kind: 'tag',
        id: name.slice(0, 60),
        reason,
        hint: 'Use a name without @, ~ and dots.',
      });
    const { run, seq } = await resolveReference(store, tenant, checkpoint);
    await store.tagCheckpoint(run, { name, seq });
    return { runId: run.runId, name, seq };
  },
};
