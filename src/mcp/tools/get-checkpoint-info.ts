/** The tool `get_checkpoint_info`: how far a run was at a checkpoint, and what it waited for. */
import { perform } from '../../operations/declare/perform.ts';
import { CairnError } from '../../errors.ts';
import { describeCheckpoint } from '../../operations/checkpoints/describe-checkpoint.ts';
import { questionSchema, questionsOf, showQuestion } from '../ask/question.ts';
import { readsOnly, text, type Tool } from './tool.ts';

export interface CheckpointInput {
  readonly checkpoint_id: string;
}

/** Whether the error says that the checkpoint does not exist or was pruned. */
export function isMissing(error: unknown): error is CairnError {
  return CairnError.is(error, 'RUN_NOT_FOUND', 'CHECKPOINT_NOT_FOUND', 'CHECKPOINT_PRUNED');
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
      const shown = await perform(describeCheckpoint, context, { checkpoint: id });
      const { createdAt, isPaused, pausedNode, prompt, waits, failed, skipped } = shown;
      const questions = questionsOf(waits);
      const content = {
        found: true,
        checkpoint_id: shown.checkpointId,
        workflow_name: shown.graphId,
        created_at: createdAt / 1000,
        created_at_iso: new Date(createdAt).toISOString(),
        is_paused: isPaused,
        paused_block_id: isPaused ? (pausedNode ?? null) : null,
        pause_prompt: isPaused ? (prompt ?? null) : null,
        completed_blocks: shown.completed,
        current_wave: shown.wave,
        total_waves: shown.waveCount,
        progress_percentage: shown.percent,
        run_id: shown.runId,
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
