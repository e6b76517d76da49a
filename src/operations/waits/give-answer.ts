/** Gives an answer to a wait, as every door does: a text is what somebody typed, any other value is meant as it is (W2, W3). */
import { isDeepStrictEqual } from 'node:util';
import { CairnError } from '../../errors.ts';
import { refuseAnswer } from '../runs/reserved-answers.ts';
import { readAnswer, type OpenQuestion } from './find-wait.ts';
import type { WorkContext } from '../declare/operation.ts';

/** The wait that an answer is for. */
export interface AnsweredWait {
  readonly runId: string;
  readonly waitId: string;
  /** Absent: it was closed before, by the same answer. */
  readonly wait?: OpenQuestion;
}

/** @returns the value recorded: the choice that was meant. @throws WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, ANSWER_RESERVED */
export async function giveAnswer(
  context: WorkContext,
  { runId, waitId, wait }: AnsweredWait,
  given: unknown,
  by: string | undefined,
): Promise<unknown> {
  refuseAnswer(context, { runId, waitId }, by);
  const value = typeof given === 'string' && wait !== undefined ? readAnswer(wait, given) : given;
  try {
    return await context.engine.answer(runId, waitId, value, by === undefined ? {} : { by });
  } catch (error) {
    // What a closed question asked for is not known any more: the same text again is the same answer, whichever way it was read.
    if (!CairnError.is(error, 'WAIT_CLOSED') || typeof given !== 'string') throw error;
    const { answer } = error.data;
    if (!isDeepStrictEqual(readAnswer({}, given), answer)) throw error;
    return answer;
  }
}
