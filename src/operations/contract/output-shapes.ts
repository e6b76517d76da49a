/**
 * JSON Schemas of operations' outputs, in the form that JSON interfaces show: see {@link toJson}. Each property has a description. The
 * keyword `format` marks what doors treat in a way of its own: a time, a wait, a position in a history, a whole state, what
 * a visit of a node did, a value before and after a change, what a person is asked, and an author's own text.
 */
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { outputWords } from './output-words.ts';

export const text: JsonSchema = { type: 'string' };
export const whole: JsonSchema = { type: 'integer' };
export const flag: JsonSchema = { type: 'boolean' };
const fraction: JsonSchema = { type: 'number' };
/** A point in time, in epoch ms. */
export const time: JsonSchema = { type: 'integer', format: 'epoch-ms' };
/** A value from a run, or one whose form is defined elsewhere. It is masked when shown. */
export const anything: JsonSchema = {};
/** Text that the author of a workflow wrote. It is not a value of a run, so it is shown unmasked, whatever its keys are called. */
export const definition: JsonSchema = { description: 'as its author wrote it', format: 'definition' };
/** What a person is asked. Where it is long, it is cut. */
export const promptText: JsonSchema = { ...text, format: 'prompt' };
/** An object whose keys and values are of a run: channels, nodes. */
export const keyed: JsonSchema = { type: 'object' };

export function oneOf(...words: readonly string[]): JsonSchema {
  return { enum: words };
}

export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** A schema, and what the property that has it means where it is not what its name says everywhere. */
export function described(schema: JsonSchema, description: string): JsonSchema {
  return { ...schema, description };
}

type Parts = Readonly<Record<string, JsonSchema>>;

const describedParts = (parts: Parts): Parts =>
  Object.fromEntries(
    Object.entries(parts).map(([name, schema]) => [
      name,
      'description' in schema ? schema : { ...schema, description: outputWords[name] },
    ]),
  );

/** Schema of an object with exactly these properties. @param optional - properties that may be absent */
export function objectOf(parts: Parts, optional: Parts = {}): JsonSchema {
  const properties = describedParts({ ...parts, ...optional });
  return { type: 'object', properties, required: Object.keys(parts), additionalProperties: false };
}

export const texts: JsonSchema = listOf(text);
export const position: JsonSchema = { ...objectOf({ runId: text, seq: whole }), format: 'position' };

/** A checkpoint: run and seq, and its id if known. */
export const place: JsonSchema = {
  ...objectOf({ runId: text, seq: whole }, { checkpointId: text }),
  format: 'position',
};

const named: Parts = { name: described(text, "name of the error's class, if it is not Error") };

/** Why an attempt was begun again that another process may have begun. */
const begunAgain: JsonSchema = {
  ...objectOf(
    { by: described(oneOf('default', 'idempotent', 'reconcile', 'person'), 'what allowed it') },
    { worker: text },
  ),
  description: 'set if the attempt was a repetition of one that may have begun before',
};

const failedMore: Parts = {
  ...named,
  worker: text,
  stack: texts,
  causes: listOf(objectOf({ message: text }, { ...named, code: text, stack: texts })),
  again: begunAgain,
};

/** An error of an attempt, with all that is recorded of it. */
export const failedWith: JsonSchema = objectOf({ code: text, message: text }, failedMore);

/** Why an attempt failed, and which it was. */
export const failure: JsonSchema = objectOf(
  { at: time, seq: whole, node: texts, attempt: whole, code: text, message: text },
  { ...failedMore, step: text },
);

const stackNote: JsonSchema = objectOf(
  { id: described(text, 'which stack it is: the same at each place with the same frames') },
  {
    frames: described(texts, "frames of the user's own code, innermost first"),
    seq: described(whole, 'the checkpoint that has the frames'),
  },
);

/** The record of a failed attempt as it is stored. */
const failureNote: JsonSchema = objectOf(
  { code: text, message: text },
  {
    ...named,
    worker: text,
    stack: stackNote,
    causes: listOf(objectOf({ message: text }, { ...named, code: text, stack: stackNote })),
    again: begunAgain,
  },
);

