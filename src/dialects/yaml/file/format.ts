/** The format of workflow files, as one table from which the checks and the JSON Schema are made. Its meaning: docs/spec/yaml.md. */
import { agePattern } from '../../../graph/retention.ts';
import type { Fields, Shape } from './shape.ts';
import type { WorkflowInput } from '../../text-workflow.ts';
import { webhookEvents } from '../../../graph/webhooks.ts';

const text = (wanted?: string): Shape => ({ kind: 'text', ...(wanted === undefined ? {} : { wanted }) });
const flag: Shape = { kind: 'flag' };
const any: Shape = { kind: 'any' };
const whole = (min: number, max?: number): Shape => ({
  kind: 'number',
  isWhole: true,
  min,
  ...(max === undefined ? {} : { max }),
});
const listOf = (of: Shape): Shape => ({ kind: 'list', of });
const limitNames: Shape = { kind: 'either', of: [text(), listOf(text())], wanted: 'the name of a limit, or a list' };

/** Types by name, including other spellings. */
const typeNames: Readonly<Record<string, WorkflowInput['type']>> = {
  str: 'str',
  string: 'str',
  text: 'str',
  num: 'num',
  number: 'num',
  float: 'num',
  int: 'int',
  integer: 'int',
  bool: 'bool',
  boolean: 'bool',
  list: 'list',
  array: 'list',
  dict: 'dict',
  object: 'dict',
  json: 'json',
  any: 'any',
};

/** The type with this spelling. */
export function typeNamed(spelling: unknown): WorkflowInput['type'] | undefined {
  return typeof spelling === 'string' && Object.hasOwn(typeNames, spelling) ? typeNames[spelling] : undefined;
}

/** Ids that have another meaning in texts. */
export const reservedIds: readonly string[] = ['inputs', 'blocks', 'metadata', 'each', 'secrets', 'outputs', 'raw'];

