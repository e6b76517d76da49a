/** Answers several open questions of a run at once. */
import { listOf, objectOf, text, wait } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { findWait, type OpenQuestion } from './find-wait.ts';
import { giveAnswer } from './give-answer.ts';
import { readQuestions } from './list-waits.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export interface AnswerWaitsInput {
  readonly run: string;
  /** By wait: its id, the beginning of it, its node or its name. A text is read as what somebody typed. */
  readonly answers: Readonly<Record<string, unknown>>;
  readonly by?: string;
}

export interface AnswerWaitsOutput {
  readonly runId: string;
  readonly answered: readonly OpenQuestion[];
  /** Answers that did not fit, or came too late; their questions are as they were. */
  readonly refused: readonly { readonly wait: OpenQuestion; readonly error: CairnError }[];
}

export const answerWaits: Operation<AnswerWaitsInput, AnswerWaitsOutput, WorkContext> = {
  name: 'answers',
  summary: 'answer several open questions of a run',
  input: {
    run: { type: 'text', description: 'the run', isRequired: true, isPositional: true },
    answers: { type: 'answers', description: 'a wait, its node or its name, and the answer', isRequired: true },
    by: { type: 'text', description: 'who answers, for the record' },
  },
  output: 'the questions that were answered, and the answers that were refused',
  outputSchema: objectOf({
    runId: text,
    answered: listOf(wait),
    refused: listOf(objectOf({ wait, error: { type: 'object' } })),
  }),
  isReadOnly: false,
  /** @throws WAIT_NOT_FOUND, USAGE_INVALID before any is answered, if one of the names fits none or several */
  async run(context, { run, answers, by }) {
    const { runId, waits } = await readQuestions(context, run);
    const given = Object.entries(answers).map(([name, value]) => {
      const wait = findWait(waits, runId, name);
      if (wait === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId: name });
      return { wait, value };
    });
    const answered: OpenQuestion[] = [];
    const refused: { wait: OpenQuestion; error: CairnError }[] = [];
    for (const { wait, value } of given) {
      try {
        await giveAnswer(context, { runId, waitId: wait.waitId, wait }, value, by);
        answered.push(wait);
      } catch (error) {
        if (!CairnError.is(error, 'ANSWER_INVALID', 'WAIT_CLOSED')) throw error;
        refused.push({ wait, error });
      }
    }
    return { runId, answered, refused };
  },
};
