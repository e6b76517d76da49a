/** `answer`: closes an open question. */
import { CairnError } from '../errors.ts';
import { findOpenWait, type OpenWaitView } from './find-wait.ts';
import { readQuestions } from './list-waits.ts';
import type { Operation, ReadContext, WorkContext } from './operation.ts';

export interface AnswerWaitInput {
  readonly run: string;
  readonly wait?: string;
  readonly value: unknown;
  readonly by?: string;
}

export interface AnswerWaitOutput {
  readonly runId: string;
  /** The wait that was answered. */
  readonly wait: OpenWaitView;
  /** What was recorded: the choice that was meant. */
  readonly value: unknown;
}

/**
 * Finds the run, and the open wait in it that is meant; undefined: none is open that goes by the reference.
 *
 * @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, WAIT_NOT_FOUND, USAGE_INVALID as {@link findOpenWait}
 */
export async function findWaitToAnswer(
  context: ReadContext,
  { run, wait }: Pick<AnswerWaitInput, 'run' | 'wait'>,
): Promise<{ readonly runId: string; readonly wait: OpenWaitView | undefined }> {
  const { runId, waits } = await readQuestions(context, run);
  return { runId, wait: findOpenWait(waits, runId, wait) };
}

export const answerWait: Operation<AnswerWaitInput, AnswerWaitOutput, WorkContext> = {
  name: 'answer',
  summary: 'answer an open question of a run',
  input: {
    run: { type: 'text', description: 'the run', isRequired: true, isPositional: true },
    wait: {
      type: 'text',
      description: 'the question: its id, the beginning of it, or its node; needed if several are open',
      isPositional: true,
    },
    value: { type: 'value', description: 'the answer', isRequired: true, isPositional: true },
    by: { type: 'text', description: 'who answers, for the record' },
  },
  output: 'the question that was answered',
  isReadOnly: false,
  async run(context, input) {
    const { value: given, by } = input;
    const { runId, wait } = await findWaitToAnswer(context, input);
    const waitId = wait?.waitId ?? input.wait ?? '';
    // A wait that is not open goes through: the engine knows whether it was closed already, and by what.
    const value = await context.engine.answer(runId, waitId, given, by === undefined ? {} : { by });
    if (wait === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId });
    return { runId, wait, value };
  },
};
