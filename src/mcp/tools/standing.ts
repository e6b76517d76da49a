/** Describes where a run stands in the terms of the workflow tools: success, failure, paused, running, cancelled. */
import { findRun } from '../../operations/runs/find-run.ts';
import type { RunStanding, WorkContext } from '../../operations/declare/operation.ts';
import { nameCheckpoint } from '../../operations/checkpoints/name-checkpoint.ts';
import { isForPeople } from '../../operations/runs/reserved-answers.ts';
import { toJson } from '../../operations/declare/to-json.ts';
import { questionSchema, questionsOf, showQuestion } from '../ask/question.ts';
import type { JsonSchema } from '../ask/json-schema.ts';
import { violationSchema } from './violations.ts';
import type { ToolAnswer } from './tool.ts';

type Content = Readonly<Record<string, unknown>>;

export interface StandingWords {
  /** Whether the run was resumed, not started. */
  readonly isResumed?: boolean;
  /** Text to show first, such as why an answer was refused. */
  readonly remark?: string | undefined;
}

function showPause(
  { runId, waits }: RunStanding,
  checkpointId: string,
  { isResumed = false, remark }: StandingWords,
  context: Pick<WorkContext, 'reserved'>,
): Content {
  const questions = questionsOf(waits);
  const [first] = questions;
  const again = isResumed ? ' again' : '';
  const message =
    first === undefined
      ? `Workflow waits for ${[...new Set(waits.map(({ kind, name }) => `${kind} ${name}`))].join(', ')} - resume_workflow continues it when that is there`
      : context.reserved === undefined || !isForPeople(context, first)
        ? `Workflow paused${again} - use resume_workflow to continue`
        : `Workflow paused${again} - a person answers: ${context.reserved.command('answer', runId, first.waitId, 'VALUE', '--resume')}`;
  return {
    status: 'paused',
    checkpoint_id: checkpointId,
    prompt: first?.prompt ?? '',
    message: remark === undefined ? message : `${remark} ${message}`,
    ...(questions.length > 0 && { questions: questions.map((wait) => showQuestion(wait, context)) }),
  };
}

function showEnd(standing: RunStanding, checkpointId: string): Content {
  const { status, error, outputs } = standing;
  if (status === 'completed')
    return { status: 'success', outputs: toJson(outputs ?? {}), message: 'Workflow completed successfully' };
  if (status === 'failed')
    return {
      status: 'failure',
      error: error?.message ?? 'the run failed',
      message: 'Workflow execution failed',
      ...(error !== undefined && { code: error.code, hint: error.hint }),
      checkpoint_id: checkpointId,
    };
  if (status === 'cancelled') return { status: 'cancelled', message: 'Workflow was cancelled' };
  return { status: 'running', message: 'Workflow is running - get_run says where it stands' };
}

/** The result of a tool that ran a workflow. A failed workflow is a result, not an error of the tool. */
export async function showStanding(
  context: WorkContext,
  standing: RunStanding,
  words: StandingWords = {},
): Promise<ToolAnswer> {
  const { runId, seq, status, failed, skipped, spent, saved, definition } = standing;
  const { parent } = await findRun(context, runId);
  const checkpointId = await nameCheckpoint(context, runId, seq);
  const shown =
    status === 'paused' ? showPause(standing, checkpointId, words, context) : showEnd(standing, checkpointId);
  return {
    content: {
      ...shown,
      run_id: runId,
      ...(parent !== undefined && { forked_from: await nameCheckpoint(context, parent.runId, parent.seq) }),
      ...(failed.length > 0 && { failed_blocks: failed }),
      ...(Object.keys(spent).length > 0 && { spent }),
      ...(Object.keys(saved).length > 0 && { saved }),
      ...(skipped.length > 0 && { skipped_blocks: skipped }),
      ...(definition !== undefined && {
        definition: `the run goes on with the definition it was started with; ${definition.source} has ${definition.became === 'gone' ? 'gone' : definition.became === 'broken' ? 'become invalid' : 'changed'}`,
      }),
    },
  };
}

/** Amounts by unit. */
export const amountsSchema: JsonSchema = { type: 'object', additionalProperties: { type: 'number' } };

/** Output schema of all tools that return where a run stands. */
export const standingSchema: JsonSchema = {
  type: 'object',
  properties: {
    status: { enum: ['success', 'failure', 'paused', 'running', 'cancelled', 'stopped'] },
    outputs: { description: 'What the workflow declares as its outputs, when it succeeded.' },
    error: { type: 'string', description: 'Why it failed.' },
    code: { type: 'string', description: 'Code of the error.' },
    hint: { type: 'string', description: 'What to do next.' },
    message: { type: 'string' },
    checkpoint_id: { type: 'string', description: 'What resume_workflow is given.' },
    prompt: { type: 'string', description: 'The first open question.' },
    questions: { type: 'array', items: questionSchema, description: 'All open questions.' },
    run_id: { type: 'string' },
    failed_blocks: { type: 'array', items: { type: 'string' } },
    skipped_blocks: { type: 'array', items: { type: 'string' } },
    spent: { ...amountsSchema, description: 'What the run has cost so far, by unit.' },
    saved: { ...amountsSchema, description: 'Of a fork: what the outcomes that it took over had cost, by unit.' },
    definition: { type: 'string', description: 'Said when the file of the workflow is another by now.' },
    forked_from: { type: 'string', description: 'The checkpoint that the run was forked from.' },
    warnings: { type: 'array', items: violationSchema, description: 'What is to be heeded in the workflow.' },
    held_by: { type: 'string', description: 'The process that works on the run.' },
  },
  required: ['status', 'message'],
};
