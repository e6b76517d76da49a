/** Asks the person behind a client, if the client can show forms (the protocol calls this elicitation). */
import type { OpenQuestion } from '../../operations/waits/find-wait.ts';
import { formOf, type Form } from './elicitation-form.ts';

/** A client's reply to one question. The content is absent if the person declined or cancelled. */
export interface Reply {
  readonly content?: Readonly<Record<string, unknown>>;
}

/** Replies by wait id. */
export type Replies = ReadonlyMap<string, Reply>;

/** What is remembered from one round of questions to the next. */
export interface Talk {
  readonly runId: string;
  /** Number of rounds so far. */
  readonly rounds: number;
  /** Ids of waits that the person declined to answer. They are not asked again in this call. */
  readonly declined: readonly string[];
}

/** Questions that a client of the newer protocol answers by repeating its whole call. */
export interface QuestionsToSend {
  readonly inputRequired: object;
}

export interface Interview {
  /** State from an earlier round, if the client repeated its call with answers. */
  readonly earlier: { readonly talk: Talk; readonly replies: Replies } | undefined;
  /**
   * Asks the person.
   * @param remarks - texts to show before questions, by wait id
   * @returns undefined if nobody can be asked at the moment
   */
  ask(
    questions: readonly OpenQuestion[],
    talk: Talk,
    remarks: ReadonlyMap<string, string>,
  ): Promise<Replies | QuestionsToSend | undefined>;
}

/** Clients that repeat their calls give up after ten rounds. Before that, the run is reported as paused. */
const roundsMax = 8;

interface ElicitResult {
  readonly action: string;
  readonly content?: Readonly<Record<string, unknown>> | undefined;
}

function toReply({ action, content }: ElicitResult): Reply {
  return action === 'accept' && content !== undefined ? { content } : {};
}

/** Asks over a connection on which the server can send requests, one form after another. */
export function createLiveInterview(show: (form: Form) => Promise<ElicitResult>): Interview {
  return {
    earlier: undefined,
    async ask(questions, _talk, remarks) {
      const replies = new Map<string, Reply>();
      for (const wait of questions) {
        // If the client cannot show the form, or the person has left, the run stays paused.
        const result = await show(formOf(wait, remarks.get(wait.waitId))).catch(() => undefined);
        if (result === undefined) return replies.size === 0 ? undefined : replies;
        replies.set(wait.waitId, toReply(result));
      }
      return replies;
    },
  };
}

/** Parses the state that the client sent back. It contains nothing that the same client could not pass to resume_workflow itself. */
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
 * Asks over independent requests: the questions are the call's result, and the client repeats the call with the answers.
 *
 * @param inputRequired - makes that result
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
