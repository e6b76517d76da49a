/** Runs a run to its end with somebody who answers what it asks. The questions are waits of the run: they outlive the process that asks. */
import { CairnError } from '../../errors.ts';
import type { Engine, ResumeOptions, RunResult } from '../../engine/api.ts';
import { isAnswerable } from '../../history/stored/open-waits.ts';
import { isAhead } from './deadline.ts';
import type { AskedQuestion, Interviewer } from './interviewers.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export interface InterviewOptions extends Pick<ResumeOptions, 'graph'> {
  /** Who answers, for the record. */
  readonly by?: string;
}

const optionNames = Object.keys({ graph: true, by: true } satisfies Record<keyof InterviewOptions, true>);

/**
 * Goes on with a run until it ends, or rests on questions that the interviewer leaves open. Each answer is durable before the run goes on,
 * so that it is not asked for again by whoever takes the run up.
 * @throws as `Engine.resume` and `Engine.answer`; whatever the interviewer throws
 */
export async function interview(
  engine: Pick<Engine, 'resume' | 'answer'>,
  runId: string,
  interviewer: Interviewer,
  options: InterviewOptions = {},
): Promise<RunResult> {
  refuseUnknownKeys('interview', options, optionNames);
  const { graph, by } = options;
  for (;;) {
    const handle = await engine.resume(runId, graph === undefined ? {} : { graph });
    const result = await handle.result();
    if (result.status !== 'paused') return result;
    let count = 0;
    for (const question of result.waits)
      if (isAnswerable(question) && (await closed(engine, question, interviewer, by))) count += 1;
    if (count === 0) return result;
  }
}

/** Whether the run can go on by what became of the question: it was answered, or its deadline passed while it was asked. */
async function closed(
  engine: Pick<Engine, 'answer'>,
  question: AskedQuestion,
  interviewer: Interviewer,
  by: string | undefined,
): Promise<boolean> {
  const wasAhead = isAhead(question);
  return (await answered(engine, question, interviewer, by)) || (wasAhead && !isAhead(question));
}

/** Whether it was answered. */
async function answered(
  engine: Pick<Engine, 'answer'>,
  question: AskedQuestion,
  interviewer: Interviewer,
  by: string | undefined,
): Promise<boolean> {
  for (;;) {
    const answer: unknown = await interviewer.ask(question);
    if (answer === undefined) return false;
    try {
      await engine.answer(question.runId, question.waitId, answer, { stays: true, ...(by !== undefined && { by }) });
      return true;
    } catch (error) {
      // Somebody else was faster, or its deadline was.
      if (CairnError.is(error, 'WAIT_CLOSED', 'WAIT_NOT_FOUND')) return true;
      if (!CairnError.is(error, 'ANSWER_INVALID') || !(error instanceof Error)) throw error;
      if ((await interviewer.refused?.(question, error)) !== true) return false;
    }
  }
}
