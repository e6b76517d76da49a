/** What a stage of a pipeline does, and how it may end. */
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { type Stage, folderOf, neededBranches, childType, kindOf, type Pipeline } from '../../dot/model/pipeline.ts';
import {
  readCalled,
  type CalledPipeline,
  type End,
  chose,
  commandMs,
  type Text,
  failure,
  finish,
  type Step,
  byHand,
} from '../outline/outline.ts';
import type { Done, StageReading } from './stage-reading.ts';
import { modelNameOf } from '../../dot/run/handlers/agent.ts';
import { promptOf, humanWork } from './human-stage.ts';
import { retryOf } from '../../dot/compile/stage-policy.ts';
import { alongEdges, reach, type Branches } from '../../dot/model/layout.ts';

// Stages that run another pipeline.

const settings = [
  'stack.child_autostart',
  'manager.stop_condition',
  'manager.actions',
  'manager.max_cycles',
  'manager.poll_interval',
];

/** A child that a block can name. Undefined: a block would not run this file, or not in its folder. */
function childWork(stage: Stage, reading: StageReading): Done | undefined {
  const { pipeline, ways } = reading;
  const valueOf = (name: string): string => stage.attributes.text(name) || pipeline.attributes.text(name);
  const file = valueOf('stack.child_dotfile');
  const called = calledAt(file, reading);
  if (called === undefined || valueOf('stack.child_workdir') !== '') return undefined;
  noteSettings(stage, reading);
  noteName(stage, file, called, reading);
  const params = ['goal', ...pipeline.params.map(({ name }) => name)];
  noteValues(stage, called, params, reading);
  const ended = (outcome: 'success' | 'partial_success' | 'fail', status: string): string =>
    ways.leave(stage, { outcome, context: { 'stack.child.status': status, 'stack.child.outcome': outcome } });
  const success = ended('success', 'completed');
  if (ended('partial_success', 'completed') !== success)
    reading.notes.lost(
      'CONDITION',
      reading.placeOf(stage.at),
      `where ${called.name} succeeds in part, the run goes on from ${stage.id} as if all of it had`,
      `decide by blocks.${stage.id}.outputs.status`,
    );
  return {
    work: { kind: 'child', name: called.name, file, inputs: called.taken.filter((name) => params.includes(name)) },
    ends: [
      { on: 'success', to: success },
      { on: 'fail', to: ended('fail', 'failed') },
    ],
    timeoutMs: undefined,
    isIdempotent: false,
  };
}

/** A block finds a workflow by its name, which no other may have. */
function calledAt(file: string, { source, files, pipeline }: StageReading): CalledPipeline | undefined {
  const text = files.get(isAbsolute(file) ? normalize(file) : join(dirname(source), file));
  if (text === undefined) return undefined;
  const called = readCalled(text);
  const others = [...files.values()].filter((other) => other !== text).map((other) => readCalled(other).name);
  return [pipeline.name, ...others].includes(called.name) ? undefined : called;
}

function noteSettings(stage: Stage, { notes, placeOf }: StageReading): void {
  for (const name of settings.filter((one) => stage.attributes.has(one)))
    notes.lost(
      'SETTING',
      placeOf(stage.attributes.placeOf(name)),
      `${name} of ${stage.id} has no counterpart: a block waits until its workflow ends`,
      'take it out, or give the block a timeout',
    );
}

function noteName(stage: Stage, file: string, { name }: CalledPipeline, { notes, placeOf }: StageReading): void {
  if (dirname(file) !== '.')
    notes.lost(
      'NAME',
      placeOf(stage.at),
      `${stage.id} runs ${name} by its name, which is found beside the file and in the folders of workflows, not in ${file}`,
      'keep it in one of these',
    );
}

/** A stage hands on what stages before it reported, and attributes of the graph; a block the inputs alone. */
function noteValues(
  stage: Stage,
  { name, taken }: CalledPipeline,
  params: readonly string[],
  { pipeline, notes, placeOf }: StageReading,
): void {
  const isReported = [...pipeline.stages.values()].some(
    ({ type, attributes }) =>
      type === 'codergen' ||
      (type === 'tool' && /CAIRN_STATUS_FILE/.test(attributes.text('tool_command'))) ||
      attributes.text('status_file') !== '',
  );
  const lost = taken.filter((one) => isReported || (!params.includes(one) && pipeline.attributes.has(one)));
  if (lost.length > 0)
    notes.lost(
      'VALUE',
      placeOf(stage.at),
      `${name} is given ${lost.join(', ')} as the inputs of these names alone, and not what stages report under them`,
      'give it the field of a block',
    );
}

// Where a run goes from a stage that succeeds or fails.

function plainEnds(stage: Stage, { ways }: StageReading): readonly End[] {
  const context = stage.type === 'tool' ? { 'tool.exit_code': 0 } : {};
  return [
    { on: 'success', to: ways.leave(stage, { outcome: 'success', context }) },
    { on: 'fail', to: ways.leave(stage, { outcome: 'fail' }) },
  ];
}

