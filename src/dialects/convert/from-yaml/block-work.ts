/** What a block of a workflow file does, and how it may end. */
import type { BlockView, Names } from '../../yaml/expression/template.ts';
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import { same } from '../../../schema/json-schema.ts';
import type { NoteCode, Notes } from '../outline/notes.ts';
import { chose, type Step, type Text, type Work } from '../outline/outline.ts';
import { joined } from '../outline/stand-in.ts';
import { longestCall, verdictSchema } from '../outline/verdict.ts';
import { assignedNames } from '../../yaml/command/shell-names.ts';
import { piecesOf, scriptOf, shownPieces, type Known } from './plain-text.ts';

/** One end of a block, and all that it may leave behind then, as conditions see it. */
export interface BlockEnd {
  readonly on: string;
  readonly views: readonly BlockView[];
  /** It fails the run. */
  readonly isFatal: boolean;
}

/** A block as a step, but for where its ends lead. */
export interface BlockWork {
  readonly step: Omit<Step, 'ends'>;
  readonly ends: readonly BlockEnd[];
  /** Fields whose values are known from the end, as paths. Those of every block are always known. */
  readonly fields: readonly string[];
}

export interface BlockReading {
  readonly names: Names;
  readonly known: Known;
  readonly notes: Notes;
  readonly place: string;
}

type Read = Pick<BlockWork, 'ends' | 'fields'> & {
  readonly work: Work;
  readonly timeoutMs?: number | undefined;
  readonly attempts?: number;
  /** A failure is an answer, and no reason to try again. */
  readonly isTriedOnce?: boolean;
};

const completed = (output: Readonly<Record<string, unknown>>): BlockView => ({
  status: 'completed',
  output,
  error: undefined,
});
const failed: BlockView = { status: 'failed', output: undefined, error: new Error('it failed') };

export function workOfBlock(block: BlockFile, reading: BlockReading): BlockWork {
  const { notes, place } = reading;
  const found = block.forEach === undefined ? readers[block.type]?.(block, reading) : undefined;
  if (found === undefined) standIn(block, reading);
  const { work, ends, fields, timeoutMs, attempts = 1, isTriedOnce = false } = found ?? byHandOf(block);
  const isQuestion = work.kind !== 'command' && work.kind !== 'model';
  for (const [field, given] of [
    ['outputs', block.fileOutputs.length > 0],
    ['at_most', block.atMost !== undefined],
    ['on_in_doubt', block.onInDoubt === 'fail'],
    ['retry.on', block.retry?.on !== undefined],
  ] as const)
    if (given) notes.lost('SETTING', place, `${field} of ${block.id} has no counterpart`, 'take it out, or do without');
  const { on: _on, ...retry } = block.retry ?? { attempts: 1 };
  const all = retry.attempts * attempts;
  return {
    step: {
      id: block.id,
      title: block.description,
      place,
      work,
      retry:
        all === 1 || isQuestion || isTriedOnce
          ? undefined
          : { ...defaultDelays(block, attempts), ...retry, attempts: all },
      timeoutMs: block.timeoutMs ?? timeoutMs,
      isIdempotent:
        work.kind === 'model' ||
        (work.kind === 'command' &&
          (block.idempotent ?? (block.onInDoubt === 'retry' || block.effect === 'read' || block.effect === 'pure'))),
      budget: block.budget,
    },
    ends,
    fields,
  };
}

/** The delays that hold where the file says nothing: those of the engine, or of a model's calls. */
function defaultDelays(block: BlockFile, calls: number): Omit<NonNullable<Step['retry']>, 'attempts'> {
  const isModel = calls > 1 && block.retry === undefined;
  return isModel
    ? pipelineDelays
    : { backoff: 'exponential', factor: 2, delayMs: 1_000, delayMsMax: 60_000, jitter: 0 };
}

const pipelineDelays = { backoff: 'exponential', factor: 2, delayMs: 200, delayMsMax: 60_000, jitter: 0.5 } as const;

function standIn(block: BlockFile, { notes, place }: BlockReading): void {
  const what = block.forEach === undefined ? `what ${block.type} does` : 'work for each item of a list';
  notes.lost(
    'WORK',
    place,
    `${block.id} is ${what}, which does not carry over as it stands; a person does it by hand`,
    'write it as a command, a prompt or a question',
  );
}

function byHandOf({ id, type, description, continuesOnError, forEach }: BlockFile): Read {
  const said = `${id} (${forEach === undefined ? type : `${type} for each item`})${description === undefined ? '' : `: ${description}`}`;
  return {
    work: {
      kind: 'choice',
      question: [`Do this by hand, then say so: ${said}`],
      choices: continuesOnError ? ['done', 'failed'] : ['done'],
    },
    ends: [
      { on: chose('done'), views: [completed({})], isFatal: false },
      ...(continuesOnError ? [{ on: chose('failed'), views: [failed], isFatal: false }] : []),
    ],
    fields: [],
  };
}

