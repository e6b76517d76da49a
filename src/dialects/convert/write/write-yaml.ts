/** Writes an outline as a YAML workflow: a block for each step, which depends on those that lead to it. */
import { reservedIds } from '../../yaml/file/format.ts';
import { printDocument } from '../../yaml/file/write-document.ts';
import type { Notes } from '../outline/notes.ts';
import { finish, isVerdict, type End, type Outline, type OutlineInput, type Step } from '../outline/outline.ts';
import { stepsInBranches } from '../outline/reachable-steps.ts';
import { withoutLoops } from './break-loops.ts';
import { withFittingIds } from './rename-steps.ts';
import { withStops } from './stops.ts';
import { BlockWriter, budgetFields, type Fields } from './yaml-block.ts';
import { Starts } from './yaml-start.ts';

export function writeYaml(given: Outline, notes: Notes): string {
  // The first pass cuts ways back, which may need stops; the second puts these into the order of the blocks.
  const stopped = withoutLoops(withStops(withoutLoops(given, notes), failsRun), notes);
  const { name, description, inputs, steps, budget, first } = withFittingIds(stopped, fittingId, notes);
  const starts = new Starts(steps);
  const inBranches = stepsInBranches(steps);
  const writer = new BlockWriter(inputs, steps);
  const blocks =
    first === finish
      ? [{ id: 'nothing', type: 'EchoBlock', inputs: { message: 'nothing to do' } }]
      : steps
          .filter(({ work }) => work.kind !== 'parallel')
          .map((step) => writer.fieldsOf(step, starts.of(step.id), inBranches.has(step.id)));
  return printDocument({
    name: fittingName(name, notes),
    ...(description !== undefined && { description }),
    ...(inputs.length > 0 && { inputs: Object.fromEntries(inputs.map(inputField)) }),
    ...budgetFields(budget),
    blocks,
  });
}

/** A block fails the run if its command or its call fails. A verdict is an answer, with which the block completes. */
function failsRun({ work }: Step, { on }: End): boolean {
  return on === 'fail' && work.kind !== 'parallel' && !isVerdict(work);
}

function fittingId(id: string): string {
  const plain = id.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d|__)/, 'n');
  return (reservedIds.includes(plain) ? `${plain}_step` : plain || 'step').slice(0, 90);
}

function fittingName(name: string, notes: Notes): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, '-').replace(/^[^A-Za-z_]*/, '');
  const fitting = plain.slice(0, 90) || 'workflow';
  if (fitting !== name)
    notes.changed(
      'NAME',
      'the name',
      `the workflow ${name} is called ${fitting}`,
      'nothing, or give both the same name',
    );
  return fitting;
}

function inputField({ name, default: initial }: OutlineInput): readonly [string, Fields] {
  return [name, { type: 'str', ...(initial !== undefined && { default: initial }) }];
}
