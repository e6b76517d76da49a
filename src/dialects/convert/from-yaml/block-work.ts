/** What a block of a workflow file does, and how it may end. */
import { same } from '../../../schema/json-schema.ts';
import type { BlockView } from '../../yaml/expression/template.ts';
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import {
  joined,
  chose,
  longestCall,
  verdictSchema,
  writingTools,
  type AgentTools,
  engineDelays,
  type Step,
  workByHand,
} from '../outline/outline.ts';
import {
  completed,
  failed,
  literalOf,
  lost,
  textIn,
  type BlockEnd,
  type BlockReading,
  type Done,
  questionIn,
  type BlockReader,
  type BlockWork,
} from './block-reading.ts';
import { dirname, relative } from 'node:path';
import { piecesOf, scriptOf } from './plain-text.ts';
import { assignedNames } from '../../yaml/shell/shell-names.ts';

// `LLMCall` blocks: a call of a model, or one that says how it went.

function readModel(block: BlockFile, reading: BlockReading): Done | undefined {
  const { inputs } = block;
  const prompt = textIn(block, 'prompt', reading);
  const system = inputs['system_instructions'] === undefined ? [] : textIn(block, 'system_instructions', reading);
  const model = modelOf(block, reading);
  if (prompt === undefined || system === undefined || model === undefined) return undefined;
  const verdict = inputs['response_schema'] === undefined ? undefined : labelsOf(inputs['response_schema']);
  noteCall(block, { hasSystem: system.length > 0, isVerdict: verdict !== undefined }, reading);
  const { max_retries: calls = 3, timeout = 60 } = inputs;
  return {
    work: {
      kind: 'model',
      prompt: system.length === 0 ? prompt : joined([...system, '\n\n', ...prompt]),
      model,
      ...(verdict !== undefined && { verdict }),
    },
    ends: verdict === undefined ? plainEnds(block) : verdictEnds(block, verdict),
    fields: verdict === undefined ? [] : ['response.outcome', 'response.preferred_label'],
    timeoutMs: Number(timeout) >= longestCall ? undefined : Number(timeout) * 1_000,
    attempts: Number(calls),
  };
}

function noteCall(
  { id, inputs, continuesOnError }: BlockFile,
  { hasSystem, isVerdict }: { readonly hasSystem: boolean; readonly isVerdict: boolean },
  reading: BlockReading,
): void {
  if (hasSystem)
    lost(
      reading,
      'PROMPT',
      `the system instructions of ${id} stand before its prompt`,
      'nothing, or set them in the profile',
    );
  for (const name of ['temperature', 'max_tokens', 'validation_prompt_template'])
    if (inputs[name] !== undefined)
      lost(reading, 'SETTING', `${name} of ${id} is not told`, 'set it in the profile of the model');
  if (inputs['response_schema'] !== undefined && !isVerdict)
    lost(reading, 'PROMPT', `the answer of ${id} is not held against its schema`, 'ask for the form in the prompt');
  if (isVerdict && !continuesOnError)
    lost(
      reading,
      'CONDITION',
      `a call of ${id} that fails goes the way of its verdict fail`,
      'nothing, or let that verdict end the run',
    );
}

function plainEnds({ continuesOnError }: BlockFile): readonly BlockEnd[] {
  return [
    { on: 'success', views: [completed({})], isFatal: false },
    { on: 'fail', views: [failed], isFatal: !continuesOnError },
  ];
}

/** The verdicts, each an answer with which the block completes. A call that fails goes the way of the verdict `fail`. */
function verdictEnds({ continuesOnError }: BlockFile, labels: readonly string[]): readonly BlockEnd[] {
  const answer = (response: object): BlockView => completed({ response });
  return [
    { on: 'success', views: [answer({ outcome: 'success' })], isFatal: false },
    { on: 'fail', views: [...(continuesOnError ? [failed] : []), answer({ outcome: 'fail' })], isFatal: false },
    ...labels.map((label) => ({
      on: chose(label),
      views: [answer({ outcome: 'success', preferred_label: label })],
      isFatal: false,
    })),
  ];
}

