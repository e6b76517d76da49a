/** Who answers the questions of runs in a program: five forms, and any function of one's own. */
import { choicesOf } from '../../engine/admit/choices.ts';
import type { OpenQuestion } from '../../history/stored/open-waits.ts';
import { isAhead, watchDeadline } from './deadline.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** One open question of a run. */
export type AskedQuestion = OpenQuestion;

export interface Interviewer {
  /**
   * Answers a question: a choice's value or label or key, a text, true or false, as the question asks.
   * @returns the answer, or a promise of it; undefined: it is left open
   */
  ask(question: AskedQuestion): unknown;
  /** Told why an answer did not fit; the question is asked again if it returns true. Default: it is left open. */
  refused?(question: AskedQuestion, reason: Error): Promise<boolean> | boolean;
}

/** A question and what was answered; absent: it was left open. */
export interface RecordedAnswer {
  readonly question: AskedQuestion;
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

/** Gives answers in turn; once they are used up, questions are left open. */
export function queueInterviewer(answers: readonly unknown[]): Interviewer {
  const left = [...answers];
  return { ask: () => left.shift() };
}

/** Lets another one answer, and keeps what was asked and answered in `records`. */
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
      const lines = [prompt, ...choices.map(({ label }) => `  ${label}`)].map(printable);
      // Loaded when a person is asked: most programs ask nobody at this console.
      const { createInterface } = process.getBuiltinModule('node:readline/promises');
      const reader = createInterface({ input, output, terminal: false });
      const { signal, release } = watchDeadline(isAhead(question) ? question.dueAt : undefined);
      try {
        output.write(`${lines.join('\n')}\n`);
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
      output.write(`${printable(message)}\n`);
      return true;
    },
  };
}

function isOfType(schema: unknown, type: string): boolean {
  return (schema as { readonly type?: unknown } | undefined)?.type === type;
}

/** A question may hold what a run was given: no control characters reach the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}--[\n\t]]/gv, '�');
}
