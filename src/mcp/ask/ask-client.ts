/** Asks the person behind a client, if the client can show forms (the protocol calls this elicitation). */
import {
  assigneesOf,
  choicesOf,
  doubtDecisions,
  happenedWith,
  type OpenQuestion,
  isAnswerable,
  nodeNameOf,
} from '../../operations/waits/find-wait.ts';
import type { WorkContext } from '../../operations/contract/operation.ts';
import { isForOthers, isForPeople } from '../../operations/runs/reserved-answers.ts';
import { toJson } from '../../operations/contract/to-json.ts';

/** A JSON Schema as the protocol carries it: plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

// Converts a question to a form that a client shows to its user, and the filled-in form to an answer.

/** A form of the protocol: fields for texts, numbers, yes or no, or a choice among texts. */
export interface Form {
  readonly message: string;
  readonly requestedSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, JsonSchema>>;
    readonly required: readonly string[];
  };
}

const field = 'answer';
/** Extra field for an answer that is none of the suggestions. */
const otherField = 'other';
/** Extra field for what an effect in doubt gave, if it happened. */
const outputField = 'output';

interface AnswerSchema {
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The limits of a field that the protocol's forms support. */
function limitsOf(schema: AnswerSchema, names: readonly (keyof AnswerSchema)[]): JsonSchema {
  return Object.fromEntries(names.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]));
}

function describePattern({ pattern }: AnswerSchema): JsonSchema {
  return pattern === undefined ? {} : { description: `Must match the pattern ${pattern}` };
}

function fieldOf(schema: AnswerSchema): JsonSchema {
  if (schema.type === 'boolean') return { type: 'boolean', title: 'Answer' };
  if (schema.type === 'integer' || schema.type === 'number')
    return { type: schema.type, title: 'Answer', ...limitsOf(schema, ['minimum', 'maximum']) };
  if (schema.type === 'object' || schema.type === 'array')
    return { type: 'string', title: 'Answer', description: `JSON that fits ${JSON.stringify(schema)}` };
  return {
    type: 'string',
    title: 'Answer',
    ...describePattern(schema),
    ...limitsOf(schema, ['minLength', 'maxLength']),
  };
}

function isYesOrNo(labels: readonly string[]): boolean {
  return labels.length === 2 && labels.includes('yes') && labels.includes('no');
}

/** Whether an effect happened: a choice among the decisions, and what it gave. */
const doubtForm: Form['requestedSchema'] = {
  type: 'object',
  properties: {
    [field]: {
      type: 'string',
      title: 'Decision',
      enum: doubtDecisions.map(({ value }) => value),
      enumNames: doubtDecisions.map(({ label }) => label),
    },
    [outputField]: {
      type: 'string',
      title: 'What it gave, if it happened',
      description: 'JSON or text, which later nodes get as its output. Left out, it is recorded as empty.',
    },
  },
  required: [field],
};

/** @param remark - text before the question, such as why an answer was refused */
function formOf(wait: OpenQuestion, remark?: string): Form {
  const labels = choicesOf(wait)?.map(({ label }) => label);
  const message = remark === undefined ? (wait.prompt ?? '') : `${remark}\n\n${wait.prompt ?? ''}`;
  if (wait.kind === 'doubt') return { message, requestedSchema: doubtForm };
  const answer: JsonSchema =
    labels === undefined ? fieldOf(wait.schema ?? {}) : { type: 'string', title: 'Answer', enum: labels };
  const takesOther = labels !== undefined && wait.matching === 'open' && !isYesOrNo(labels);
  const other = { [otherField]: { type: 'string', title: 'Something else' } };
  return {
    message,
    requestedSchema: {
      type: 'object',
      properties: { [field]: answer, ...(takesOther && other) },
      required: takesOther ? [] : [field],
    },
  };
}

