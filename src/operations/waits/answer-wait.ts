/** The operation `answer`: answers an open question. */
import { runField } from '../contract/fields.ts';
import { anything, objectOf, text, wait } from '../contract/output-shapes.ts';
import { giveAnswers, type AnsweredWait } from './give-answers.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';

export interface AnswerWaitInput {
  readonly run: string;
  readonly wait?: string;
  /** The answer. A text is read as typed by a person: see {@link giveAnswers}. */
  readonly value: unknown;
  readonly by?: string;
}

export interface AnswerWaitOutput extends AnsweredWait {
  readonly runId: string;
}

/** Answers one question. */
export const answerWait: RoutedOperation<AnswerWaitInput, AnswerWaitOutput, WorkContext> = {
  name: 'answer_question',
  command: 'answer',
  summary: 'answer an open question of a run',
  input: {
    run: runField(),
    wait: {
      type: 'text',
      description: 'the question: its id, the beginning of it, its node or its name; needed if several are open',
      isPositional: true,
    },
    value: { type: 'answer', description: 'the answer', isRequired: true, isPositional: true },
    by: { type: 'text', description: 'who answers, for the record', isActor: true },
  },
  output: 'the question that was answered',
  outputSchema: objectOf({ runId: text, waitId: text, value: anything }, { wait }),
  isReadOnly: false,
  scope: 'answer',
  route: 'POST /runs/{run}/answer',
  next: ({ runId }) => [{ operation: 'resume_run', input: { run: runId }, why: 'go on' }],
  /** @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, USAGE_INVALID several fit the name */
  async run(context, { run, wait: name, value: answer, by }) {
    const { runId, answered } = await giveAnswers(context, run, [[name, answer]], by);
    return { runId, ...(answered[0] as AnsweredWait) };
  },
};
