/** The tools `list_runs`, `list_workers`, `get_run`, `inbox`, `send_signal` and `cancel_run`. */
import { perform } from '../../operations/contract/perform.ts';
import { cancelRun as cancel } from '../../operations/runs/cancel-run.ts';
import { inspectRun } from '../../operations/runs/inspect-run.ts';
import { listRuns as list } from '../../operations/runs/list-runs.ts';
import { listWorkers as workersOf } from '../../operations/store/list-workers.ts';
import { signalRun } from '../../operations/waits/signal-run.ts';
import { listWaits } from '../../operations/waits/list-waits.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import { questionSchema, questionsOf, showQuestion, type JsonSchema } from '../ask/ask-client.ts';
import { readsOnly, text, type Tool } from './tool.ts';

const statuses = ['running', 'paused', 'cancelling', 'completed', 'failed', 'cancelled'] as const;

export interface ListRunsInput {
  readonly status?: readonly string[];
  readonly workflow?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

interface RunInput {
  readonly run_id: string;
}

const runInput: { readonly run_id: JsonSchema } = { run_id: text('Id of the run.', { minLength: 1 }) };

export const listRuns: Tool<ListRunsInput> = {
  name: 'list_runs',
  title: 'List runs',
  description:
    'List runs, newest first. stopped: its process died; resume_workflow goes on with it. queued: nobody has taken it up yet.',
  input: {
    status: { type: 'array', items: { enum: statuses }, description: 'Only runs with one of these.' },
    workflow: text('Only runs of this workflow.'),
    label: { type: 'object', additionalProperties: { type: 'string' }, description: 'Only runs with these labels.' },
    since: text('Only runs started since: 2026-11-03, a time of day with it, or an age: 3h, 2d.'),
    until: text('Only runs started before.'),
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'How many at most. Default 20.' },
    cursor: text('next_cursor of the page before.'),
  },
  required: [],
  output: {
    type: 'object',
    properties: {
      runs: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            run_id: { type: 'string' },
            workflow: { type: 'string' },
            status: { enum: [...statuses, 'stopped', 'queued'] },
            created_at_iso: { type: 'string' },
            updated_at_iso: { type: 'string' },
            forked_from: { type: 'string' },
            has_messages: { type: 'boolean', description: 'An answer waits to be taken by resume_workflow.' },
          },
          required: ['run_id', 'workflow', 'status', 'created_at_iso', 'updated_at_iso'],
        },
      },
      has_more: { type: 'boolean' },
      next_cursor: { type: 'string', description: 'There are more: give it as cursor, with the same filter.' },
    },
    required: ['runs', 'has_more'],
  },
  hints: readsOnly,
  async run({ context }, { workflow, limit = 20, ...filter }) {
    const query = { ...filter, limit, ...(workflow !== undefined && { graph: workflow }) };
    const { runs, hasMore, cursor } = await perform(list, context, query);
    const listed = runs.map((run) => ({
      run_id: run.runId,
      workflow: run.graphId,
      status: run.isStopped ? 'stopped' : run.isQueued === true ? 'queued' : run.status,
      created_at_iso: new Date(run.createdAt).toISOString(),
      updated_at_iso: new Date(run.updatedAt).toISOString(),
      ...(run.parent !== undefined && { forked_from: run.parent.runId }),
      ...(run.hasMessages && { has_messages: true }),
    }));
    return { content: { runs: listed, has_more: hasMore, ...(cursor !== undefined && { next_cursor: cursor }) } };
  },
};

