/** All tools, in the order in which clients see them. */
import { perform } from '../../operations/contract/perform.ts';
import { convertWorkflow as convert } from '../../operations/workflows/convert-workflow.ts';
import {
  readsOnly,
  text,
  type Tool,
  followRun,
  showStanding,
  standingSchema,
  runsWorkflows,
  type ToolAnswer,
  type ToolCall,
  type ToolQuestions,
  showViolation,
  type Violation,
  type AnyTool,
} from './tool.ts';
import { CairnError } from '../../errors.ts';
import { describeCheckpoint } from '../../operations/checkpoints/describe-checkpoint.ts';
import { questionSchema, questionsOf, showQuestion, type JsonSchema } from '../ask/ask-client.ts';
import { deleteCheckpoint as remove } from '../../operations/store/delete-checkpoint.ts';
import { readStanding } from '../../operations/runs/read-standing.ts';
import type { WatchedEvent } from '../../operations/contract/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import { startWorkflow, type StartWorkflowInput } from '../../operations/workflows/start-workflow.ts';
import { converse, resumeWorkflow } from './resume-workflow.ts';
import { listCheckpoints as list, type ListedCheckpoint } from '../../operations/checkpoints/list-checkpoints.ts';
import { diffCheckpoints, forkCheckpoint, previewResume } from './history.ts';
import { bisectRun, blameValue, graphRuns, postMortem } from './trace.ts';
import { cancelRun, getRun, inbox, listRuns, listWorkers, sendSignal } from './runs.ts';
import { getWorkflowInfo, listWorkflows, reloadWorkflows, validateWorkflow } from './workflows.ts';

// The tool `convert_workflow`. It takes texts and returns one: no file is read or written.

export const convertWorkflow: Tool<{ readonly workflow_text: string; readonly to: 'yaml' | 'dot' }> = {
  name: 'convert_workflow',
  title: 'Convert a workflow',
  description:
    'Write a workflow given as YAML as a pipeline in DOT, or a pipeline as YAML. What both can say means the same; notes say what does not carry over, and what stands in for it. Runs and saves nothing.',
  input: {
    workflow_text: text('The workflow as YAML, or the pipeline as DOT.', { minLength: 1 }),
    to: { enum: ['yaml', 'dot'], description: 'The dialect to write.' },
  },
  required: ['workflow_text', 'to'],
  output: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      notes: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            code: { type: 'string' },
            severity: { enum: ['lost', 'changed'], description: 'changed: it does the same, said otherwise.' },
            place: { type: 'string', description: 'Where in the text that was given.' },
            message: { type: 'string' },
            fix: { type: 'string' },
          },
          required: ['code', 'severity', 'place', 'message', 'fix'],
        },
      },
    },
    required: ['text', 'notes'],
  },
  hints: readsOnly,
  async run({ context }, { workflow_text: text, to }) {
    const { text: written, notes } = await perform(convert, context, { text: text, to });
    return { content: { text: written, notes } };
  },
};

// The tool `get_checkpoint_info`: how far a run was at a checkpoint, and what it waited for.

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

// The tool `delete_checkpoint`: removes a checkpoint that nothing needs. Removing a run's newest checkpoint removes the run.

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

// The tools `execute_workflow` and `execute_inline_workflow`: start a workflow and, by default, follow it until it ends or asks.

interface Common {
  readonly inputs?: Readonly<Record<string, unknown>> | null;
  readonly run_id?: string;
  readonly wait?: boolean;
}

export interface ExecuteWorkflowInput extends Common {
  readonly workflow: string;
}

export interface ExecuteInlineInput extends Common {
  readonly workflow_yaml: string;
}

const commonInput: { readonly [Name in keyof Required<Common>]: JsonSchema } = {
  inputs: { type: ['object', 'null'], description: 'Values for the inputs of the workflow, by name.' },
  run_id: text('Id for the run: calling again with one id is the same run, never a second one.', { minLength: 1 }),
  wait: {
    type: 'boolean',
    description:
      'false: return at once with the run_id, and let the run go on; get_run says where it stands. Default true.',
  },
};

