/** The tool `resume_workflow`: answers the questions of a run, or goes on with one that failed or is stopped. */
import { perform } from '../../operations/contract/perform.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { CairnError } from '../../errors.ts';
import { findCheckpointToChange, findRunToChange } from '../../operations/runs/find-run.ts';
import type { WorkContext, RunStanding } from '../../operations/contract/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import { readStanding } from '../../operations/runs/read-standing.ts';
import { answerWait } from '../../operations/waits/answer-wait.ts';
import { type OpenQuestion, findWait, nodeNameOf } from '../../operations/waits/find-wait.ts';
import { answerIn, type Replies, type Talk, questionsOf, showQuestion } from '../ask/ask-client.ts';
import {
  followRun,
  showStanding,
  type StandingWords,
  type ToolAnswer,
  type ToolCall,
  type ToolQuestions,
  expectInput,
  failureOf,
  standingSchema,
  runsWorkflows,
  text,
  type Tool,
} from './tool.ts';
import { answerWaits } from '../../operations/waits/answer-waits.ts';
import { describeCheckpoint, type DescribeCheckpointOutput } from '../../operations/checkpoints/describe-checkpoint.ts';
import { readQuestions } from '../../operations/waits/give-answers.ts';
import { requireSame } from '../../operations/runs/preview-run.ts';
import { isForOthers, isForPeople } from '../../operations/runs/reserved-answers.ts';

// Runs a workflow until it cannot be advanced further, and asks the client's user its questions on the way if possible.

interface Round {
  readonly talk: Talk;
  /** Why answers were refused, by wait id. */
  readonly remarks: ReadonlyMap<string, string>;
  readonly hasMoved: boolean;
}

/** The person behind the client, who was asked in a form, acts: nothing is reserved. */
const asPerson = ({ reserved: _reserved, ...context }: WorkContext): WorkContext => ({
  ...context,
  actor: 'person',
  acting: { door: 'mcp' },
});

/** Gives each answer to its question. */
async function takeReplies(
  context: WorkContext,
  waits: readonly OpenQuestion[],
  talk: Talk,
  replies: Replies,
): Promise<Round> {
  const remarks = new Map<string, string>();
  const declined = [...talk.declined];
  const refused = [...talk.refused];
  let hasMoved = false;
  for (const wait of waits) {
    const reply = replies.get(wait.waitId);
    if (reply === undefined) continue;
    const value = reply.content === undefined ? undefined : answerIn(wait, reply.content);
    if (value === undefined) {
      declined.push(wait.waitId);
      continue;
    }
    try {
      await perform(answerWait, asPerson(context), { run: talk.runId, wait: wait.waitId, value });
      hasMoved = true;
    } catch (error) {
      if (CairnError.is(error, 'ANSWER_INVALID')) {
        remarks.set(wait.waitId, error.message);
        // Who fills a form in so that it does not fit twice would do so for ever: the run is reported as paused.
        (refused.includes(wait.waitId) ? declined : refused).push(wait.waitId);
      }
      // Somebody else answered first, or the question is gone, so the run must be examined again.
      else if (CairnError.is(error, 'WAIT_CLOSED', 'WAIT_NOT_FOUND', 'RUN_FINISHED')) hasMoved = true;
      else throw error;
    }
  }
  return { talk: { ...talk, declined, refused }, remarks, hasMoved };
}

/** Asks the person the open questions. Undefined if there are none, or nobody can be asked. */
async function askOpen(
  { interview, signal, context }: ToolCall,
  { status, waits }: RunStanding,
  talk: Talk,
  remarks: Round['remarks'],
): Promise<Replies | ToolQuestions | undefined> {
  if (interview === undefined || status !== 'paused' || signal.aborted) return undefined;
  const open = questionsOf(waits).filter(
    (wait) =>
      !talk.declined.includes(wait.waitId) && !isForOthers(asPerson(context), wait) && wait.fourEyes === undefined,
  );
  return open.length === 0 ? undefined : interview.ask(open, talk, remarks);
}

/** Goes on as long as questions get answers. */
async function goOn(
  call: ToolCall,
  from: { readonly standing: RunStanding; readonly talk: Talk; readonly replies: Replies | ToolQuestions | undefined },
  words: StandingWords,
): Promise<ToolAnswer | ToolQuestions> {
  const { context } = call;
  let { standing, talk, replies } = from;
  let remark = words.remark;
  while (replies !== undefined) {
    if ('inputRequired' in replies) return replies;
    const round = await takeReplies(context, questionsOf(standing.waits), talk, replies);
    talk = round.talk;
    const unfit = questionsOf(standing.waits).find(({ waitId }) => round.remarks.has(waitId));
    if (unfit !== undefined)
      remark = `The answer to ${nodeNameOf(unfit)} was refused: ${round.remarks.get(unfit.waitId)}.`;
    if (round.hasMoved) standing = await followRun(call, talk.runId);
    replies = await askOpen(call, standing, talk, round.remarks);
  }
  return showStanding(context, standing, { ...words, remark: standing.status === 'paused' ? remark : words.remark });
}