export const listWorkers: Tool<{ readonly all?: boolean }> = {
  name: 'list_workers',
  title: 'List workers',
  description:
    'List the workers that are alive, what they serve and which runs they hold, and how many runs are ready for one. A run that is queued for long has none.',
  input: { all: { type: 'boolean', description: 'Also those that stopped or died within a day.' } },
  required: [],
  output: {
    type: 'object',
    properties: {
      workers: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            worker_id: { type: 'string' },
            is_alive: { type: 'boolean' },
            seen_at_iso: { type: 'string' },
            workflows: { type: 'array', items: { type: 'string' }, description: 'Absent: any whose text is recorded.' },
            queues: { type: 'array', items: { type: 'string' } },
            run_ids: { type: 'array', items: { type: 'string' } },
            concurrency: { type: 'integer' },
          },
          required: ['worker_id', 'is_alive', 'seen_at_iso', 'run_ids', 'concurrency'],
        },
      },
      ready: { type: 'integer', description: 'Runs that could go on now, if there were a worker for them.' },
      oldest_ready_ms: { type: 'integer', description: 'For how long the one that waits longest could have gone on.' },
    },
    required: ['workers', 'ready'],
  },
  hints: readsOnly,
  async run({ context }, input) {
    const { workers, backlog } = await perform(workersOf, context, input);
    const listed = workers.map((worker) => ({
      worker_id: worker.workerId,
      is_alive: worker.isAlive,
      seen_at_iso: new Date(worker.seenAt).toISOString(),
      ...(worker.only && { workflows: worker.only }),
      ...(worker.queues && { queues: worker.queues }),
      run_ids: worker.runs,
      concurrency: worker.concurrency,
    }));
    const { ready, oldestMs } = backlog;
    return {
      content: { workers: listed, ready, ...(oldestMs !== undefined && { oldest_ready_ms: oldestMs }) },
    };
  },
};

export const getRun: Tool<RunInput> = {
  name: 'get_run',
  title: 'Get a run',
  description:
    'Tell where a run stands, without advancing it: status, outputs, open questions, error, progress. stopped: its process died; resume_workflow goes on with it. queued: nobody has taken it up yet.',
  input: runInput,
  required: ['run_id'],
  output: {
    type: 'object',
    properties: {
      run_id: { type: 'string' },
      workflow: { type: 'string' },
      status: { enum: [...statuses, 'stopped', 'queued'] },
      checkpoint_id: { type: 'string', description: 'Its newest checkpoint.' },
      created_at_iso: { type: 'string' },
      updated_at_iso: { type: 'string' },
      outputs: {},
      error: { type: 'string' },
      code: { type: 'string' },
      hint: { type: 'string' },
      prompt: { type: 'string' },
      questions: { type: 'array', items: questionSchema },
      completed_blocks: { type: 'array', items: { type: 'string' } },
      failed_blocks: { type: 'array', items: { type: 'string' } },
      skipped_blocks: { type: 'array', items: { type: 'string' } },
      current_wave: { type: 'integer' },
      total_waves: { type: 'integer' },
      progress_percentage: { type: 'number' },
      claimed_by: { type: 'string', description: 'The process that works on it.' },
      forked_from: { type: 'string' },
    },
    required: ['run_id', 'workflow', 'status', 'checkpoint_id', 'completed_blocks', 'progress_percentage'],
  },
  hints: readsOnly,
  async run({ context }, { run_id: run }) {
    const inspected = await perform(inspectRun, context, { run });
    const { progress, waits, error, outputs, claimedBy, parent } = inspected;
    const questions = questionsOf(waits);
    const content = {
      run_id: inspected.runId,
      workflow: inspected.graphId,
      status: inspected.status,
      checkpoint_id: inspected.checkpointId,
      created_at_iso: new Date(inspected.createdAt).toISOString(),
      updated_at_iso: new Date(inspected.updatedAt).toISOString(),
      ...(outputs !== undefined && { outputs: toJson(outputs) }),
      ...(error !== undefined && { error: error.message, code: error.code, hint: error.hint }),
      ...(questions.length > 0 && {
        prompt: questions[0]?.prompt ?? '',
        questions: questions.map((one) => showQuestion(one, context)),
      }),
      completed_blocks: progress.completed,
      failed_blocks: progress.failed,
      skipped_blocks: progress.skipped,
      current_wave: progress.wave,
      total_waves: progress.waveCount,
      progress_percentage: progress.percent,
      ...(claimedBy !== undefined && { claimed_by: claimedBy }),
      ...(parent !== undefined && { forked_from: parent.runId }),
    };
    return { content };
  },
};

