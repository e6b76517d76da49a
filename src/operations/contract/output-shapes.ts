/** JSON Schemas of operations' outputs, in the form that JSON interfaces show: see {@link toJson}. */
import type { JsonSchema } from '../../graph/contracts/node-type.ts';

export const text: JsonSchema = { type: 'string' };
export const whole: JsonSchema = { type: 'integer' };
export const flag: JsonSchema = { type: 'boolean' };
/** A value from a run, or one whose form is defined elsewhere. It is masked when shown. */
export const anything: JsonSchema = {};
/** Text that the author of a workflow wrote. It is not a value of a run, so it is shown unmasked, whatever its keys are called. */
export const definition: JsonSchema = { description: 'as its author wrote it' };

export function oneOf(...words: readonly string[]): JsonSchema {
  return { enum: words };
}

export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

type Parts = Readonly<Record<string, JsonSchema>>;

/** Schema of an object with exactly these properties. @param optional - properties that may be absent */
export function objectOf(parts: Parts, optional: Parts = {}): JsonSchema {
  const properties = { ...parts, ...optional };
  return { type: 'object', properties, required: Object.keys(parts), additionalProperties: false };
}

export const texts: JsonSchema = listOf(text);
export const position: JsonSchema = objectOf({ runId: text, seq: whole });

/** A checkpoint: run and seq, and its id if known. */
export const place: JsonSchema = objectOf({ runId: text, seq: whole }, { checkpointId: text });

/** Amounts by unit. */
export const amounts: JsonSchema = { type: 'object', additionalProperties: { type: 'number' } };

const runStatus = oneOf('running', 'paused', 'cancelling', 'completed', 'failed', 'cancelled');

/** An open wait: a question, or anything else that a run waits for. */
export const wait: JsonSchema = objectOf(
  { waitId: text, runId: text, graphId: text, kind: text, node: texts, name: text },
  {
    step: text,
    prompt: text,
    choices: listOf(anything),
    matching: text,
    schema: definition,
    metadata: anything,
    isApproval: flag,
    audience: text,
    dueAt: whole,
    defaultAnswer: anything,
    openedAt: whole,
    isAnswered: flag,
    isDamaged: flag,
    budget: anything,
  },
);

const stateParts: Parts = {
  scratch: { type: 'object' },
  artifacts: { type: 'object' },
  diagnostics: { type: 'object' },
  outputs: { type: 'object' },
  failures: { type: 'object' },
};
export const state: JsonSchema = objectOf(stateParts, { input: anything });

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
    error: { type: 'object' },
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
  percent: { type: 'number' },
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
    createdAt: whole,
    status: runStatus,
    isPaused: flag,
    isHead: flag,
    waits: listOf(wait),
  },
  { pausedNode: text, prompt: text },
);

/** A workflow as data. */
export const workflow: JsonSchema = objectOf(
  {
    name: text,
    version: text,
    tags: texts,
    inputs: listOf({ type: 'object', properties: { schema: definition } }),
    outputs: listOf(definition),
    blocks: listOf(definition),
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

/** What a line of a log has, and all about one checkpoint has too. */
export const logEntryParts: Parts = {
  checkpointId: text,
  runId: text,
  seq: whole,
  at: whole,
  change: listOf({ type: 'object' }),
  tags: texts,
  sizeBytes: whole,
};

/** One line of a log. */
export const logEntry: JsonSchema = objectOf(logEntryParts);