/** `provider:name`, or the name of a profile; undefined: it is computed. */
function modelOf({ inputs: { model, provider, profile } }: BlockFile, reading: BlockReading): string | undefined {
  const named = model === undefined ? (profile ?? 'default') : model;
  const name = literalOf(named, reading);
  const of = provider === undefined ? '' : literalOf(provider, reading);
  if (name === undefined || of === undefined) return undefined;
  return of === '' ? name : `${of}:${name}`;
}

/** The labels of a schema that asks how it went; undefined: it asks something else. */
function labelsOf(schema: unknown): readonly string[] | undefined {
  const { properties } = schema as {
    readonly properties?: { readonly preferred_label?: { readonly enum?: readonly string[] } };
  };
  const labels = properties?.preferred_label?.enum ?? [];
  return same(schema, verdictSchema(labels)) ? labels : undefined;
}

// `Agent` blocks whose tools are files, programs and a person: a stage has no others.

const loopsMaxDefault = 15;

/** Tools that only a block has, and settings that do not change what it does. */
const ownTools = ['workflows', 'blocks', 'servers'];
const settings = ['fallbacks', 'mode', 'history', 'show_images'];

function readAgent(block: BlockFile, reading: BlockReading): Done | undefined {
  const { inputs } = block;
  if (ownTools.some((name) => inputs[name] !== undefined)) return undefined;
  const folder = inputs['files'] === undefined ? undefined : literalOf(inputs['files'], reading);
  if (inputs['files'] !== undefined && folder === undefined) return undefined;
  const isOn = (name: string, otherwise: boolean): boolean => {
    const value = inputs[name] ?? otherwise;
    return value === true || value === 'true';
  };
  const shell = isOn('shell', false);
  const asks = isOn('ask_person', true);
  const loopsMax = Number(inputs['max_loops'] ?? loopsMaxDefault);
  // One without tools is a call of a model.
  if ((folder === undefined && !shell && !asks) || !Number.isInteger(loopsMax)) return undefined;
  const done = readModel(asCall(block), reading);
  if (done?.work.kind !== 'model') return undefined;
  for (const name of settings)
    if (inputs[name] !== undefined && inputs[name] !== 'native')
      lost(reading, 'SETTING', `${name} of ${block.id} has no counterpart`, 'take it out, or do without');
  if (block.retry !== undefined)
    lost(reading, 'SETTING', `retry of ${block.id} has no counterpart`, 'take it out, or do without');
  const files = folder === undefined ? {} : { files: { folder, isReadOnly: isOn('files_read_only', false) } };
  const refuses = inputs['on_change'] === 'refuse' ? { refusesChanges: true as const } : {};
  const agent: AgentTools = { ...files, ...refuses, shell, asks, allow: allowedOf(block, reading), loopsMax };
  return { ...done, work: { ...done.work, agent }, timeoutMs: undefined, isTriedOnce: true };
}

/** The same as a call of a model, for what both have. */
function asCall(block: BlockFile): BlockFile {
  const { prompt, instructions, model, output_schema: schema, temperature, max_tokens: tokensMax } = block.inputs;
  const renamed = { prompt, system_instructions: instructions, model, temperature, max_tokens: tokensMax };
  const inputs = Object.fromEntries(Object.entries(renamed).filter(([, value]) => value !== undefined));
  return { ...block, inputs: { ...inputs, ...(schema !== undefined && { response_schema: schema }) } };
}

function allowedOf({ id, inputs }: BlockFile, reading: BlockReading): AgentTools['allow'] {
  const allow = Array.isArray(inputs['allow']) ? inputs['allow'].map(String) : [];
  const written = writingTools.filter((name) => allow.includes(name));
  if (written.length === 1)
    lost(
      reading,
      'SETTING',
      `${id} asks before it uses ${written.join('')}, too`,
      'allow all tools that write, or none',
    );
  return [
    ...(written.length === writingTools.length ? (['write'] as const) : []),
    ...(allow.includes('shell') ? (['shell'] as const) : []),
  ];
}

// Blocks that run a pipeline. A stage hands on inputs of the same names, and nothing else.