/** The answer in a filled-in form; undefined if there is none. */
export function answerIn({ kind }: Pick<OpenQuestion, 'kind'>, content: Readonly<Record<string, unknown>>): unknown {
  const output = content[outputField];
  if (kind === 'doubt' && content[field] === 'happened' && typeof output === 'string') return happenedWith(output);
  const other = content[otherField];
  return typeof other === 'string' && other !== '' ? other : content[field];
}

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
  /** Ids of waits that the person declined to answer, or whose answer did not fit twice. They are not asked again in this call. */
  readonly declined: readonly string[];
  /** Ids of waits whose answer did not fit. */
  readonly refused: readonly string[];
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
    const { runId, rounds, declined, refused = [] } = JSON.parse(state) as Partial<Talk>;
    if (typeof runId !== 'string' || typeof rounds !== 'number') return undefined;
    if (!Array.isArray(declined) || !Array.isArray(refused)) return undefined;
    const ids = (list: readonly unknown[]): readonly string[] => list.filter((id) => typeof id === 'string');
    return { runId, rounds, declined: ids(declined), refused: ids(refused) };
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
    ask(questions, talk, remarks) {
      if (talk.rounds >= roundsMax) return Promise.resolve(undefined);
      const forms = new Map(questions.map((wait) => [wait.waitId, formOf(wait, remarks.get(wait.waitId))]));
      const state = JSON.stringify({ ...talk, rounds: talk.rounds + 1 });
      return Promise.resolve({ inputRequired: inputRequired(forms, state) });
    },
  };
}

// Converts open questions for clients, and clients' answers for the engine.

/** The questions among the waits, in the order in which they were opened. */
export function questionsOf(waits: readonly OpenQuestion[]): readonly OpenQuestion[] {
  return waits.filter(isAnswerable);
}

/** A question as clients see it. */
export function showQuestion(
  wait: OpenQuestion,
  context: Pick<WorkContext, 'reserved' | 'acting' | 'actor'>,
): Readonly<Record<string, unknown>> {
  const { waitId, prompt = '', kind, metadata, schema, dueAt, defaultAnswer, replaces } = wait;
  if (wait.isDamaged === true) {
    const message = 'The stored question is damaged: what it asks cannot be shown, and it takes no answer.';
    return { wait: waitId, block: '', prompt: '', is_damaged: true, message };
  }
  const choices = choicesOf(wait);
  return {
    wait: waitId,
    block: nodeNameOf(wait),
    kind,
    prompt,
    ...(choices !== undefined && { choices: choices.map(({ value }) => toJson(value)) }),
    ...(choices?.some(({ label, value }) => label !== value) === true && {
      labels: choices.map(({ label }) => label),
    }),
    ...(schema !== undefined && { schema: toJson(schema) }),
    ...(metadata !== undefined && { metadata: toJson(metadata) }),
    ...(dueAt !== undefined && { due_at: new Date(dueAt).toISOString() }),
    ...(defaultAnswer !== undefined && { default_answer: toJson(defaultAnswer) }),
    ...(replaces !== undefined && { replaces }),
    ...(wait.for !== undefined && { for: wait.for }),
    message: isSomebodyElses(context, wait)
      ? `It is for others: ${whoseWords(wait)}. They answer it where it is known who they are.`
      : context.reserved === undefined || !isForPeople(context, wait)
        ? `Answer with resume_workflow, answers: {"${waitId}": …}`
        : `A person answers: ${context.reserved.command('answer', wait.runId, waitId, 'VALUE', '--resume')}`,
  };
}

/** Whether a client of this server cannot answer: it has no name by which a question's people and roles, or four eyes, could tell it. */
function isSomebodyElses(context: Pick<WorkContext, 'acting' | 'actor'>, wait: OpenQuestion): boolean {
  return isForOthers(context, wait) || (context.acting !== undefined && wait.fourEyes !== undefined);
}

function whoseWords(wait: OpenQuestion): string {
  return wait.for === undefined ? `a person who did not answer ${wait.fourEyes ?? ''}` : assigneesOf(wait);
}

export const questionSchema: JsonSchema = {
  type: 'object',
  properties: {
    wait: { type: 'string', description: 'Id of the question: the key of its answer.' },
    block: { type: 'string', description: 'The block that asks, from the root of the run.' },
    kind: { type: 'string', description: 'question; or doubt: whether an effect happened.' },
    prompt: { type: 'string' },
    choices: { type: 'array', description: 'What is offered.' },
    labels: { type: 'array', items: { type: 'string' }, description: 'What the choices are called.' },
    schema: { description: 'JSON Schema that an answer must fit.' },
    metadata: {},
    for: { type: 'array', description: 'Whose answers are taken, if not everybody’s: people and roles.' },
    due_at: { type: 'string', description: 'When it closes by itself.' },
    default_answer: { description: 'What it closes with then.' },
    replaces: {
      type: 'string',
      description:
        'Present where it took the place of another question of this block, because that one changed: open or answered. An answer to that one is not used.',
    },
    is_damaged: { type: 'boolean', description: 'Present where the stored question is damaged.' },
    message: { type: 'string' },
  },
  required: ['wait', 'block', 'prompt', 'message'],
};
