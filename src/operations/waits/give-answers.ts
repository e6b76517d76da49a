/** Gives answers in the way of every door: a text is read as typed by a person, any other value is taken as it is (W2, W3). */
import { refuseAnswer } from '../runs/reserved-answers.ts';
import type { OpenQuestion } from './find-wait.ts';
import type { WorkContext } from '../contract/operation.ts';

/** An answer, and the question that it is for. */
export interface SubmittedAnswer {
  /** How the question was named. */
  readonly name: string;
  /** The open question of that name. If there is none, the engine knows whether it was closed before, and by what. */
  readonly wait: OpenQuestion | undefined;
  readonly value: unknown;
}

/** A question and its answer. */
export interface AnsweredWait {
  /** Its id; the caller's name for it if it is not open any more. */
  readonly waitId: string;
  /** Absent if it is not open any more: this answer was recorded before, and is acknowledged. */
  readonly wait?: OpenQuestion;
  /** The value recorded, which for a question with choices is the choice that was meant. */
  readonly value: unknown;
}

/** Gives all answers or none. @throws WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, ANSWER_RESERVED */
export async function giveAnswers(
  context: WorkContext,
  runId: string,
  submitted: readonly SubmittedAnswer[],
  by: string | undefined,
): Promise<readonly AnsweredWait[]> {
  const named = submitted.map(({ name, wait, value }) => ({ waitId: wait?.waitId ?? name, wait, value }));
  for (const { waitId, wait } of named) refuseAnswer(context, { runId, waitId, wait });
  const { isDetached: stays = false, posted } = context;
  const options = { readsTexts: true, stays, ...(by !== undefined && { by }) };
  const pairs = named.map(({ waitId, value }) => [waitId, value] as const);
  const recorded = await context.engine.answerAll(runId, pairs, options);
  posted?.(runId);
  return named.map(({ waitId, wait }, index) => {
    return { waitId, ...(wait !== undefined && { wait }), value: recorded[index] };
  });
}
