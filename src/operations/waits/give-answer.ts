/** Answers a wait in the way of every interface: a text is read as typed by a person, any other value is taken as it is (W2, W3). */
import { isDeepStrictEqual } from 'node:util';
import { CairnError } from '../../errors.ts';
import { refuseAnswer } from '../runs/reserved-answers.ts';
import { readAnswer, type OpenQuestion } from './find-wait.ts';
import type { WorkContext } from '../declare/operation.ts';

/** The wait to answer. */
export interface AnsweredWait {
  readonly runId: string;
  readonly waitId: string;
  /** Absent if the wait is not open any more; the engine then accepts only the answer that closed it. */
  readonly wait?: OpenQuestion;
}

/**
 * Gives the answer. @returns the value recorded, which for a question with choices is the choice that was meant. @throws WAIT_NOT_FOUND,
 * WAIT_CLOSED, ANSWER_INVALID, ANSWER_RESERVED
 */
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
    // The question is closed, so how it read texts is not known any more. The same text given again counts as the same answer.
    if (!CairnError.is(error, 'WAIT_CLOSED') || typeof given !== 'string') throw error;
    const { answer } = error.data;
    if (!isDeepStrictEqual(readAnswer({}, given), answer)) throw error;
    return answer;
  }
}
