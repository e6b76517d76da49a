/**
 * Gives answers in the way of every door: each is for the open question that it names, none that is for a person is taken from anybody else,
 * and all are posted or none. A text is read as typed by a person, any other value is taken as it is (W2, W3, M13.5).
 */
import type { OpenQuestion } from '../../engine/api.ts';
import { findWait } from '../../engine/validate/find-wait.ts';
import { readAnsweredIds } from '../../history/access/read-all.ts';
import { readWait } from '../../history/stored/wait-row.ts';
import type { WaitQuery } from '../../ports/store.ts';
import type { ReadContext, WorkContext } from '../contract/operation.ts';
import { findCheckpointToChange } from '../runs/find-run.ts';
import { refuseAnswer } from '../runs/reserved-answers.ts';

/** The waits that people answer. */
export const answerableKinds: NonNullable<WaitQuery['kinds']> = ['question', 'doubt'];

/** More than the open waits that a run may have. */
const waitsOfRun = 100_000;

/**
 * The open questions of one run that is to be answered, also those whose answer waits to be taken: who answers them again gets an error that says so. @throws
 * RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS
 */
export async function readQuestions(
  context: ReadContext,
  reference: string,
): Promise<{ readonly runId: string; readonly waits: readonly OpenQuestion[] }> {
  const { store, tenant } = context;
  const { run } = await findCheckpointToChange(context, reference);
  const { runId } = run;
  const answered = await readAnsweredIds(store, run);
  const { rows } = await store.listWaits({ tenant, runId, kinds: answerableKinds, limit: waitsOfRun });
  const waits = rows.map((row) => ({
    ...readWait(row),
    ...(answered.has(row.waitId) && { isAnswered: true as const }),
  }));
  return { runId, waits };
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

/**
 * @param answers - each with the name of its question; without a name it is for the only one that is open
 * @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, ANSWER_RESERVED, USAGE_INVALID several fit a name
 */
export async function giveAnswers(
  context: WorkContext,
  run: string,
  answers: readonly (readonly [name: string | undefined, value: unknown])[],
  by: string | undefined,
): Promise<{ readonly runId: string; readonly answered: readonly AnsweredWait[] }> {
  const { runId, waits } = await readQuestions(context, run);
  const named = answers.map(([name, value]) => {
    // If none of that name is open, the engine knows whether it was closed before, and by what.
    const wait = findWait(waits, runId, name);
    return { waitId: wait?.waitId ?? name ?? '', wait, value };
  });
  for (const { waitId, wait } of named) refuseAnswer(context, { runId, waitId, wait });
  const { isDetached: stays = false, posted } = context;
  const options = { readsTexts: true, stays, ...context.acting, ...(by !== undefined && { by }) };
  const pairs = named.map(({ waitId, value }) => [waitId, value] as const);
  const recorded = await context.engine.answerAll(runId, pairs, options);
  posted?.(runId);
  const answered = named.map(({ waitId, wait }, index) => ({
    waitId,
    ...(wait !== undefined && { wait }),
    value: recorded[index],
  }));
  return { runId, answered };
}