/** An error of a run, as it was recorded. */
const error: JsonSchema = objectOf(
  { message: text },
  { name: text, code: text, hint: text, data: anything, cause: described(anything, 'what led to it') },
);

/** Amounts by unit. */
export const amounts: JsonSchema = { type: 'object', additionalProperties: fraction };

/** Labels of a run, by name. */
export const labelValues: JsonSchema = { type: 'object', additionalProperties: { type: 'string' } };

const runStatus = oneOf('running', 'paused', 'cancelling', 'completed', 'failed', 'cancelled');

const waitParts: Parts = {
  waitId: text,
  kind: described(text, 'question, doubt (whether an effect happened), signal, timer or retry'),
  node: texts,
  name: text,
};
const waitMore: Parts = {
  step: text,
  prompt: promptText,
  choices: listOf(anything),
  matching: text,
  schema: definition,
  metadata: anything,
  isApproval: flag,
  audience: text,
  for: described(texts, 'whose answers are taken: people by name, and roles such as role:finance'),
  late: described(
    listOf(objectOf({ at: time }, { to: described(texts, 'to whom it is given; absent: it is a reminder') })),
    'what is to come while nobody answers',
  ),
  overdueAt: described(time, 'when it was first reminded of, or given to others'),
  fourEyes: described(text, 'a question that another person must have answered; nor does who started the run answer'),
  dueAt: time,
  defaultAnswer: anything,
  openedAt: time,
  replaces: text,
  isAnswered: flag,
  isDamaged: flag,
  budget: objectOf(
    {
      of: described(texts, 'whose it is: a node or a child run; empty: the run'),
      unit: described(text, 'what is counted'),
      limit: described(fraction, 'the most'),
      spent: fraction,
    },
    { visit: whole, outer: listOf(whole) },
  ),
};

/** An open wait: a question, or anything else that a run waits for. */
export const wait: JsonSchema = {
  ...objectOf({ ...waitParts, runId: text, graphId: text }, waitMore),
  format: 'wait',
};

const stateParts: Parts = {
  scratch: keyed,
  artifacts: keyed,
  diagnostics: keyed,
  outputs: described(keyed, 'what nodes gave, by node'),
  failures: keyed,
};
export const state: JsonSchema = { ...objectOf(stateParts, { input: anything }), format: 'state' };

export { error as recordedError };

/** Where a run stands. */
export const standing: JsonSchema = objectOf(
  {
    runId: text,
    status: runStatus,
    seq: whole,
    state,
    waits: listOf(wait),
    failed: texts,
    skipped: texts,
    spent: amounts,
    saved: amounts,
  },
  {
    checkpointId: text,
    repeated: texts,
    unreceived: described(
      listOf(objectOf({ id: text, name: text, value: anything })),
      'signals that nothing has received, oldest first',
    ),
    error,
    failures: described(listOf(failure), 'why nodes failed, and what failed within them'),
    forkedFrom: place,
    outputs: anything,
    definition: objectOf({ source: text, became: oneOf('changed', 'gone', 'broken') }),
  },
);

export const violation: JsonSchema = objectOf({
  rule: text,
  severity: oneOf('error', 'warning'),
  place: text,
  message: text,
  fix: text,
});

const progressParts: Parts = {
  nodes: texts,
  completed: texts,
  failed: texts,
  skipped: texts,
  wave: whole,
  waveCount: whole,
  percent: fraction,
};
export const progress: JsonSchema = objectOf(progressParts);

/** A checkpoint, as the operation `describe` returns it. */
export const checkpoint: JsonSchema = objectOf(
  {
    ...progressParts,
    checkpointId: text,
    runId: text,
    seq: whole,
    graphId: text,
    createdAt: time,
    status: runStatus,
    isPaused: flag,
    isHead: flag,
    waits: listOf(wait),
  },
  { pausedNode: text, prompt: promptText },
);

