/** Asks the person behind a client, where the client can show forms (the protocol calls it elicitation). */
import type { OpenQuestion } from '../../operations/waits/find-wait.ts';
import { formOf, type Form } from './elicitation-form.ts';

/** What a client brought back for one question; content is absent when the person declined, or left the form. */
export interface Reply {
  readonly content?: Readonly<Record<string, unknown>>;
}

/** By wait id. */
export type Replies = ReadonlyMap<string, Reply>;

/** What is remembered of a talk from one round of questions to the next. */
export interface Talk {
  readonly runId: string;
  /** Rounds so far. */
  readonly rounds: number;
  /** Ids of waits that the person would not answer: they are not asked again in this call. */
  readonly declined: readonly string[];
}

/** Questions that the client answers by sending the whole call again, as newer protocols have it. */
export interface QuestionsToSend {
  readonly inputRequired: object;
}

export interface Interview {
  /** What was said before, when the client sent its call again with answers. */
  readonly earlier: { readonly talk: Talk; readonly replies: Replies } | undefined;
  /**
   * Puts questions to the person.
   * @param remarks - by wait id, what is said before a question
   * @returns undefined: nobody can be asked now
   */
  ask(
    questions: readonly OpenQuestion[],
    talk: Talk,
    remarks: ReadonlyMap<string, string>,
  ): Promise<Replies | QuestionsToSend | undefined>;
}

/** Clients that send calls again give up after ten rounds; the run is told to be paused before they do. */
const roundsMax = 8;

interface ElicitResult {
  readonly action: string;
  readonly content?: Readonly<Record<string, unknown>> | undefined;
}

function toReply({ action, content }: ElicitResult): Reply {
  return action === 'accept' && content !== undefined ? { content } : {};
}

/** Over a connection on which the server may ask: one form after the other. */
export function createLiveInterview(show: (form: Form) => Promise<ElicitResult>): Interview {
  return {
    earlier: undefined,
    async ask(questions, _talk, remarks) {
      const replies = new Map<string, Reply>();
      for (const wait of questions) {
        // A client that declares forms and cannot show this one, or a person who has left: the run stays paused.
        const result = await show(formOf(wait, remarks.get(wait.waitId))).catch(() => undefined);
        if (result === undefined) return replies.size === 0 ? undefined : replies;
        replies.set(wait.waitId, toReply(result));
      }
      return replies;
    },
  };
}

/** The state that travels through the client. It names no more than what resume_workflow would take from the same client. */
function readTalk(state: unknown): Talk | undefined {
  if (typeof state !== 'string') return undefined;
  try {
    const { runId, rounds, declined } = JSON.parse(state) as Partial<Talk>;
    if (typeof runId !== 'string' || typeof rounds !== 'number' || !Array.isArray(declined)) return undefined;
    return { runId, rounds, declined: declined.filter((id) => typeof id === 'string') };
  } catch {
    return undefined;
  }
}

function readReplies(responses: Readonly<Record<string, unknown>>): Replies {
  return new Map(
    Object.entries(responses)
      .filter((entry): entry is [string, ElicitResult] => typeof entry[1] === 'object' && entry[1] !== null)
      .map(([waitId, result]) => [waitId, toReply(result)]),
  );
}

/**
 * Over requests that stand alone: the questions are the result, and the client calls again with what its person said.
 *
 * @param inputRequired - makes the result
 */
export function createRepeatedInterview(
  request: { readonly responses: Readonly<Record<string, unknown>> | undefined; readonly state: unknown },
  inputRequired: (forms: ReadonlyMap<string, Form>, state: string) => object,
): Interview {
  const talk = readTalk(request.state);
  return {
    earlier: talk === undefined ? undefined : { talk, replies: readReplies(request.responses ?? {}) },
    ask(questions, said, remarks) {
      if (said.rounds >= roundsMax) return Promise.resolve(undefined);
      const forms = new Map(questions.map((wait) => [wait.waitId, formOf(wait, remarks.get(wait.waitId))]));
      const state = JSON.stringify({ ...said, rounds: said.rounds + 1 });
      return Promise.resolve({ inputRequired: inputRequired(forms, state) });
    },
  };
}
