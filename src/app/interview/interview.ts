/** Runs a run to its end with somebody who answers what it asks. The questions are waits of the run: they outlive the process that asks. */
import { systemClock } from '../process/system-clock.ts';
import { choicesOf } from '../../engine/validate/choices.ts';
import { type OpenQuestion, isAnswerable } from '../../history/stored/wait-row.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { printableLines } from '../../operations/format/terminal.ts';
import { CairnError } from '../../errors.ts';
import type { Engine, ResumeOptions, RunResult } from '../../engine/api.ts';

// Ends a prompt when the deadline of its question passes.

export interface Deadline {
  /** Aborted when it passes; at once if it has. */
  readonly signal: AbortSignal;
  /** Ends the watch. */
  readonly release: () => void;
}

/** Whether a question has a deadline that is yet to come, by this machine's clock. That of a run in a test may be another. */
function isAhead({ dueAt }: { readonly dueAt?: number }): boolean {
  return dueAt !== undefined && dueAt > systemClock.now();
}

/** @param dueAt - epoch ms; undefined if there is no deadline */
export function watchDeadline(dueAt: number | undefined): Deadline {
  const ending = new AbortController();
  let release = (): void => undefined;
  const look = (): void => {
    const remainingMs = (dueAt ?? Infinity) - systemClock.now();
    // Timers may fire a little early, and a run that goes on early would ask again.
    if (remainingMs <= 0) ending.abort();
    else if (dueAt !== undefined) release = systemClock.setTimer(remainingMs, look);
  };
  look();
  return { signal: ending.signal, release: () => release() };
}

// Who answers the questions of runs in a program: five forms, and any function of one's own.

export interface Interviewer {
  /**
   * Answers a question: a choice's value or label or key, a text, true or false, as the question asks.
   * @returns the answer, or a promise of it; undefined: the question stays open
   */
  ask(question: OpenQuestion): unknown;
  /** Called with why an answer was refused; the question is asked again if it returns true. Default: it stays open. */
  refused?(question: OpenQuestion, reason: Error): Promise<boolean> | boolean;
}

/** A question and its answer; absent: it stayed open. */
export interface RecordedAnswer {
  readonly question: OpenQuestion;
  readonly answer?: unknown;
}

/** Says yes to all: the first choice, true, or `auto-approved`. */
export function autoApprove(): Interviewer {
  return {
    ask: (question) => {
      const [first] = choicesOf(question) ?? [];
      if (first !== undefined) return first.value;
      return isOfType(question.schema, 'boolean') ? true : 'auto-approved';
    },
  };
}

/** Hands each question to a function. */
export function callbackInterviewer(ask: Interviewer['ask']): Interviewer {
  return { ask };
}

/** Returns answers in turn; once they are used up, questions stay open. */
export function queueInterviewer(answers: readonly unknown[]): Interviewer {
  const remaining = [...answers];
  return { ask: () => remaining.shift() };
}

/** Lets another one answer, and adds questions and answers to `records`. */
export function recordingInterviewer(
  inner: Interviewer,
): Interviewer & { readonly records: readonly RecordedAnswer[] } {
  const records: RecordedAnswer[] = [];
  return {
    records,
    ask: async (question) => {
      const answer = await inner.ask(question);
      records.push({ question, ...(answer !== undefined && { answer }) });
      return answer;
    },
    ...(inner.refused !== undefined && { refused: inner.refused.bind(inner) }),
  };
}

export interface ConsoleOptions {
  /** Default: the process's own. */
  readonly input?: NodeJS.ReadableStream;
  readonly output?: NodeJS.WritableStream;
}

const consoleOptionNames = Object.keys({ input: true, output: true } satisfies Record<keyof ConsoleOptions, true>);

/** Asks a person by lines of text: what is typed is the answer, and nothing leaves the question open, as its deadline does. */
export function consoleInterviewer(options: ConsoleOptions = {}): Interviewer {
  refuseUnknownKeys('consoleInterviewer', options, consoleOptionNames);
  const { input = process.stdin, output = process.stdout } = options;
  return {
    ask: async (question) => {
      const { prompt = '', schema } = question;
      const choices = choicesOf(question) ?? [];
      const lines = [prompt, ...choices.map(({ label }) => `  ${label}`)];
      // Loaded when a person is asked: most programs ask nobody at this console.
      const { createInterface } = process.getBuiltinModule('node:readline/promises');
      const reader = createInterface({ input, output, terminal: false });
      const { signal, release } = watchDeadline(isAhead(question) ? question.dueAt : undefined);
      try {
        output.write(`${lines.map(printableLines).join('\n')}\n`);
        const typed = (await reader.question(isOfType(schema, 'boolean') ? '[y/n] ' : '> ', { signal })).trim();
        if (typed === '') return undefined;
        return isOfType(schema, 'boolean') ? /^(?:y|yes|true)$/iu.test(typed) : typed;
      } catch (error) {
        if (!signal.aborted) throw error;
        output.write('\nThe time to answer is over.\n');
        return undefined;
      } finally {
        release();
        reader.close();
      }
    },
    refused: (_, { message }) => {
      output.write(`${printableLines(message)}\n`);
      return true;
    },
  };
}

function isOfType(schema: unknown, type: string): boolean {
  return (schema as { readonly type?: unknown } | undefined)?.type === type;
}

export interface InterviewOptions extends Pick<ResumeOptions, 'graph'> {
  /** Who answers, for the record. */
  readonly by?: string;
}

const optionNames = Object.keys({ graph: true, by: true } satisfies Record<keyof InterviewOptions, true>);

/**
 * Goes on with a run until it ends, or rests on questions that the interviewer leaves open. Each answer is durable before the run goes on,
 * so that whoever takes the run up does not ask again.
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
  question: OpenQuestion,
  interviewer: Interviewer,
  by: string | undefined,
): Promise<boolean> {
  const wasAhead = isAhead(question);
  return (await answered(engine, question, interviewer, by)) || (wasAhead && !isAhead(question));
}

/** Whether it was answered. */
async function answered(
  engine: Pick<Engine, 'answer'>,
  question: OpenQuestion,
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
