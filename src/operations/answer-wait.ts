/** `answer`: closes an open question. */
import { CairnError } from '../errors.ts';
import { findRun } from './find-run.ts';
import { listWaits } from './list-waits.ts';
import { findOpenWait, type OpenWaitView } from './find-wait.ts';
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
  readonly value: unknown;
}

/** More than a run may have open. */
const waitsLimit = 100_000;

/**
 * Finds the run, and the open wait in it that is meant; undefined: none is open that goes by the reference.
 *
 * @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, WAIT_NOT_FOUND, USAGE_INVALID as {@link findOpenWait}
 */
export async function findWaitToAnswer(
  context: ReadContext,
  { run, wait }: Pick<AnswerWaitInput, 'run' | 'wait'>,
): Promise<{ readonly runId: string; readonly wait: OpenWaitView | undefined }> {
  const { runId } = await findRun(context, run);
  const { waits } = await listWaits.run(context, { run: runId, limit: waitsLimit });
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
    const { value, by } = input;
    const { runId, wait } = await findWaitToAnswer(context, input);
    const waitId = wait?.waitId ?? input.wait ?? '';
    // A wait that is not open goes through: the engine knows whether it was closed already, and by what.
    await context.engine.answer(runId, waitId, value, by === undefined ? {} : { by });
    if (wait === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId });
    return { runId, wait, value };
  },
};