function readChild(block: BlockFile, reading: BlockReading): Done | undefined {
  const { workflow, inputs = {}, timeout, timeout_ms: ms } = block.inputs;
  const called = typeof workflow === 'string' ? reading.pipelineOf(block) : undefined;
  if (called === undefined) return undefined;
  const handed = called.taken.filter((name) => reading.known.inputs.includes(name));
  if (!areHanded(inputs, handed, reading)) return undefined;
  for (const [name, isSet] of [
    ['timeout', timeout !== undefined || ms !== undefined || block.timeoutMs !== undefined],
    ['retry', block.retry !== undefined],
  ] as const)
    if (isSet) lost(reading, 'SETTING', `${name} of ${block.id} has no counterpart`, 'take it out, or do without');
  return {
    work: { kind: 'child', name: called.name, file: fileFrom(reading.source, called.source), inputs: handed },
    ends: [
      { on: 'success', views: [completed({ success: true })], isFatal: false },
      { on: 'fail', views: [failed], isFatal: !block.continuesOnError },
    ],
    fields: ['success'],
  };
}

/** Whether a stage would hand on just what the block does. */
function areHanded(inputs: unknown, names: readonly string[], { known }: BlockReading): boolean {
  if (typeof inputs !== 'object' || inputs === null) return false;
  const entries = Object.entries(inputs);
  return (
    entries.length === names.length &&
    entries.every(
      ([name, value]) =>
        names.includes(name) && typeof value === 'string' && same(piecesOf(value, known), [{ input: name }]),
    )
  );
}

function fileFrom(source: string, file: string): string {
  return relative(dirname(source), file).replaceAll('\\', '/');
}

// `Shell` blocks. A command of a pipeline has every input as a variable of its environment, and no other values.