/** A workflow as data. */
export const workflow: JsonSchema = objectOf(
  {
    name: text,
    version: text,
    tags: texts,
    inputs: listOf(
      objectOf(
        { name: text, type: text, isRequired: flag, schema: definition },
        { description: definition, default: definition },
      ),
    ),
    outputs: listOf(objectOf({ name: text, value: definition }, { type: text, description: definition })),
    blocks: listOf(
      objectOf(
        {
          id: text,
          type: text,
          dependsOn: listOf(objectOf({ block: text, isRequired: flag })),
          effect: text,
          attempts: described(whole, 'the most attempts'),
          isIdempotent: flag,
          asks: flag,
          wave: described(whole, 'number of its wave, counted from 0'),
        },
        {
          description: definition,
          condition: definition,
          forEach: definition,
          isDeclared: flag,
          workflow: definition,
          inside: described(
            definition,
            'what it does to the world inside, where its own effect class does not say that: effect, whether a person is asked first (asks), and whether an agent in it is allowed to do it (isAllowed)',
          ),
          tools: described(listOf(definition), 'the tools that its models may call'),
        },
      ),
    ),
    waves: listOf(texts),
    secrets: texts,
    warnings: listOf(violation),
  },
  { description: text, source: text },
);

/** A run that was started, or that existed already. */
export const started: JsonSchema = objectOf(
  { runId: text, isNew: flag, warnings: listOf(violation) },
  { result: standing },
);

/** What a run waits for that a worker has begun that does not have it any more. */
export const awaitedEffects: JsonSchema = listOf(
  objectOf({ node: texts, owner: text, until: described(time, 'when its time is over') }, { step: text }),
);

/** A part of the reason for which a checkpoint was made. */
export const changePart: JsonSchema = objectOf(
  { kind: described(text, 'what happened: start, settle, intent, wait, answer, pause, end and the like') },
  {
    node: texts,
    visit: whole,
    outer: listOf(whole),
    saves: whole,
    attempt: whole,
    effect: text,
    isDeclared: flag,
    key: text,
    status: text,
    verdict: text,
    step: text,
    list: text,
    name: text,
    hash: text,
    asked: text,
    reads: texts,
    durationMs: fraction,
    spent: amounts,
    spared: amounts,
    budget: described(amounts, 'the budgets that it set'),
    wait: text,
    by: text,
    door: text,
    as: described(text, 'owner: of the store; program: no person'),
    link: described(text, 'hash of the answer link by which it came'),
    sender: described(objectOf({}, { by: text, door: text, as: described(text, 'as what') }), 'who sent the signal'),
    fourEyes: described(flag, 'the question asked for the eyes of another person than who answered another one'),
    from: position,
    graphHash: text,
    version: text,
    traceparent: text,
    anyVersion: flag,
    error: failureNote,
    worker: text,
    detail: anything,
  },
);

/** What a line of a log has, and all about one checkpoint has too. */
export const logEntryParts: Parts = {
  checkpointId: text,
  runId: text,
  seq: whole,
  at: time,
  change: listOf(changePart),
  tags: texts,
  sizeBytes: whole,
};

/** One line of a log. */
export const logEntry: JsonSchema = objectOf(logEntryParts);

/** A value that differs. */
export const valueDifference: JsonSchema = {
  ...objectOf({ path: texts }, { before: anything, after: anything }),
  format: 'difference',
};

/** How a node stood. */
export const nodeRow: JsonSchema = objectOf(
  { path: texts, status: text, visits: whole, attempt: whole, hasOpenEffect: flag },
  {
    verdict: text,
    error: anything,
    steps: described(amounts, 'how many of its steps have each status'),
    retired: whole,
    lists: amounts,
    spent: amounts,
    saved: amounts,
  },
);

/** Where a run stood at a checkpoint, with every node that was started. */
export const checkpointView: JsonSchema = objectOf(
  {
    status: runStatus,
    graphHash: text,
    state,
    nodes: listOf(nodeRow),
    waits: listOf(objectOf(waitParts, waitMore)),
    failures: keyed,
  },
  { spent: amounts, saved: amounts },
);