type Reader = (block: BlockFile, reading: BlockReading) => Read | undefined;

const readers: Readonly<Record<string, Reader | undefined>> = {
  Shell: readCommand,
  LLMCall: readModel,
  AskChoice: (block, reading) => {
    const { choices } = block.inputs;
    const question = questionIn(block, 'question', reading);
    if (!Array.isArray(choices)) return undefined;
    const said = choices.map((choice) => piecesOf(String(choice), reading.known));
    if (!said.every((text) => text !== undefined && text.every((piece) => typeof piece === 'string'))) return undefined;
    const labels = said.map((text) => text.join(''));
    return {
      work: { kind: 'choice', question, choices: labels },
      ends: labels.map((choice, index) => ({
        on: chose(choice),
        views: [completed({ choice, choice_index: index })],
        isFatal: false,
      })),
      fields: ['choice', 'choice_index'],
    };
  },
  ConfirmOperation: (block, reading) => {
    const question = questionIn(block, 'message', reading);
    const { details } = block.inputs;
    if (details !== undefined && Object.keys(details as object).length > 0)
      note(
        reading,
        'lost',
        'ANSWER',
        `the details of ${block.id} are not shown with its question`,
        'say them in the message',
      );
    const end = (confirmed: boolean) => ({
      on: confirmed ? 'yes' : 'no',
      views: [completed({ confirmed })],
      isFatal: false,
    });
    return { work: { kind: 'confirm', question }, ends: [end(true), end(false)], fields: ['confirmed'] };
  },
  GetInput: readText,
  Prompt: readText,
};

function readText(block: BlockFile, reading: BlockReading): Read {
  const question = questionIn(block, 'prompt', reading);
  if (block.inputs['validation_pattern'] !== undefined)
    note(
      reading,
      'lost',
      'ANSWER',
      `${block.id} takes any text: validation_pattern is not held against it`,
      'check the answer in a command',
    );
  return {
    work: { kind: 'text', question },
    ends: [{ on: 'success', views: [completed({})], isFatal: false }],
    fields: [],
  };
}

function readCommand(block: BlockFile, reading: BlockReading): Read | undefined {
  const { command, working_dir: folder, env = {}, timeout = 120, capture_output: capture = true } = block.inputs;
  const script = typeof command === 'string' ? scriptOf(command, reading.names) : undefined;
  const stdin = block.inputs['stdin'] === undefined ? undefined : textIn(block, 'stdin', reading);
  const workdir = folder === undefined ? undefined : literalOf(folder, reading);
  const isPlain =
    script !== undefined &&
    (folder === undefined || workdir !== undefined) &&
    (block.inputs['stdin'] === undefined || stdin !== undefined) &&
    isOwnEnvironment(env, reading);
  if (!isPlain) return undefined;
  noteVariables(block, Object.keys(env as object), reading);
  if (String(capture) !== 'true')
    note(reading, 'changed', 'SETTING', `the output of ${block.id} is kept`, 'send it to a file where it is large');
  const isPassed = ['continue-on-error', 'continue_on_error'].some((name) => String(block.inputs[name]) === 'true');
  const failedWith = Array.from({ length: 255 }, (_, code) => completed({ exit_code: code + 1, success: false }));
  return {
    work: {
      kind: 'command',
      script,
      ...(workdir !== undefined && { folder: workdir }),
      ...(stdin !== undefined && { stdin }),
    },
    ends: [
      { on: 'success', views: [completed({ exit_code: 0, success: true })], isFatal: false },
      { on: 'fail', views: isPassed ? failedWith : [failed], isFatal: !isPassed && !block.continuesOnError },
    ],
    fields: ['exit_code', 'success'],
    timeoutMs: Number(timeout) * 1_000,
    isTriedOnce: isPassed,
  };
}

/** In a pipeline every input is a variable of each command: a name that was the shell's own before is one no more. */
function noteVariables({ id, inputs }: BlockFile, given: readonly string[], reading: BlockReading): void {
  const command = String(inputs['command']);
  const own = assignedNames(command);
  for (const name of reading.names.inputs)
    if (!given.includes(name) && !own.has(name) && new RegExp(`\\$${name}\\b|\\$\\$\\{[#!]?${name}\\b`).test(command))
      note(
        reading,
        'lost',
        'TEXT',
        `$${name} in the command of ${id} is the input ${name}, and no longer a variable of the shell's`,
        'give that variable another name',
      );
}

