/** What a tool is: data from which all tools are listed, validated and called in the same way. */
import { failureLines, firstOwnFrame } from '../../operations/format/failure-words.ts';
import type { WorkContext, RunStanding, WatchedEvent } from '../../operations/contract/operation.ts';
import { type Interview, type JsonSchema, questionSchema, questionsOf, showQuestion } from '../ask/ask-client.ts';
import { CairnError, type ErrorCode } from '../../errors.ts';
import { shownError, perform } from '../../operations/contract/perform.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import type { WorkflowDescription } from '../../operations/contract/workflows.ts';
import { findRun } from '../../operations/runs/find-run.ts';
import { nameCheckpoint } from '../../operations/checkpoints/name-checkpoint.ts';
import { isForPeople } from '../../operations/runs/reserved-answers.ts';
import { inspectRun } from '../../operations/runs/inspect-run.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';

/** Properties of a tool that a client may consider before calling it. */
export interface ToolHints {
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  /** Whether calling it twice has the same effect as once. */
  readonly isIdempotent: boolean;
  /** Whether it acts on more than the store. */
  readonly isOpenWorld: boolean;
}

/** One call of a tool. */
export interface ToolCall {
  readonly context: WorkContext;
  /** Aborted when the client stops waiting. Work that has begun goes on. */
  readonly signal: AbortSignal;
  /** Reports progress to the client; undefined if the client did not ask for it. */
  readonly report: ((done: number, total: number, message: string) => void) | undefined;
  /** Asks the person behind the client; undefined if that is impossible or turned off. */
  readonly interview: Interview | undefined;
  /** Writes a line for the operator of the server. */
  readonly log: (line: string) => void;
  /** Notifies all clients that the list of resources has changed. */
  readonly announceResources: () => void;
}

/** The result of a tool: plain JSON, sent as structured data and as text. */
export interface ToolAnswer {
  readonly content: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** Returned in place of a result: the client must ask its user these questions and repeat the call. */
export interface ToolQuestions {
  readonly inputRequired: object;
}

/** A tool with any type of input. */
export interface AnyTool {
  readonly name: string;
  readonly title: string;
  /** Description for the model that chooses a tool. */
  readonly description: string;
  readonly input: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly output: JsonSchema;
  readonly hints: ToolHints;
  /** Declared as a method, so that tools of any input fit one list. */
  run(call: ToolCall, input: object): Promise<ToolAnswer | ToolQuestions>;
}

export interface Tool<Input extends object = object> extends AnyTool {
  /** One schema for each property of the input type, so that the table and the type cannot differ. */
  readonly input: { readonly [Name in keyof Input]-?: JsonSchema };
  readonly required: readonly (keyof Input & string)[];
  run(call: ToolCall, input: Input): Promise<ToolAnswer | ToolQuestions>;
}

export const readsOnly: ToolHints = { isReadOnly: true, isDestructive: false, isIdempotent: true, isOpenWorld: false };
/** Hints of tools that run workflows, whose effects are not known. */
export const runsWorkflows: ToolHints = {
  isReadOnly: false,
  isDestructive: true,
  isIdempotent: false,
  isOpenWorld: true,
};

export const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
});

export const expectInput: JsonSchema = text(
  'The etag of preview_resume: nothing is done if it would go otherwise by now, and the new preview comes back.',
  { minLength: 1 },
);

// Converts errors to tool results: the code, what happened, and what to do next.

/** What to do next, for errors whose usual hint names a command in place of a tool. */
const toolHints: Partial<Record<ErrorCode, string>> = {
  RUN_NOT_FOUND: 'list_runs lists those there are.',
  RUN_EXPIRED: 'Start it under another run id. What it did is not done again under this one.',
  PREVIEW_CHANGED: 'data.preview says what would be done by now. Pass its etag as expect if that is right.',
  RUN_FINISHED: 'fork_checkpoint goes on from one of its checkpoints.',
  RUN_CANCELLED: 'fork_checkpoint goes on from one of its checkpoints.',
  WAIT_NOT_FOUND: 'list_questions lists the open ones. A failed run asks again when it is resumed.',
  WAIT_CLOSED: 'fork_checkpoint, with answer, answers otherwise.',
  CHECKPOINT_NOT_FOUND: 'list_checkpoints lists those there are.',
  CLAIM_TAKEN: 'Another process works on it: get_run says where it stands. An answer can be given all the same.',
  CHECKPOINT_NEEDED: 'Deleting the newest checkpoint of the run removes all of it.',
  HISTORY_HAS_FORKS: 'Delete the forks first, or keep the run.',
};

/** @param more - further fields of the result */
export function failureOf(thrown: unknown, more: Readonly<Record<string, unknown>> = {}): ToolAnswer {
  const { code, message, hint, retry, data } = (shownError(CairnError.from(thrown)) as CairnError).toJSON();
  return {
    isError: true,
    content: {
      status: 'failure',
      error: message,
      message: toolHints[code] ?? hint,
      code,
      retry,
      ...(Object.keys(data).length > 0 && { data: toJson(data) }),
      ...more,
    },
  };
}

