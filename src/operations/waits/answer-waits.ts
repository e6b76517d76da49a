/** Answers several open questions of a run, all or none. */
import { runField } from '../contract/fields.ts';
import { anything, listOf, objectOf, text, wait } from '../contract/output-shapes.ts';
import { giveAnswers, type AnsweredWait } from './give-answers.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';

export interface AnswerWaitsInput {
  readonly run: string;
  /** Answers by wait: its id, the beginning of its id, its node or its name. A text is read as typed by a person. */
  readonly answers: Readonly<Record<string, unknown>>;
  readonly by?: string;
}

export interface AnswerWaitsOutput {
  readonly runId: string;
  /** The answered waits in the caller's order, with the values recorded. */
  readonly answered: readonly AnsweredWait[];
}

/** Answers several, all or none. */
export const answerWaits: RoutedOperation<AnswerWaitsInput, AnswerWaitsOutput, WorkContext> = {
  name: 'answer_questions',
  summary: 'answer several open questions of a run, all of them or none',
  input: {
    run: runField(),
    answers: { type: 'answers', description: 'a wait, its node or its name, and the answer', isRequired: true },
    by: { type: 'text', description: 'who answers, for the record', isActor: true },
  },
  output: 'the questions that were answered',
  outputSchema: objectOf({ runId: text, answered: listOf(objectOf({ waitId: text, value: anything }, { wait })) }),
  isReadOnly: false,
  scope: 'answer',
  route: 'POST /runs/{run}/answers',
  next: ({ runId }) => [{ operation: 'resume_run', input: { run: runId }, why: 'go on' }],
  /**
   * No question is answered if it throws. @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, WAIT_NOT_FOUND, USAGE_INVALID, ANSWER_INVALID,
   * WAIT_CLOSED, ANSWER_RESERVED
   */
  run: (context, { run, answers, by }) => giveAnswers(context, run, Object.entries(answers), by),
};
