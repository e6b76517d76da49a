/** Answers several open questions of a run, all or none. */
import { anything, listOf, objectOf, text, wait } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { refuseAnswer } from '../runs/reserved-answers.ts';
import { findWait, readAnswer, type OpenQuestion } from './find-wait.ts';
import { readQuestions } from './list-waits.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export interface AnswerWaitsInput {
  readonly run: string;
  /** Answers by wait: its id, the beginning of its id, its node or its name. A text is read as typed by a person. */
  readonly answers: Readonly<Record<string, unknown>>;
  readonly by?: string;
}

export interface AnswerWaitsOutput {
  readonly runId: string;
  /** The answered waits in the given order, with the values recorded. */
  readonly answered: readonly { readonly wait: OpenQuestion; readonly value: unknown }[];
}

export const answerWaits: Operation<AnswerWaitsInput, AnswerWaitsOutput, WorkContext> = {
  name: 'answers',
  summary: 'answer several open questions of a run, all of them or none',
  input: {
    run: { type: 'text', description: 'the run', isRequired: true, isPositional: true },
    answers: { type: 'answers', description: 'a wait, its node or its name, and the answer', isRequired: true },
    by: { type: 'text', description: 'who answers, for the record' },
  },
  output: 'the questions that were answered',
  outputSchema: objectOf({ runId: text, answered: listOf(objectOf({ wait, value: anything })) }),
  isReadOnly: false,
  /**
   * No question is answered if it throws. @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, WAIT_NOT_FOUND, USAGE_INVALID, ANSWER_INVALID,
   * WAIT_CLOSED, ANSWER_RESERVED
   */
  async run(context, { run, answers, by }) {
    const { runId, waits } = await readQuestions(context, run);
    const given = Object.entries(answers).map(([name, value]) => {
      const wait = findWait(waits, runId, name);
      if (wait === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId: name });
      refuseAnswer(context, { runId, waitId: wait.waitId }, by);
      return { wait, value: typeof value === 'string' ? readAnswer(wait, value) : value };
    });
    const pairs = given.map(({ wait, value }) => [wait.waitId, value] as const);
    const recorded = await context.engine.answerAll(runId, pairs, by === undefined ? {} : { by });
    return { runId, answered: given.map(({ wait }, index) => ({ wait, value: recorded[index] })) };
  },
};