// Stages that call a model.

function modelWork(stage: Stage, reading: StageReading): Done {
  const { ways, notes, placeOf } = reading;
  const { attributes } = stage;
  const edges = ways.edgesOf(stage.id);
  const mustReport = attributes.flag('goal_gate') || edges.length > 1 || edges.some((edge) => edge.takesFailures);
  const labels = [...new Set(edges.map(({ caption }) => caption).filter((caption) => caption !== ''))];
  if (attributes.has('max_tokens'))
    notes.lost(
      'SETTING',
      placeOf(stage.attributes.placeOf('max_tokens')),
      `the max_tokens of ${stage.id} are not told`,
      'set tokensMax in the profile of the model',
    );
  if (attributes.text('reasoning_effort') !== '')
    notes.lost(
      'SETTING',
      placeOf(stage.attributes.placeOf('reasoning_effort')),
      `the reasoning effort of ${stage.id} is not told`,
      'set it in the profile of the model',
    );
  if (mustReport)
    notes.changed(
      'PROMPT',
      placeOf(stage.at),
      `${stage.id} is asked for its verdict by a schema, not by words in the prompt`,
      'nothing, or word it in the prompt',
    );
  const ends = [
    ...plainEnds(stage, reading),
    ...(mustReport ? labels : []).map((label) => ({
      on: chose(label),
      to: ways.leave(stage, { outcome: 'success', label }),
    })),
  ];
  return {
    work: {
      kind: 'model',
      prompt: promptOf(stage, reading),
      model: modelNameOf(stage),
      ...(mustReport && { verdict: labels }),
    },
    ends,
    timeoutMs: attributes.durationMs('timeout'),
    isIdempotent: true,
  };
}

// Stages of models that work with tools.

const loopsMaxDefault = 50;
/** The most that a block takes. */
const loopsMaxOfBlock = 1_000;

/** Undefined: a block would run its programs in another folder. */
function agentWork(stage: Stage, reading: StageReading): Done | undefined {
  const { notes, placeOf } = reading;
  const { attributes } = stage;
  const [tools, allowed] = [attributes.list('tools'), attributes.list('allow_tools')];
  const folder = folderOf(stage, '');
  const hasFiles = tools.includes('read') || tools.includes('write');
  if (!hasFiles && tools.includes('shell') && folder !== '.' && folder !== '') return undefined;
  const done = modelWork(stage, reading);
  if (done.work.kind !== 'model') return undefined;
  const hasLimit = attributes.durationMs('timeout') !== undefined;
  if (hasLimit || retryOf(stage, reading.pipeline).attempts > 1)
    notes.lost(
      'SETTING',
      placeOf(stage.at),
      `${stage.id} has ${hasLimit ? 'no limit of time for its calls' : 'one attempt'}`,
      'nothing, or bound it by max_loops or a budget',
    );
  const loopsMax = attributes.integer('max_turns') ?? loopsMaxDefault;
  const agent = {
    ...(hasFiles && { files: { folder: folder || '.', isReadOnly: !tools.includes('write') } }),
    shell: tools.includes('shell'),
    asks: tools.includes('ask_person'),
    allow: (['write', 'shell'] as const).filter((name) => tools.includes(name) && allowed.includes(name)),
    loopsMax: Math.min(loopsMax, loopsMaxOfBlock),
    ...(attributes.text('on_change') === 'refuse' && { refusesChanges: true as const }),
  };
  return { ...done, work: { ...done.work, agent }, timeoutMs: undefined };
}

// Stages that run a command: for its own sake, or to answer a prompt.

function toolWork(stage: Stage, reading: StageReading): Done {
  return commandWork(stage, { script: stage.attributes.text('tool_command') }, reading);
}

/** A command in the place of a model, which gets the prompt. */
function backendWork(stage: Stage, reading: StageReading): Done {
  const script = stage.attributes.text('agent_command');
  return commandWork(stage, { script, stdin: promptOf(stage, reading) }, reading);
}

function commandWork(
  stage: Stage,
  { script, stdin }: { readonly script: string; readonly stdin?: Text },
  reading: StageReading,
): Done {
  noteReport(stage, script, reading);
  const folder = folderOf(stage, '');
  return {
    work: {
      kind: 'command',
      script,
      ...(folder !== '.' && folder !== '' && { folder }),
      ...(stdin !== undefined && { stdin }),
    },
    timeoutMs: stage.attributes.durationMs('timeout') ?? commandMs,
    isIdempotent: stage.attributes.flag('idempotent'),
    ends: plainEnds(stage, reading),
  };
}

/** A command may report by a file; only its exit code carries over. */
function noteReport(stage: Stage, script: string, { notes, placeOf, ways }: StageReading): void {
  const isGate = stage.attributes.flag('goal_gate') && stage.type === 'codergen';
  const reportsStatus = stage.type === 'codergen' && (isGate || ways.edgesOf(stage.id).length > 1);
  if (
    !reportsStatus &&
    stage.attributes.text('status_file') === '' &&
    !/CAIRN_(?:STATUS_FILE|PROMPT_FILE)/.test(script)
  )
    return;
  notes.lost(
    'REPORT',
    placeOf(stage.at),
    `what the command of ${stage.id} reports beside its exit code is not read`,
    'end it with an exit code, or print what follows from it and read its stdout',
  );
}