/**
 * Begins a run and asks the person its questions.
 *
 * @param begin - starts or resumes the run
 */
export async function converse(
  call: ToolCall,
  begin: () => Promise<RunStanding>,
  words: StandingWords = {},
): Promise<ToolAnswer | ToolQuestions> {
  const standing = await begin();
  const talk: Talk = { runId: standing.runId, rounds: 0, declined: [], refused: [] };
  return goOn(call, { standing, talk, replies: await askOpen(call, standing, talk, new Map()) }, words);
}

/** Continues after the client repeated its call with answers. Nothing is started a second time. */
export async function takeUp(
  call: ToolCall,
  { talk, replies }: { readonly talk: Talk; readonly replies: Replies },
): Promise<ToolAnswer | ToolQuestions> {
  const standing = await perform(readStanding, call.context, { run: talk.runId });
  return goOn(call, { standing, talk, replies: replies }, { isResumed: true });
}

interface ResumeWorkflowInput {
  readonly checkpoint_id: string;
  readonly llm_response?: string;
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly retry?: boolean;
  readonly expect?: string;
}

/** @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, CHECKPOINT_AMBIGUOUS, CHECKPOINT_CORRUPT */
async function readCheckpoint({ context }: ToolCall, checkpoint: string): Promise<DescribeCheckpointOutput> {
  try {
    // It is answered next, so a part of its id is not enough.
    await findCheckpointToChange(context, checkpoint);
    return await perform(describeCheckpoint, context, { checkpoint });
  } catch (error) {
    if (!CairnError.is(error, 'RUN_NOT_FOUND', 'RUN_EXPIRED')) throw error;
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint }, { cause: error });
  }
}

/**
 * The answers by wait. A text without a name answers the first question that was open at the checkpoint, so that a repeated or late answer
 * cannot reach a later question. If the checkpoint has none, it answers the run's only open question.
 */
function answersOf(
  checkpoint: DescribeCheckpointOutput,
  { llm_response: response = '', answers = {} }: ResumeWorkflowInput,
): readonly (readonly [wait: string | undefined, value: unknown])[] {
  const named = Object.entries(answers);
  if (response === '') return named;
  if (named.length > 0)
    throw new CairnError('USAGE_INVALID', {
      reason: 'llm_response and answers were both given',
      hint: 'Give llm_response for one question, or answers for several.',
    });
  return [[questionsOf(checkpoint.waits)[0]?.waitId, response]];
}

/** Records all answers or none. @returns why they were refused (the questions stay open); undefined if they are recorded */
async function giveAnswers(
  { context }: ToolCall,
  run: string,
  answers: readonly (readonly [wait: string | undefined, value: unknown])[],
): Promise<string | undefined> {
  const [[name, value]] = answers as [(typeof answers)[number]];
  const { waits } = await readQuestions(context, run);
  const wait = answers.length > 1 ? undefined : findWait(waits, run, name);
  const id = wait?.waitId ?? name;
  try {
    if (answers.length > 1) await perform(answerWaits, context, { run, answers: Object.fromEntries(answers) });
    else await perform(answerWait, context, { run, value, ...(id !== undefined && { wait: id }) });
    return undefined;
  } catch (error) {
    if (!CairnError.is(error, 'ANSWER_INVALID')) throw error;
    if (answers.length > 1) return `The answers were refused: ${error.message}.`;
    return `The answer to ${wait === undefined ? 'the question' : nodeNameOf(wait)} was refused: ${error.message}.`;
  }
}