const type: Shape = { kind: 'choice', of: Object.keys(typeNames) };
const identifier = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]{0,99}$/,
  wanted: 'a name of letters, digits and _, which does not begin with a digit',
};
const name = { pattern: /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/, wanted: 'a name of letters, digits, _ and -' };
/** Matches seconds, or a number with a unit; not 0. */
export const durationPattern: RegExp = /^(?=[\d.]*[1-9])(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/;
const durationWanted = 'a duration: seconds, or a text such as 500ms, 30s, 5m, 2h';
const duration: Shape = {
  kind: 'either',
  of: [
    { kind: 'number', min: 0.001, max: 30 * 86_400 },
    { kind: 'text', pattern: durationPattern, wanted: durationWanted },
  ],
  wanted: durationWanted,
};

/** Keywords of JSON Schema that an input may have in addition to its type. */
export const schemaKeywords = [
  'pattern', 'minLength', 'maxLength', 'format', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
  'items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'properties', 'additionalProperties', 'minProperties',
  'maxProperties', 'anyOf', 'oneOf', 'allOf', 'not', 'const',
] as const; // prettier-ignore

const keywordShapes: Readonly<Record<(typeof schemaKeywords)[number], Shape>> = {
  pattern: text('a regular expression'),
  minLength: whole(0),
  maxLength: whole(0),
  format: text(),
  minimum: { kind: 'number' },
  maximum: { kind: 'number' },
  exclusiveMinimum: { kind: 'number' },
  exclusiveMaximum: { kind: 'number' },
  multipleOf: { kind: 'number' },
  items: { kind: 'map', of: any },
  prefixItems: listOf({ kind: 'map', of: any }),
  minItems: whole(0),
  maxItems: whole(0),
  uniqueItems: flag,
  properties: { kind: 'map', of: { kind: 'map', of: any } },
  additionalProperties: { kind: 'either', of: [flag, { kind: 'map', of: any }], wanted: 'true, false or a schema' },
  minProperties: whole(0),
  maxProperties: whole(0),
  anyOf: listOf({ kind: 'map', of: any }),
  oneOf: listOf({ kind: 'map', of: any }),
  allOf: listOf({ kind: 'map', of: any }),
  not: { kind: 'map', of: any },
  const: any,
};

const inputFields: Fields = {
  type: { shape: type, description: 'What the value must be. Default: any.' },
  description: { shape: text(), description: 'What the input is for.' },
  default: { shape: any, description: 'The value when none is given; must fit the type.' },
  required: { shape: flag, description: 'Whether a run needs it. Default: true, unless there is a default.' },
  enum: { shape: listOf(any), description: 'The values that are allowed.' },
  ...Object.fromEntries(
    schemaKeywords.map((keyword) => [
      keyword,
      { shape: keywordShapes[keyword], description: `JSON Schema's ${keyword}.` },
    ]),
  ),
};

const dependencyFields: Fields = {
  block: { shape: text(), description: 'The id of the block.', isRequired: true },
  required: {
    shape: flag,
    description:
      'False: the block starts once that one is over, however it ended. Default: true, it must have completed.',
  },
};

const fileOutputFields: Fields = {
  type: {
    shape: { kind: 'choice', of: Object.keys(typeNames).filter((key) => typeNames[key] !== 'any' && key !== 'text') },
    description: 'How the file is read: text as it is, or parsed and checked.',
    isRequired: true,
  },
  path: { shape: text(), description: 'The file, relative to the working directory.', isRequired: true },
  required: { shape: flag, description: 'Whether the block fails without it. Default: true.' },
  unsafe: {
    shape: flag,
    description:
      'Whether the file may lie outside the working directory and the folder of temporary files. Default: false.',
  },
  description: { shape: text(), description: 'What the file is.' },
};

const retryFields: Fields = {
  attempts: { shape: whole(1, 1000), description: 'Attempts in all, the first included.', isRequired: true },
  backoff: {
    shape: { kind: 'choice', of: ['fixed', 'linear', 'exponential'] },
    description: 'How the delay grows. Default: exponential.',
  },
  factor: {
    shape: { kind: 'number', min: 1 },
    description: 'What an exponential delay is multiplied by from one attempt to the next. Default: 2.',
  },
  delay: { shape: duration, description: 'Before the second attempt. Default: 1s.' },
  max_delay: { shape: duration, description: 'The longest delay, before jitter. Default: 60s.' },
  jitter: {
    shape: { kind: 'number', min: 0, max: 1 },
    description: 'By how much of itself a delay is made longer or shorter at random, 0 to 1. Default: 0.',
  },
  on: { shape: listOf(text('an error code')), description: 'Codes of failures that are retried. Default: all.' },
};

const unit = {
  pattern: /^\p{L}[\p{L}\p{N}_-]{0,63}$/u,
  wanted: 'the name of a unit: a letter, then letters, digits, - and _',
};
/** Amounts by unit: `{ usd: 5, outputTokens: 100000 }`. */
const amounts: Shape = { kind: 'map', keys: unit, of: { kind: 'number', min: 0, max: Number.MAX_SAFE_INTEGER } };
const onBudget: Shape = { kind: 'choice', of: ['ask', 'fail'] };

const people = listOf(text());

const approvalFields: Fields = {
  prompt: { shape: text(), description: 'What is asked; ${...} in it is replaced.', isRequired: true },
  condition: {
    shape: { kind: 'either', of: [text(), flag], wanted: 'an expression that gives true or false' },
    description: 'Whether anybody is asked; if it is false the block runs. Default: always.',
  },
  edit: { shape: listOf(text()), description: 'Inputs of the block that the person may change. Default: none.' },
  deadline: { shape: duration, description: 'How long the question stays open.' },
  on_deadline: {
    shape: { kind: 'choice', of: ['approve', 'reject', 'fail'] },
    description: 'What happens then. Default: fail.',
  },
  on_rejected: {
    shape: { kind: 'choice', of: ['skip', 'fail'] },
    description: 'A refusal skips the block, or fails it. Default: skip.',
  },
  assignees: { shape: people, description: 'Whose answers are taken: people, and roles such as role:finance.' },
  four_eyes: {
    shape: text(),
    description: 'Another block that asks: who answered that, or started the run, does not answer this.',
  },
  remind_after: {
    shape: { kind: 'either', of: [duration, listOf(duration)], wanted: 'a duration, or a list' },
    description: 'When the question is reminded of.',
  },
  escalate_after: { shape: duration, description: 'From when on it is for those of escalate_to too.' },
  escalate_to: { shape: people, description: 'For whom it is then.' },
};

export const blockFields: Fields = {
  id: { shape: { kind: 'text', ...identifier }, description: 'Names the block within the workflow.', isRequired: true },
  renamed_from: {
    shape: { kind: 'text', ...identifier },
    description:
      'The id under which runs have the block on record, if it had another one. Keep it while such runs wait.',
  },
  type: { shape: text('the name of a block type'), description: 'What the block does.', isRequired: true },
  description: { shape: text(), description: 'What the block is for.' },
  inputs: {
    shape: { kind: 'either', of: [{ kind: 'map', of: any }, { kind: 'null' }], wanted: 'a mapping (`name: value`)' },
    description: 'Values for the block type; ${...} in texts is replaced.',
  },
  depends_on: {
    shape: listOf({
      kind: 'either',
      of: [text(), { kind: 'fields', fields: dependencyFields }],
      wanted: 'the id of a block, or { block: id, required: false }',
    }),
    description: 'Blocks that come before: ids, or { block, required }.',
  },
  condition: {
    shape: { kind: 'either', of: [text(), flag], wanted: 'an expression that gives true or false' },
    description: 'Read when the block could start; if it is false the block is skipped.',
  },
  for_each: {
    shape: {
      kind: 'either',
      of: [text(), listOf(any), { kind: 'map', of: any }],
      wanted: 'an expression, a list or a mapping',
    },
    description: 'Runs the block once for each item: ${each.value}, ${each.key}, ${each.index}, ${each.count}.',
  },
  for_each_mode: { shape: { kind: 'choice', of: ['parallel', 'sequential'] }, description: 'Default: parallel.' },
  max_parallel: { shape: whole(1, 1000), description: 'Iterations that run at once. Default: 5.' },
  continue_on_error: {
    shape: flag,
    description: 'A failure of the block is passed over; under for_each, of an iteration. Default: false.',
    aliases: ['continue-on-error'],
  },
  outputs: {
    shape: {
      kind: 'map',
      keys: identifier,
      of: {
        kind: 'fields',
        fields: fileOutputFields,
        rejected: { validation: 'remove it; check the value in a condition of the next block' },
      },
    },
    description: 'Files that are read as outputs once the block is done.',
  },
  approval: {
    shape: {
      kind: 'either',
      of: [text(), { kind: 'fields', fields: approvalFields }],
      wanted: 'a question, or { prompt, condition, edit, deadline, on_deadline, on_rejected, assignees, … }',
    },
    description: 'A person is asked before the block runs, and sees its inputs; what was approved is what it gets.',
  },
  timeout: { shape: duration, description: 'For one attempt: seconds, or a text such as 30s, 5m, 2h.' },
  limit: {
    shape: limitNames,
    description: 'Limits that each attempt is under, over all workers: names of the configuration, or of code.',
  },
  retry: {
    shape: {
      kind: 'either',
      of: [whole(1, 1000), { kind: 'fields', fields: retryFields }],
      wanted: 'a number of attempts, or { attempts, backoff, delay, max_delay, jitter, on }',
    },
    description:
      'Attempts in all, the first included. A command that ends with an exit code is tried again under its key.',
  },
  effect: {
    shape: { kind: 'choice', of: ['pure', 'read', 'write', 'external'] },
    description: 'What a resume or fork may do with it. Default: what the block type says.',
  },
  idempotent: {
    shape: flag,
    description: 'A repetition has no second effect, so it is repeated rather than asked about.',
  },
  on_in_doubt: {
    shape: { kind: 'choice', of: ['ask', 'retry', 'fail'] },
    description: 'When it is not known whether the effect happened. Default: ask.',
  },
  budget: {
    shape: amounts,
    description: 'What the block may spend, by unit: outputTokens, cost, or units of its own.',
  },
  on_budget: { shape: onBudget, description: 'When it is spent: a question, or a failure. Default: ask.' },
  at_most: {
    shape: {
      kind: 'either',
      of: [amounts, { kind: 'choice', of: ['nothing'] }],
      wanted: 'numbers by unit, or `nothing`',
    },
    description: 'The most that one attempt spends; reserved before it begins. `nothing` meets no budget.',
  },
};

const outputFields: Fields = {
  value: { shape: any, description: 'The value; ${...} in texts is replaced.', isRequired: true },
  type: { shape: type, description: 'What the value is turned into, or must be.' },
  description: { shape: text(), description: 'What the output is.' },
};

const checkpointFields: Fields = {
  enabled: { shape: flag, description: 'False: only effects, waits and the end are kept. Default: true.' },
  max_per_workflow: { shape: whole(1), description: 'Checkpoints kept of all runs of the workflow.' },
  ttl_seconds: { shape: whole(1), description: 'How long ended runs are kept.' },
  keep_paused: { shape: flag, description: 'Whether paused runs are left alone by the cleanup.' },
  auto_cleanup: { shape: flag, description: 'Whether old checkpoints go without being asked.' },
  cleanup_interval_seconds: { shape: whole(1), description: 'How often long-lived processes clean up.' },
  max_checkpoint_size_mb: {
    shape: { kind: 'number', min: 0.001, max: 4096 },
    description: 'What one block may add to a run; more fails the block before anything is written.',
  },
};

const ageWanted = 'a time such as 12h, 7d or 4w, or seconds';
const age: Shape = {
  kind: 'either',
  of: [
    { kind: 'number', min: 0.001 },
    { kind: 'text', pattern: agePattern, wanted: ageWanted },
  ],
  wanted: ageWanted,
};

const retentionFields: Fields = {
  completed: { shape: age, description: 'For how long completed runs are kept.' },
  failed: { shape: age, description: 'For how long failed runs are kept.' },
  cancelled: { shape: age, description: 'For how long cancelled runs are kept.' },
  runs: { shape: whole(1), description: 'How many ended runs are kept, the newest.' },
  perLabel: { shape: { kind: 'map', of: whole(1) }, description: 'The same for each value of a label: { user: 50 }.' },
  remember: { shape: age, description: 'For how long the id of a removed run is not used again. Default: 30d.' },
};

const boundFields: Fields = {
  concurrency: { shape: whole(1, 1000), description: 'Blocks that run at once. Default: 64.' },
  depth: { shape: whole(0, 32), description: 'How deep workflows may call workflows. Default: 32.' },
};

const webhookFields: Fields = {
  url: {
    shape: { kind: 'text', pattern: /^https?:\/\/\S+$/, wanted: 'an address such as https://hooks.example.org/cairn' },
    description: 'Where it is told.',
    isRequired: true,
  },
  on: {
    shape: listOf({ kind: 'choice', of: webhookEvents }),
    description: 'What is told: that a run completed or failed, that people are asked, that nobody has answered.',
    isRequired: true,
  },
  secret: {
    shape: { kind: 'text', pattern: /^secret:[A-Za-z_]\w*$/, wanted: 'a reference such as secret:WEBHOOK_SECRET' },
    description: 'Names the secret that deliveries are signed with.',
    isRequired: true,
  },
  private: { shape: flag, description: 'Whether the address may be one of a private network. Default: false.' },
};

const timeLimitFields: Fields = {
  after: { shape: duration, description: 'The time: seconds, or a text such as 30m, 2h.', isRequired: true },
  counts_waits: { shape: flag, description: 'False: time in which the run is paused does not count. Default: true.' },
};

export const workflowFields: Fields = {
  name: {
    shape: {
      kind: 'text',
      pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
      wanted: 'a name of letters, digits, -, _ and ., such as release-checklist',
    },
    description: 'Names the workflow.',
    isRequired: true,
  },
  description: { shape: text(), description: 'What the workflow does.' },
  version: {
    shape: { kind: 'either', of: [text(), { kind: 'number' }], wanted: 'a text' },
    description: 'For readers.',
  },
  author: { shape: { kind: 'either', of: [text(), { kind: 'null' }], wanted: 'a text' }, description: 'For readers.' },
  tags: { shape: listOf(text()), description: 'Words by which lists are filtered.' },
  inputs: {
    shape: { kind: 'map', keys: name, of: { kind: 'fields', fields: inputFields } },
    description: 'What a run is given. Without this section, unknown names in texts are inputs.',
  },
  blocks: {
    shape: listOf({
      kind: 'fields',
      fields: blockFields,
      rejected: {
        when: 'write `condition:`',
        if: 'write `condition:`',
        needs: 'write `depends_on:`',
        env: 'write it under `inputs:` of a Shell block',
        matrix: 'write `for_each:`',
        max_retries: 'write `retry:`',
        category: 'use `tags:` of the workflow',
      },
      elsewhere: 'if it is an input of the block type, indent it below `inputs:`',
    }),
    description: 'What is done.',
    isRequired: true,
  },
  outputs: {
    shape: {
      kind: 'map',
      keys: name,
      of: { kind: 'either', of: [{ kind: 'fields', fields: outputFields }, any], wanted: 'a value' },
    },
    description: 'What a run gives: a text, or { value, type, description }.',
  },
  secrets: {
    shape: {
      kind: 'either',
      of: [
        listOf({ kind: 'text', ...identifier }),
        {
          kind: 'map',
          keys: identifier,
          of: {
            kind: 'either',
            of: [
              { kind: 'fields', fields: { description: { shape: text(), description: 'What the secret is for.' } } },
              { kind: 'null' },
            ],
            wanted: '{ description }',
          },
        },
      ],
      wanted: 'a list of names',
    },
    description: 'Names of the secrets it uses: ${secrets.NAME}.',
  },
  bounds: { shape: { kind: 'fields', fields: boundFields }, description: 'Bounds of a run.' },
  limits: { shape: { kind: 'fields', fields: boundFields }, description: 'What bounds was called before.' },
  limit: {
    shape: limitNames,
    description: 'Limits that each run is under, over all workers: names of the configuration, or of code.',
  },
  webhooks: {
    shape: listOf({ kind: 'fields', fields: webhookFields }),
    description: 'What the ends of its runs and their questions are told to.',
  },
  budget: { shape: amounts, description: 'What a run may spend, by unit: outputTokens, cost, or units of its blocks.' },
  on_budget: { shape: onBudget, description: 'When it is spent: a question, or a failure. Default: ask.' },
  time_limit: {
    shape: {
      kind: 'either',
      of: [duration, { kind: 'fields', fields: timeLimitFields }],
      wanted: 'a time such as 2h, or { after, counts_waits }',
    },
    description:
      'How long a run may take from its start on, waits included: 2h, or { after: 2h, counts_waits: false }.',
  },
  title: {
    shape: text(),
    description:
      'The title of a run, by which people find it: Refund of ${inputs.order}. Made once, of the inputs alone.',
  },
  on_cancel: {
    shape: { kind: 'text', ...identifier },
    description: 'The block that runs once after a cancel of the run, to undo what it did. It depends on no block.',
  },
  on_run_failure: {
    shape: { kind: 'text', ...identifier },
    description: 'The block that runs once when the run has failed, before it stands failed. It depends on no block.',
  },
  checkpoint: {
    shape: { kind: 'fields', fields: checkpointFields },
    description: 'How checkpoints of its runs are kept.',
  },
  retention: {
    shape: { kind: 'fields', fields: retentionFields },
    description: 'Which of its runs that ended are kept, by age and by number. Default: all.',
  },
};

export const workflowShape: Shape = {
  kind: 'fields',
  fields: workflowFields,
  rejected: {
    flush_memory_on_complete: 'remove it; there is no memory to flush',
    knowledge_context: 'remove it; read what is needed in a block',
    steps: 'write `blocks:`',
    jobs: 'write `blocks:`',
    env: 'write it under `inputs:` of Shell blocks',
    timeout: 'write `time_limit:` for the run, or `timeout:` at each block',
  },
};