// What a parallel stage does: its branches, and where the run goes on when they have ended.

function parallelWork(stage: Stage, { entries, join, stages }: Branches, reading: StageReading): Done {
  const { ways, pipeline, notes, placeOf } = reading;
  const lost = (attribute: string, message: string, fix: string): void =>
    notes.lost('PARALLEL', placeOf(stage.attributes.placeOf(attribute)), message, fix);
  const policy = stage.attributes.text('join_policy');
  const errors = stage.attributes.text('error_policy');
  if (!['', 'wait_all', 'all'].includes(policy))
    lost('join_policy', `${stage.id} waits for all its branches: none is cancelled`, 'nothing, if they may all end');
  if (errors === 'fail_fast')
    lost(
      'error_policy',
      `${stage.id} goes on when a branch fails`,
      'let what follows ask for the blocks that must succeed',
    );
  const shared =
    entries.length > 1 &&
    [...stages].some((id) => entries.filter((entry) => reaches(entry, id, reading, join)).length > 1);
  if (shared)
    lost(
      'shape',
      `stages of ${stage.id} that several branches lead to run once, not once for each`,
      'give each branch its own',
    );
  const end = pipeline.stages.get(join);
  const isFanIn = end?.type === 'parallel.fan_in';
  if (isFanIn && end.attributes.text('prompt') !== '')
    notes.lost(
      'WORK',
      placeOf(end.at),
      `${end.id} asks no model which branch is the best`,
      'ask in a block of its own',
    );
  const gates = [...stages].filter((id) => pipeline.stages.get(id)?.attributes.flag('goal_gate'));
  if (gates.length > 0)
    notes.lost(
      'GATE',
      placeOf(stage.at),
      `the run may end although a gate in a branch failed: ${gates.join(', ')}`,
      'ask for blocks.ID.succeeded',
    );
  const first = entries.filter((entry) => entry !== join).map((entry) => ways.firstOf(entry, join));
  const [success, fail] = (['success', 'fail'] as const).map((outcome) => {
    if (isFanIn) return ways.leave(end, { outcome });
    if (outcome === 'success' || end?.type === 'conditional') return ways.arriveFrom(stage, join, { outcome });
    return ways.leave({ ...stage, id: `${stage.id}/none` }, { outcome });
  });
  return {
    work: {
      kind: 'parallel',
      branches: first,
      needed: Math.min(first.length, neededBranches(policy, entries.length) ?? 1),
    },
    ends: [
      { on: 'success', to: success ?? finish },
      { on: 'fail', to: fail ?? failure },
    ],
    timeoutMs: undefined,
    isIdempotent: false,
  };
}

/** Whether a branch comes to a stage. */
function reaches(entry: string, id: string, { layout }: StageReading, join: string): boolean {
  return reach([entry], alongEdges(layout.outgoing, join)).has(id);
}

/** The step of a stage that works; diamonds, the start and the exit are none. */
export function workOfStage(stage: Stage, reading: StageReading): Done {
  const branches = reading.layout.branches.get(stage.id);
  if (branches !== undefined) return parallelWork(stage, branches, reading);
  return readerOf(stage)?.(stage, reading) ?? workByHand(stage, reading);
}

function readerOf({
  type,
  attributes,
}: Stage): ((stage: Stage, reading: StageReading) => Done | undefined) | undefined {
  if (type === 'tool') return toolWork;
  if (type === 'wait.human') return humanWork;
  if (type === childType) return childWork;
  if (type !== 'codergen') return undefined;
  if (attributes.text('agent_command') !== '') return backendWork;
  return attributes.text('tools') === '' ? modelWork : agentWork;
}

function workByHand(stage: Stage, { notes, placeOf, ways }: StageReading): Done {
  notes.lost(
    'WORK',
    placeOf(stage.at),
    `${stage.id} is of type ${stage.type}, which only a pipeline has; a person does it by hand`,
    stage.type === childType
      ? 'give its pipeline a name that no other has, and no stack.child_workdir'
      : 'write blocks that do its work',
  );
  const question = stage.attributes.text('prompt') || stage.attributes.text('label') || stage.id;
  const success = ways.leave(stage, { outcome: 'success' });
  const fail = ways.leave(stage, { outcome: 'fail' });
  return { ...byHand(question, success, fail), timeoutMs: undefined, isIdempotent: false };
}

/** Attempts, if there are more than one. A question is asked once, a child runs once, and an agent goes on with what it did. */
export function retryOfStage(stage: Stage, pipeline: Pipeline): Step['retry'] {
  const isOnce = stage.type === 'wait.human' || [childType, 'codergen.agent'].includes(kindOf(stage));
  const retry = retryOf(stage, pipeline);
  return isOnce || retry.attempts === 1 ? undefined : retry;
}