/** Goes on. If the run still waits for the same questions, says that an answer is missing. */
async function resumeAfterAnswers(
  call: ToolCall,
  checkpoint: DescribeCheckpointOutput,
  { retry = false }: ResumeWorkflowInput,
): Promise<ToolAnswer | ToolQuestions> {
  const { runId: run, checkpointId } = checkpoint;
  const standing = await followRun(call, run, { retry });
  const questions = questionsOf(standing.waits);
  const known = new Set(checkpoint.waits.map(({ waitId }) => waitId));
  const isUnanswered = questions.length > 0 && questions.every(({ waitId }) => known.has(waitId));
  if (call.interview !== undefined || standing.status !== 'paused' || !isUnanswered)
    return converse(call, () => Promise.resolve(standing), { isResumed: true });
  const { reserved } = call.context;
  if (reserved !== undefined && questions.every((wait) => isForPeople(call.context, wait))) {
    const command = reserved.command('answer', run, 'VALUE', '--resume');
    return failureOf(new CairnError('ANSWER_RESERVED', { runId: run, reason: 'the run waits for one', command }));
  }
  const error = new CairnError('USAGE_INVALID', {
    reason: `Checkpoint ${checkpointId} is paused - llm_response required`,
    hint: 'Give llm_response for the first question, or answers for several.',
  });
  const prompt = questions[0]?.prompt ?? '';
  const listed = questions.map((one) => showQuestion(one, call.context));
  return failureOf(error, { checkpoint_id: checkpointId, prompt, questions: listed, run_id: run });
}

/** The answer is durable. If another process is advancing the run, that process takes it. */
async function showOwnedElsewhere({ context, log }: ToolCall, run: string, error: CairnError): Promise<ToolAnswer> {
  seeTaken(context, run).catch((failure: unknown) => log(`run ${run}: ${String(failure)}`));
  const { content } = await showStanding(context, await perform(readStanding, context, { run }), { isResumed: true });
  const message =
    'The answer is recorded, and the process that works on the run takes it - get_run says where it stands';
  return { content: { ...content, status: 'running', message, held_by: String(error.data['owner']) } };
}

async function resume(call: ToolCall, input: ResumeWorkflowInput): Promise<ToolAnswer | ToolQuestions> {
  const { context } = call;
  const { expect, retry = false } = input;
  await requireSame(context, expect, { checkpoint: input.checkpoint_id, retry });
  const checkpoint = await readCheckpoint(call, input.checkpoint_id);
  const { runId: run } = checkpoint;
  const answers = answersOf(checkpoint, input);
  if (answers.length === 0) return resumeAfterAnswers(call, checkpoint, input);
  const refused = await giveAnswers(call, run, answers);
  const words = { isResumed: true, remark: refused };
  if (refused !== undefined) return showStanding(context, await perform(readStanding, context, { run }), words);
  try {
    return await converse(call, () => followRun(call, run), words);
  } catch (error) {
    if (CairnError.is(error, 'CLAIM_TAKEN')) return showOwnedElsewhere(call, run, error);
    throw error;
  }
}

export const resumeWorkflow: Tool<ResumeWorkflowInput> = {
  name: 'resume_workflow',
  title: 'Resume a workflow',
  description:
    'Answer the question of a paused workflow and go on with it, or go on with one that failed or is stopped. Takes the checkpoint_id of a paused result, or a run_id: the run goes on from its newest checkpoint. An answer that does not fit is refused with the reason, and the question stays open.',
  input: {
    checkpoint_id: text('checkpoint_id of a paused result or of list_checkpoints, or a run_id.', { minLength: 1 }),
    llm_response: text('Your answer to the prompt. Empty: go on without one.'),
    answers: {
      type: 'object',
      description:
        'Answers to several questions: by wait id (questions[].wait) or block id. If one does not fit, none is taken.',
    },
    retry: {
      type: 'boolean',
      description:
        'true: run commands of a failed run again that ended with an exit code. Default false: it is asked whether they happened. Where that is asked already, true is the answer.',
    },
    expect: expectInput,
  },
  required: ['checkpoint_id'],
  output: standingSchema,
  hints: runsWorkflows,
  async run(call, input) {
    try {
      return await resume(call, input);
    } catch (error) {
      if (!CairnError.is(error, 'CHECKPOINT_NOT_FOUND')) throw error;
      const { checkpoint_id: id } = input;
      return failureOf(error, { error: `Checkpoint not found: ${id}. It may have expired.`, checkpoint_id: id });
    }
  },
};

// Makes sure that an answer is taken by a run that another process is advancing.

const lookEveryMs = 250;

/**
 * Waits until the answer is taken. The process that holds the run looks for answers from time to time. If it releases the run before it
 * sees the answer, the run is paused with an answer waiting, and is resumed here.
 */
async function seeTaken(context: WorkContext, runId: string): Promise<void> {
  for (;;) {
    await sleep(lookEveryMs, undefined, { ref: false });
    const { hasMessages } = await findRunToChange(context, runId);
    if (!hasMessages) return;
    try {
      await perform(resumeRun, context, { run: runId });
    } catch (error) {
      if (!CairnError.is(error, 'CLAIM_TAKEN')) throw error;
    }
  }
}
