/** The operation `show`: shows everything about one checkpoint. */
import { type CheckpointDetails, showCheckpoint as readDetails } from '../../history/read/log.ts';
import { resolveReference } from '../../history/read/tag-checkpoint.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';

export interface ShowCheckpointInput {
  readonly checkpoint: string;
}

export type ShowCheckpointOutput = CheckpointDetails;

export const showCheckpoint: Operation<ShowCheckpointInput, ShowCheckpointOutput, HistoryContext> = {
  name: 'show',
  summary: 'show one checkpoint: why it is there, what it recorded and where the run stood',
  input: {
    checkpoint: {
      type: 'text',
      description: 'the checkpoint: its id, RUN@12, RUN@tag, RUN@head~2, or RUN for the newest',
      isRequired: true,
      isPositional: true,
    },
  },
  output: 'the checkpoint',
  outputSchema: {
    type: 'object',
    required: ['checkpointId', 'runId', 'seq', 'at', 'change', 'tags', 'sizeBytes', 'recorded', 'answered', 'view'],
  },
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}',
  async run(context, { checkpoint }) {
    const { run, seq } = await resolveReference(context.store, context.tenant, checkpoint);
    return readDetails(context, run, seq);
  },
};