// Converts errors and warnings about a workflow for tools.

export type Violation = WorkflowDescription['warnings'][number];

export const violationSchema: JsonSchema = {
  type: 'object',
  properties: {
    rule: { type: 'string' },
    place: { type: 'string', description: 'Where in the text.' },
    message: { type: 'string' },
    fix: { type: 'string' },
  },
  required: ['rule', 'place', 'message', 'fix'],
};

export function showViolation({ rule, place, message, fix }: Violation): object {
  return { rule, place, message, fix };
}

// Describes where a run stands in the terms of the workflow tools: success, failure, paused, running, cancelled.

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
  context: Pick<WorkContext, 'reserved' | 'acting' | 'actor'>,
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

/** The failures that came last; one line each, with the line of the author's own code, is what a model can use. */
const failuresShown = 3;

function shortFailure(failure: NonNullable<RunStanding['failures']>[number]): readonly string[] {
  const [first = ''] = failureLines(failure);
  const frame = firstOwnFrame(failure);
  return [frame === undefined ? first : `${first} at ${frame}`];
}

function showEnd(standing: RunStanding, checkpointId: string): Content {
  const { status, error, outputs, failures = [] } = standing;
  if (status === 'completed')
    return { status: 'success', outputs: toJson(outputs ?? {}), message: 'Workflow completed successfully' };
  if (status === 'failed')
    return {
      status: 'failure',
      error: error?.message ?? 'the run failed',
      message: 'Workflow execution failed',
      ...(error !== undefined && { code: error.code, hint: error.hint }),
      ...(failures.length > 0 && { failures: failures.slice(-failuresShown).flatMap(shortFailure) }),
      checkpoint_id: checkpointId,
    };
  if (status === 'cancelled') return { status: 'cancelled', message: 'Workflow was cancelled' };
  if (status === 'cancelling')
    return {
      status,
      message: 'Workflow was cancelled, and what follows that is under way - get_run says where it stands',
    };
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
  const content =
    status === 'paused' ? showPause(standing, checkpointId, words, context) : showEnd(standing, checkpointId);
  return {
    content: {
      ...content,
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
const amountsSchema: JsonSchema = { type: 'object', additionalProperties: { type: 'number' } };

/** Output schema of all tools that return where a run stands. */
export const standingSchema: JsonSchema = {
  type: 'object',
  properties: {
    status: { enum: ['success', 'failure', 'paused', 'running', 'cancelling', 'cancelled', 'stopped'] },
    outputs: { description: 'What the workflow declares as its outputs, when it succeeded.' },
    error: { type: 'string', description: 'Why it failed.' },
    code: { type: 'string', description: 'Code of the error.' },
    hint: { type: 'string', description: 'What to do next.' },
    message: { type: 'string' },
    failures: { type: 'array', items: { type: 'string' }, description: 'What failed, and in which line of code.' },
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

// Follows a run for a call and reports its progress. If the client leaves, the following ends but the run goes on.

/** Reports progress as each block of the workflow settles. Blocks of child workflows count as part of the block that runs them. */
async function watchProgress({ context, report }: ToolCall, runId: string): Promise<WorkContext> {
  if (report === undefined) return context;
  const { progress } = await perform(inspectRun, context, { run: runId });
  const { nodes, completed, failed, skipped } = progress;
  const blocks = new Set(nodes);
  const settled = new Set([...completed, ...failed, ...skipped]);
  const watch = (event: WatchedEvent): void => {
    context.watch?.(event);
    if (event.type !== 'checkpoint') return;
    for (const { kind, node, status = 'completed', verdict = status } of event.change) {
      const [id, ...inner] = node ?? [];
      if (kind !== 'settle' || id === undefined || inner.length > 0 || !blocks.has(id) || settled.has(id)) continue;
      settled.add(id);
      report(settled.size, blocks.size, `${id}: ${verdict}`);
    }
  };
  return { ...context, watch };
}

/** A promise that rejects when the client stops waiting. */
function leaveWith(signal: AbortSignal): { readonly aborted: Promise<never>; readonly stay: () => void } {
  let leave: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason instanceof Error ? signal.reason : new Error('the client no longer waits'));
  });
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return { aborted, stay: () => signal.removeEventListener('abort', leave) };
}

/** @throws the errors of a resume; or that the client is gone, while the run goes on in this process */
export async function followRun(
  call: ToolCall,
  runId: string,
  { retry = false }: { readonly retry?: boolean } = {},
): Promise<RunStanding> {
  const { aborted, stay } = leaveWith(call.signal);
  aborted.catch(() => undefined);
  const going = perform(resumeRun, await watchProgress(call, runId), {
    run: runId,
    ...(retry && { retry }),
  });
  going.catch(() => undefined);
  try {
    return await Promise.race([going, aborted]);
  } finally {
    stay();
  }
}