export const inbox: Tool<{ readonly run_id?: string; readonly limit?: number; readonly cursor?: string }> = {
  name: 'inbox',
  title: 'List open questions',
  description:
    'List what runs ask, over all runs. Answer with resume_workflow, which also goes on with those in answered.',
  input: {
    run_id: text('Only those of this run.', { minLength: 1 }),
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'How many at most. Default 50.' },
    cursor: text('next_cursor of the page before.'),
  },
  required: [],
  output: {
    type: 'object',
    properties: {
      questions: {
        type: 'array',
        items: {
          ...questionSchema,
          properties: {
            ...(questionSchema['properties'] as object),
            run_id: { type: 'string' },
            workflow: { type: 'string' },
          },
        },
      },
      has_more: { type: 'boolean' },
      next_cursor: { type: 'string', description: 'There are more: give it as cursor.' },
      answered: {
        type: 'array',
        items: { type: 'string' },
        description: 'Ids of runs whose questions are all answered and that nobody goes on with.',
      },
    },
    required: ['questions', 'has_more'],
  },
  hints: readsOnly,
  async run({ context }, { run_id: run, limit = 50, cursor }) {
    const page = await perform(listWaits, context, {
      limit,
      ...(cursor !== undefined && { cursor }),
      ...(run !== undefined && { run }),
    });
    const questions = page.waits.map((wait) => ({
      run_id: wait.runId,
      workflow: wait.graphId,
      ...showQuestion(wait, context),
    }));
    const answered = page.answered.map(({ runId }) => runId);
    return {
      content: {
        questions,
        has_more: page.hasMore,
        ...(page.cursor !== undefined && { next_cursor: page.cursor }),
        ...(answered.length > 0 && { answered }),
      },
    };
  },
};

export interface SendSignalInput extends RunInput {
  readonly name: string;
  readonly value?: unknown;
  readonly id?: string;
}

export const sendSignal: Tool<SendSignalInput> = {
  name: 'send_signal',
  title: 'Send a signal',
  description:
    'Tell a run something that it waits for, or will: a signal by its name. resume_workflow goes on with a paused run, or a worker does.',
  input: {
    ...runInput,
    name: text('Name of the signal.', { minLength: 1 }),
    value: { description: 'What it says. Default null.' },
    id: text('Sent twice under one id, it is one signal.', { minLength: 1 }),
  },
  required: ['run_id', 'name'],
  output: {
    type: 'object',
    properties: { run_id: { type: 'string' }, name: { type: 'string' }, status: { enum: statuses } },
    required: ['run_id', 'name', 'status'],
  },
  hints: { isReadOnly: false, isDestructive: false, isIdempotent: false, isOpenWorld: false },
  async run({ context }, { run_id: run, ...signal }) {
    const { runId, name, status } = await perform(signalRun, context, { run, ...signal });
    return { content: { run_id: runId, name, status } };
  },
};

/** Where a run stands whose cancel was requested and that has not ended. */
function unfinished(status: string): string {
  if (status === 'cancelling') return 'The run was cancelled, and what follows that is under way';
  if (status === 'failed') return 'The run was cancelled, and what follows that failed: resume_workflow tries it again';
  if (status === 'paused') return 'The run was cancelled, and what follows that waits: get_run says for what';
  return 'The process that works on the run was asked to end it';
}

export const cancelRun: Tool<RunInput & { readonly reason?: string; readonly force?: boolean }> = {
  name: 'cancel_run',
  title: 'Cancel a run',
  description: 'End a run. What it did stays recorded, and fork_checkpoint can go on from any of its checkpoints.',
  input: {
    ...runInput,
    reason: { type: 'string', description: 'Why, for the record and for what follows a cancel.' },
    force: { type: 'boolean', description: 'End it without what follows a cancel, or give up on that.' },
  },
  required: ['run_id'],
  output: {
    type: 'object',
    properties: {
      run_id: { type: 'string' },
      status: { enum: statuses },
      cancelled: {
        type: 'boolean',
        description: 'false: its process was asked and has yet to end it, or what follows a cancel is under way.',
      },
      message: { type: 'string' },
    },
    required: ['run_id', 'status', 'cancelled', 'message'],
  },
  hints: { isReadOnly: false, isDestructive: true, isIdempotent: true, isOpenWorld: false },
  async run({ context }, { run_id: run, reason, force }) {
    const more = { ...(reason !== undefined && { reason }), ...(force !== undefined && { force }) };
    const { runId, status } = await perform(cancel, context, { run, ...more });
    const isOver = status === 'cancelled';
    const message = isOver ? 'Run cancelled' : unfinished(status);
    return { content: { run_id: runId, status, cancelled: isOver, message } };
  },
};
