/** The tools `list_checkpoints`, `get_checkpoint_info` and `delete_checkpoint`, with the names and shapes that they were specified with. */
import { CairnError } from '../../errors.ts';
import { describeCheckpoint } from '../../operations/checkpoints/describe-checkpoint.ts';
import { listCheckpoints as list, type ListedCheckpoint } from '../../operations/checkpoints/list-checkpoints.ts';
import { fieldSchema } from '../../operations/contract/field-schema.ts';
import { perform } from '../../operations/contract/perform.ts';
import { deleteCheckpoint as remove } from '../../operations/store/delete-checkpoint.ts';
import { questionSchema, questionsOf, showQuestion } from '../ask/ask-client.ts';
import { readsOnly, text, type Tool } from './tool.ts';

interface ListCheckpointsInput {
  readonly workflow_name?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

function show({ checkpointId, runId, graphId, createdAt, isPaused, prompt }: ListedCheckpoint): object {
  return {
    checkpoint_id: checkpointId,
    workflow: graphId,
    created_at: createdAt / 1000,
    created_at_iso: new Date(createdAt).toISOString(),
    is_paused: isPaused,
    pause_prompt: prompt ?? null,
    type: isPaused ? 'pause' : 'automatic',
    run_id: runId,
  };
}

export const listCheckpoints: Tool<ListCheckpointsInput> = {
  name: 'list_checkpoints',
  title: 'List checkpoints',
  description:
    'List checkpoints, newest first (among 100 runs at a time, those that were started last first): those at which a workflow paused for an answer (type pause, with its prompt) and automatic ones for crash recovery.',
  input: {
    workflow_name: text('Only those of this workflow; empty: of all.'),
    limit: fieldSchema({ ...list.input.limit, description: 'How many at most.' }),
    cursor: text('next_cursor of the page before.'),
  },
  required: [],
  output: {
    type: 'object',
    properties: {
      checkpoints: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            checkpoint_id: { type: 'string' },
            workflow: { type: 'string' },
            created_at: { type: 'number', description: 'Seconds since 1970.' },
            created_at_iso: { type: 'string' },
            is_paused: { type: 'boolean' },
            pause_prompt: { type: ['string', 'null'] },
            type: { enum: ['pause', 'automatic'] },
            run_id: { type: 'string' },
          },
          required: ['checkpoint_id', 'workflow', 'created_at', 'created_at_iso', 'is_paused', 'pause_prompt', 'type'],
        },
      },
      total: { type: 'integer', description: 'How many are listed here.' },
      next_cursor: { type: 'string', description: 'There are more: give it as cursor.' },
    },
    required: ['checkpoints', 'total'],
  },
  hints: readsOnly,
  async run({ context }, { workflow_name: workflow = '', limit, cursor }) {
    const input = {
      ...(limit !== undefined && { limit }),
      ...(workflow !== '' && { workflow }),
      ...(cursor !== undefined && { cursor }),
    };
    const { checkpoints, cursor: next } = await perform(list, context, input);
    const content = { checkpoints: checkpoints.map(show), total: checkpoints.length };
    return { content: next === undefined ? content : { ...content, next_cursor: next } };
  },
};

interface CheckpointInput {
  readonly checkpoint_id: string;
}

/** Whether the error says that the checkpoint does not exist or was pruned. */
function isMissing(error: unknown): error is CairnError {
  return CairnError.is(error, 'RUN_NOT_FOUND', 'RUN_EXPIRED', 'CHECKPOINT_NOT_FOUND', 'CHECKPOINT_PRUNED');
}

export const getCheckpointInfo: Tool<CheckpointInput> = {
  name: 'get_checkpoint_info',
  title: 'Get checkpoint info',
  description:
    'Tell how far a workflow was at a checkpoint (completed blocks, wave, progress) and what it asked there. Runs nothing.',
  input: { checkpoint_id: text('Id of the checkpoint, or a run_id for its newest.', { minLength: 1 }) },
  required: ['checkpoint_id'],
  output: {
    type: 'object',
    properties: {
      found: { type: 'boolean' },
      error: { type: 'string' },
      code: { type: 'string' },
      remains: { type: 'string', description: 'Where a checkpoint was pruned: the oldest one kept after it.' },
      checkpoint_id: { type: 'string' },
      workflow_name: { type: 'string' },
      created_at: { type: 'number', description: 'Seconds since 1970.' },
      created_at_iso: { type: 'string' },
      is_paused: { type: 'boolean' },
      paused_block_id: { type: ['string', 'null'] },
      pause_prompt: { type: ['string', 'null'] },
      completed_blocks: { type: 'array', items: { type: 'string' } },
      current_wave: { type: 'integer', description: 'Counted from 0.' },
      total_waves: { type: 'integer' },
      progress_percentage: { type: 'number', minimum: 0, maximum: 100 },
      run_id: { type: 'string' },
      failed_blocks: { type: 'array', items: { type: 'string' } },
      skipped_blocks: { type: 'array', items: { type: 'string' } },
      questions: { type: 'array', items: questionSchema },
    },
    required: ['found'],
  },
  hints: readsOnly,
  async run({ context }, { checkpoint_id: id }) {
    try {
      const described = await perform(describeCheckpoint, context, { checkpoint: id });
      const { createdAt, isPaused, pausedNode, prompt, waits, failed, skipped } = described;
      const questions = questionsOf(waits);
      const content = {
        found: true,
        checkpoint_id: described.checkpointId,
        workflow_name: described.graphId,
        created_at: createdAt / 1000,
        created_at_iso: new Date(createdAt).toISOString(),
        is_paused: isPaused,
        paused_block_id: isPaused ? (pausedNode ?? null) : null,
        pause_prompt: isPaused ? (prompt ?? null) : null,
        completed_blocks: described.completed,
        current_wave: described.wave,
        total_waves: described.waveCount,
        progress_percentage: described.percent,
        run_id: described.runId,
        ...(failed.length > 0 && { failed_blocks: failed }),
        ...(skipped.length > 0 && { skipped_blocks: skipped }),
        ...(questions.length > 0 && { questions: questions.map((one) => showQuestion(one, context)) }),
      };
      return { content };
    } catch (error) {
      if (!isMissing(error)) throw error;
      const { remains } = error.data;
      const missing = { found: false, error: `Checkpoint ${id} not found or expired`, code: error.code };
      return { content: remains === undefined ? missing : { ...missing, remains } };
    }
  },
};

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
