/** The tool `list_checkpoints`: all checkpoints, newest first, whether made at a pause or for crash recovery. */
import { perform } from '../../operations/declare/perform.ts';
import { listCheckpoints as list, type ListedCheckpoint } from '../../operations/checkpoints/list-checkpoints.ts';
import { readsOnly, text, type Tool } from './tool.ts';

export interface ListCheckpointsInput {
  readonly workflow_name?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

const defaultLimit = 100;

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
    'List checkpoints, newest first: those at which a workflow paused for an answer (type pause, with its prompt) and automatic ones for crash recovery.',
  input: {
    workflow_name: text('Only those of this workflow; empty: of all.'),
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: `How many at most. Default ${defaultLimit}.` },
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
  async run({ context }, { workflow_name: workflow = '', limit = defaultLimit, cursor }) {
    const given = { limit, ...(workflow !== '' && { workflow }), ...(cursor !== undefined && { cursor }) };
    const { checkpoints, cursor: next } = await perform(list, context, given);
    const content = { checkpoints: checkpoints.map(show), total: checkpoints.length };
    return { content: next === undefined ? content : { ...content, next_cursor: next } };
  },
};
