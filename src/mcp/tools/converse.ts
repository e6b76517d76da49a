/** Runs a workflow until it cannot be advanced further, and asks the client's user its questions on the way if possible. */
import { perform } from '../../operations/declare/perform.ts';
import { readStanding } from '../../operations/runs/read-standing.ts';
import { CairnError } from '../../errors.ts';
import { answerWait } from '../../operations/waits/answer-wait.ts';
import type { OpenQuestion } from '../../operations/waits/find-wait.ts';
import type { RunStanding, WorkContext } from '../../operations/declare/operation.ts';
import { answerIn } from '../ask/elicitation-form.ts';
import { followRun } from './follow-run.ts';
import type { Replies, Talk } from '../ask/interview.ts';
import { questionsOf } from '../ask/question.ts';
import { showStanding, type StandingWords } from './standing.ts';
import type { ToolAnswer, ToolCall, ToolQuestions } from './tool.ts';

interface Round {
  readonly talk: Talk;
  /** Why answers were refused, by wait id. */
  readonly remarks: ReadonlyMap<string, string>;
  readonly hasMoved: boolean;
}

/** Gives each answer to its question. */
async function takeReplies(
  context: WorkContext,
  waits: readonly OpenQuestion[],
  talk: Talk,
  replies: Replies,
): Promise<Round> {
  const remarks = new Map<string, string>();
  const declined = [...talk.declined];
  let hasMoved = false;
  for (const wait of waits) {
    const reply = replies.get(wait.waitId);
    if (reply === undefined) continue;
    const value = reply.content === undefined ? undefined : answerIn(reply.content);
    if (value === undefined) {
      declined.push(wait.waitId);
      continue;
    }
    try {
      await perform(answerWait, context, { run: talk.runId, wait: wait.waitId, value, by: 'person' });
      hasMoved = true;
    } catch (error) {
      if (CairnError.is(error, 'ANSWER_INVALID')) remarks.set(wait.waitId, error.message);
      // Somebody else answered first, or the question is gone, so the run must be examined again.
      else if (CairnError.is(error, 'WAIT_CLOSED', 'WAIT_NOT_FOUND', 'RUN_FINISHED')) hasMoved = true;
      else throw error;
    }
  }
  return { talk: { ...talk, declined }, remarks, hasMoved };
}

/** Asks the person the open questions. Undefined if there are none, or nobody can be asked. */
async function askOpen(
  { interview, signal }: ToolCall,
  { status, waits }: RunStanding,
  talk: Talk,
  remarks: Round['remarks'],
): Promise<Replies | ToolQuestions | undefined> {
  if (interview === undefined || status !== 'paused' || signal.aborted) return undefined;
  const open = questionsOf(waits).filter(({ waitId }) => !talk.declined.includes(waitId));
  return open.length === 0 ? undefined : interview.ask(open, talk, remarks);
}

/** Goes on as long as questions get answers. */
async function goOn(
  call: ToolCall,
  from: { readonly standing: RunStanding; readonly talk: Talk; readonly said: Replies | ToolQuestions | undefined },
  words: StandingWords,
): Promise<ToolAnswer | ToolQuestions> {
  const { context } = call;
  let { standing, talk, said } = from;
  while (said !== undefined) {
    if ('inputRequired' in said) return said;
    const round = await takeReplies(context, questionsOf(standing.waits), talk, said);
    talk = round.talk;
    if (round.hasMoved) standing = await followRun(call, talk.runId);
    said = await askOpen(call, standing, talk, round.remarks);
  }
  return showStanding(context, standing, words);
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
  const talk: Talk = { runId: standing.runId, rounds: 0, declined: [] };
  return goOn(call, { standing, talk, said: await askOpen(call, standing, talk, new Map()) }, words);
}

/** Continues after the client repeated its call with answers. Nothing is started a second time. */
export async function takeUp(
  call: ToolCall,
  { talk, replies }: { readonly talk: Talk; readonly replies: Replies },
): Promise<ToolAnswer | ToolQuestions> {
  const standing = await perform(readStanding, call.context, { run: talk.runId });
  return goOn(call, { standing, talk, said: replies }, { isResumed: true });
}