/** Whether every variable is an input under its own name: a pipeline's commands have all of these. */
function isOwnEnvironment(env: unknown, { known }: BlockReading): boolean {
  if (typeof env !== 'object' || env === null) return false;
  return Object.entries(env).every(([name, value]) => {
    const pieces = typeof value === 'string' ? piecesOf(value, known) : undefined;
    return same(pieces, [{ input: name }]);
  });
}

function readModel(block: BlockFile, reading: BlockReading): Read | undefined {
  const { inputs, id } = block;
  const prompt = textIn(block, 'prompt', reading);
  const system = inputs['system_instructions'] === undefined ? [] : textIn(block, 'system_instructions', reading);
  const model = modelOf(block, reading);
  if (prompt === undefined || system === undefined || model === undefined) return undefined;
  if (system.length > 0)
    note(
      reading,
      'lost',
      'PROMPT',
      `the system instructions of ${id} stand before its prompt`,
      'nothing, or set them in the profile',
    );
  for (const name of ['temperature', 'max_tokens', 'validation_prompt_template'])
    if (inputs[name] !== undefined)
      note(reading, 'lost', 'SETTING', `${name} of ${id} is not told`, 'set it in the profile of the model');
  const verdict = inputs['response_schema'] === undefined ? undefined : verdictOf(inputs['response_schema']);
  if (inputs['response_schema'] !== undefined && verdict === undefined)
    note(
      reading,
      'lost',
      'PROMPT',
      `the answer of ${id} is not held against its schema`,
      'ask for the form in the prompt',
    );
  if (verdict !== undefined && !block.continuesOnError)
    note(
      reading,
      'lost',
      'CONDITION',
      `a call of ${id} that fails goes the way of its verdict fail`,
      'nothing, or let that verdict end the run',
    );
  const { max_retries: calls = 3, timeout = 60 } = inputs;
  const plain = completed({});
  const answer = (response: object): BlockView => completed({ response });
  const ends: readonly BlockEnd[] = [
    { on: 'success', views: [verdict === undefined ? plain : answer({ outcome: 'success' })], isFatal: false },
    verdict === undefined
      ? { on: 'fail', views: [failed], isFatal: !block.continuesOnError }
      : {
          on: 'fail',
          views: block.continuesOnError ? [failed, answer({ outcome: 'fail' })] : [answer({ outcome: 'fail' })],
          isFatal: false,
        },
    ...(verdict ?? []).map((label) => ({
      on: chose(label),
      views: [answer({ outcome: 'success', preferred_label: label })],
      isFatal: false,
    })),
  ];
  return {
    work: {
      kind: 'model',
      prompt: system.length === 0 ? prompt : joined([...system, '\n\n', ...prompt]),
      model,
      ...(verdict !== undefined && { verdict }),
    },
    ends,
    fields: verdict === undefined ? [] : ['response.outcome', 'response.preferred_label'],
    timeoutMs: Number(timeout) >= longestCall ? undefined : Number(timeout) * 1_000,
    attempts: Number(calls),
  };
}

function modelOf({ inputs: { model, provider, profile } }: BlockFile, reading: BlockReading): string | undefined {
  const given = model === undefined ? (profile ?? 'default') : model;
  const name = literalOf(given, reading);
  const of = provider === undefined ? '' : literalOf(provider, reading);
  if (name === undefined || of === undefined) return undefined;
  return of === '' ? name : `${of}:${name}`;
}

/** The labels of a schema that asks how it went. */
function verdictOf(schema: unknown): readonly string[] | undefined {
  const labels =
    (schema as { readonly properties?: { readonly preferred_label?: { readonly enum?: readonly string[] } } })
      .properties?.preferred_label?.enum ?? [];
  return same(schema, verdictSchema(labels)) ? labels : undefined;
}

function textIn(block: BlockFile, field: string, { known }: BlockReading): Text | undefined {
  const value = block.inputs[field];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  return typeof value === 'string' ? piecesOf(value, known) : undefined;
}

function questionIn(block: BlockFile, field: string, reading: BlockReading): Text {
  const { text, computed } = shownPieces(String(block.inputs[field]), reading.known);
  for (const expression of computed)
    note(
      reading,
      'lost',
      'VALUE',
      `the question of ${block.id} says <${expression}> in place of the value`,
      'ask without it',
    );
  return text;
}

/** A text without references. */
function literalOf(value: unknown, { known }: BlockReading): string | undefined {
  const text = typeof value === 'string' ? piecesOf(value, known) : undefined;
  if (text === undefined || !text.every((piece) => typeof piece === 'string')) return undefined;
  return text.join('');
}

function note(
  { notes, place }: BlockReading,
  severity: 'lost' | 'changed',
  code: NoteCode,
  message: string,
  fix: string,
): void {
  notes[severity](code, place, message, fix);
}