/** Lets a run go on in this process without a listener. Returns when the run is being advanced, so that nobody takes it for stopped. */
async function leave({ context, log }: ToolCall, run: string): Promise<ToolAnswer> {
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const watch = (event: WatchedEvent): void => {
    context.watch?.(event);
    begin();
  };
  const going = perform(resumeRun, { ...context, watch }, { run });
  going.catch((error: unknown) => log(`run ${run}: ${String(error)}`));
  await Promise.race([begun, going]);
  return showStanding(context, await perform(readStanding, context, { run }));
}

/** Goes on with a run that was admitted, or leaves it to the worker or host that was faster. */
async function go(call: ToolCall, run: string, isFollowed: boolean): Promise<ToolAnswer | ToolQuestions> {
  try {
    return await (isFollowed ? converse(call, () => followRun(call, run)) : leave(call, run));
  } catch (error) {
    if (!CairnError.is(error, 'CLAIM_TAKEN')) throw error;
    return showStanding(call.context, await perform(readStanding, call.context, { run }));
  }
}

async function start(
  call: ToolCall,
  chosen: Pick<StartWorkflowInput, 'workflow' | 'text'>,
  { inputs, run_id: runId, wait = true }: Common,
): Promise<ToolAnswer | ToolQuestions> {
  let warnings: readonly Violation[] = [];
  // The run is recorded first, so that a run that was accepted exists whatever happens to this call.
  const admit = async (): Promise<string> => {
    const input = { ...chosen, input: inputs ?? {}, detach: true, ...(runId !== undefined && { runId }) };
    const started = await perform(startWorkflow, call.context, input);
    warnings = started.warnings;
    return started.runId;
  };
  const answer = await go(call, await admit(), wait);
  if (!('content' in answer) || warnings.length === 0) return answer;
  return { ...answer, content: { ...answer.content, warnings: warnings.map(showViolation) } };
}

export const executeWorkflow: Tool<ExecuteWorkflowInput> = {
  name: 'execute_workflow',
  title: 'Execute a workflow',
  description:
    'Run a workflow by its name and wait until it ends or asks a question. status is success (with outputs), failure (with error) or paused (with prompt and checkpoint_id: answer with resume_workflow).',
  input: { workflow: text('Name of the workflow; list_workflows lists them.'), ...commonInput },
  required: ['workflow'],
  output: standingSchema,
  hints: runsWorkflows,
  run: (call, { workflow, ...common }) => start(call, { workflow }, common),
};

export const executeInlineWorkflow: Tool<ExecuteInlineInput> = {
  name: 'execute_inline_workflow',
  title: 'Execute a workflow given as YAML',
  description:
    'Run a workflow that is given as YAML text, as execute_workflow does. Only within the permissions that the server was started with; validate_workflow checks the text first.',
  input: { workflow_yaml: text('The workflow as YAML.', { minLength: 1 }), ...commonInput },
  required: ['workflow_yaml'],
  output: standingSchema,
  hints: runsWorkflows,
  run: (call, { workflow_yaml: yaml, ...common }) => start(call, { text: yaml }, common),
};

// The tool `list_checkpoints`: all checkpoints, newest first, whether made at a pause or for crash recovery.

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
    const input = { limit, ...(workflow !== '' && { workflow }), ...(cursor !== undefined && { cursor }) };
    const { checkpoints, cursor: next } = await perform(list, context, input);
    const content = { checkpoints: checkpoints.map(show), total: checkpoints.length };
    return { content: next === undefined ? content : { ...content, next_cursor: next } };
  },
};

export const toolList: readonly AnyTool[] = [
  listWorkflows,
  getWorkflowInfo,
  executeWorkflow,
  resumeWorkflow,
  executeInlineWorkflow,
  validateWorkflow,
  convertWorkflow,
  listCheckpoints,
  getCheckpointInfo,
  deleteCheckpoint,
  inbox,
  listRuns,
  listWorkers,
  getRun,
  sendSignal,
  cancelRun,
  diffCheckpoints,
  blameValue,
  bisectRun,
  graphRuns,
  postMortem,
  previewResume,
  forkCheckpoint,
  reloadWorkflows,
];
