/** Stages that run another pipeline. */
import { dirname, isAbsolute, join, normalize } from 'node:path';
import type { Stage } from '../../dot/model/pipeline.ts';
import { readCalled, type CalledPipeline } from '../outline/called-pipeline.ts';
import type { Done, StageReading } from './stage-reading.ts';

const settings = [
  'stack.child_autostart',
  'manager.stop_condition',
  'manager.actions',
  'manager.max_cycles',
  'manager.poll_interval',
];

/** A child that a block can name. Undefined: a block would not run this file, or not in its folder. */
export function childWork(stage: Stage, reading: StageReading): Done | undefined {
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