function readCommand(block: BlockFile, reading: BlockReading): Done | undefined {
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
    reading.notes.changed(
      'SETTING',
      reading.place,
      `the output of ${block.id} is kept`,
      'send it to a file where it is large',
    );
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
function noteVariables({ id, inputs }: BlockFile, handed: readonly string[], reading: BlockReading): void {
  const command = String(inputs['command']);
  const own = assignedNames(command);
  for (const name of reading.names.inputs)
    if (!handed.includes(name) && !own.has(name) && new RegExp(`\\$${name}\\b|\\$\\$\\{[#!]?${name}\\b`).test(command))
      lost(
        reading,
        'TEXT',
        `$${name} in the command of ${id} is the input ${name}, and no longer a variable of the shell's`,
        'give that variable another name',
      );
}

/** Whether every variable is an input under its own name. */
function isOwnEnvironment(env: unknown, { known }: BlockReading): boolean {
  if (typeof env !== 'object' || env === null) return false;
  return Object.entries(env).every(([name, value]) => {
    const pieces = typeof value === 'string' ? piecesOf(value, known) : undefined;
    return same(pieces, [{ input: name }]);
  });
}

// Blocks that ask a person.

/** `AskChoice`. */
function readChoice(block: BlockFile, reading: BlockReading): Done | undefined {
  const { choices } = block.inputs;
  const question = questionIn(block, 'question', reading);
  if (!Array.isArray(choices)) return undefined;
  const labels = choices.map((choice) => literalOf(String(choice), reading));
  if (!labels.every((label) => label !== undefined)) return undefined;
  return {
    work: { kind: 'choice', question, choices: labels },
    ends: labels.map((choice, index) => ({
      on: chose(choice),
      views: [completed({ choice, choice_index: index })],
      isFatal: false,
    })),
    fields: ['choice', 'choice_index'],
  };
}

/** `ConfirmOperation`. */
function readConfirmation(block: BlockFile, reading: BlockReading): Done {
  const question = questionIn(block, 'message', reading);
  const { details } = block.inputs;
  if (details !== undefined && Object.keys(details as object).length > 0)
    lost(reading, 'ANSWER', `the details of ${block.id} are not shown with its question`, 'say them in the message');
  const ends = [true, false].map((confirmed) => ({
    on: confirmed ? 'yes' : 'no',
    views: [completed({ confirmed })],
    isFatal: false,
  }));
  return { work: { kind: 'confirm', question }, ends, fields: ['confirmed'] };
}

/** `GetInput` and `Prompt`. */
function readText(block: BlockFile, reading: BlockReading): Done {
  const question = questionIn(block, 'prompt', reading);
  if (block.inputs['validation_pattern'] !== undefined)
    lost(
      reading,
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

const readers: Readonly<Record<string, BlockReader | undefined>> = {
  Shell: readCommand,
  LLMCall: readModel,
  Agent: readAgent,
  Workflow: readChild,
  ExecuteWorkflow: readChild,
  AskChoice: readChoice,
  ConfirmOperation: readConfirmation,
  GetInput: readText,
  Prompt: readText,
};

/** A block as a step. One that cannot be said without its dialect is done by hand. */
export function workOfBlock(block: BlockFile, reading: BlockReading): BlockWork {
  const found = block.forEach === undefined ? readers[block.type]?.(block, reading) : undefined;
  if (found === undefined) noteByHand(block, reading);
  const { work, ends, fields, timeoutMs, attempts = 1, isTriedOnce = false } = found ?? byHandOf(block);
  noteSettings(block, reading);
  const isRetried = (work.kind === 'command' || work.kind === 'model') && !isTriedOnce;
  return {
    step: {
      id: block.id,
      ...(block.renamedFrom !== undefined && { renamedFrom: block.renamedFrom }),
      title: block.description,
      place: reading.place,
      work,
      retry: isRetried ? retryOf(block, attempts) : undefined,
      timeoutMs: work.kind === 'child' ? undefined : (block.timeoutMs ?? timeoutMs),
      isIdempotent: work.kind === 'model' || (work.kind === 'command' && isIdempotent(block)),
      budget: block.budget,
    },
    ends,
    fields,
  };
}

/** The delays between calls of a model where the file says nothing of attempts: those of a pipeline. */
const callDelays = { ...engineDelays, delayMs: 200, jitter: 0.5 };

/** Attempts of the block, each with as many calls as its inputs ask for. Undefined: it is tried once. */
function retryOf({ retry }: BlockFile, calls: number): Step['retry'] {
  const { on: _on, ...policy } = retry ?? { attempts: 1 };
  const attempts = policy.attempts * calls;
  if (attempts === 1) return undefined;
  return { ...(calls > 1 && retry === undefined ? callDelays : engineDelays), ...policy, attempts };
}

function isIdempotent({ idempotent, onInDoubt, effect }: BlockFile): boolean {
  return idempotent ?? (onInDoubt === 'retry' || effect === 'read' || effect === 'pure');
}

function noteSettings(
  { id, fileOutputs, atMost, onInDoubt, retry, approval, limit }: BlockFile,
  reading: BlockReading,
): void {
  for (const [field, isSet] of [
    ['approval', approval !== undefined],
    ['limit', limit !== undefined],
  ] as const)
    if (isSet) lost(reading, 'SETTING', `${field} of ${id} does not carry over`, `write ${field} at the stage`);
  for (const [field, isSet] of [
    ['outputs', fileOutputs.length > 0],
    ['at_most', atMost !== undefined],
    ['on_in_doubt', onInDoubt === 'fail'],
    ['retry.on', retry?.on !== undefined],
  ] as const)
    if (isSet) lost(reading, 'SETTING', `${field} of ${id} has no counterpart`, 'take it out, or do without');
}

function noteByHand({ id, type, forEach }: BlockFile, reading: BlockReading): void {
  const what = forEach === undefined ? `what ${type} does` : 'work for each item of a list';
  lost(
    reading,
    'WORK',
    `${id} is ${what}, which does not carry over as it stands; a person does it by hand`,
    readers[type] === readChild && forEach === undefined
      ? 'let it run a pipeline in DOT that is given inputs of this workflow, under their names'
      : 'write it as a command, a prompt or a question',
  );
}

function byHandOf({ id, type, description, continuesOnError, forEach }: BlockFile): Done {
  const what = forEach === undefined ? type : `${type} for each item`;
  return {
    work: workByHand(`${id} (${what})${description === undefined ? '' : `: ${description}`}`, continuesOnError),
    ends: [
      { on: chose('done'), views: [completed({})], isFatal: false },
      ...(continuesOnError ? [{ on: chose('failed'), views: [failed], isFatal: false }] : []),
    ],
    fields: [],
  };
}
