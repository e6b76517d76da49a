/** How a workflow is shown before it runs. */
import type { WorkflowDescription } from '../../operations/contract/workflows.ts';
import { formatViolation } from '../report-failure.ts';
import type { Screen } from '../screen.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatInline } from './value.ts';
import { pad, widthOf, wrap } from './width.ts';

type Block = WorkflowDescription['blocks'][number];
type Tool = NonNullable<Block['tools']>[number];
type Input = WorkflowDescription['inputs'][number];
type Face = Pick<Screen, 'width' | 'paint'>;

function describeInput({ isRequired, default: value, description, schema }: Input): string {
  const options = (schema as { readonly enum?: readonly unknown[] }).enum;
  const parts = [
    isRequired ? 'required' : `default ${formatInline(value ?? null)}`,
    options === undefined ? '' : `one of ${options.map((option) => formatInline(option)).join(', ')}`,
    description === undefined ? '' : printable(description),
  ];
  return parts.filter((part) => part !== '').join('; ');
}

/** How often a block is tried, and after which failures. Undefined means once. */
function describeAttempts({ attempts, effect, isIdempotent }: Block): string | undefined {
  if (attempts === 1) return undefined;
  const isUnsafe = (effect === 'write' || effect === 'external') && !isIdempotent;
  const when = ', where it ends with an exit code or certainly did nothing; of any other failure a resume asks';
  return `up to ${attempts} attempts${isUnsafe ? when : ''}`;
}

/** What a block does: its effect class, and what happens inside where that is more. */
function effectWords({ asks, effect, isDeclared, inside }: Block): string {
  const own = asks ? 'asks a person' : `${effect}${isDeclared === false ? ' (not declared)' : ''}`;
  if (inside === undefined) return own;
  const consent =
    inside.asks === true ? ', asks a person first' : inside.isAllowed === true ? ', allowed inside' : ' inside';
  const within = `${inside.effect}${consent}`;
  return !asks && inside.effect === effect ? within : `${own}; ${within}`;
}

function toolWords({ effect, asks, isAllowedInside }: Tool): string {
  if (effect === 'human') return 'asks a person';
  return `${effect}${asks ? ', asks a person first' : isAllowedInside === true ? ', allowed inside' : ''}`;
}

/** What there is to say of a block beside its type, a sentence each. */
function describeBlock(block: Block): readonly string[] {
  const { description, dependsOn, condition, forEach, workflow, tools = [] } = block;
  const attempts = describeAttempts(block);
  const names = dependsOn.map(({ block, isRequired }) => (isRequired ? block : `${block} (however it ends)`));
  return [
    ...(description === undefined ? [] : [printable(description)]),
    ...(names.length === 0 ? [] : [`after ${printable(names.join(', '))}`]),
    ...(condition === undefined ? [] : [`if ${printable(condition)}`]),
    ...(forEach === undefined ? [] : [`for each of ${printable(forEach)}`]),
    ...(attempts === undefined ? [] : [attempts]),
    ...(workflow === undefined ? [] : [`runs workflow ${printable(workflow)}`]),
    ...tools.map((tool) => `tool ${printable(tool.name)}, ${toolWords(tool)}`),
  ];
}

/** Lines with a name in a column and texts beside it, wrapped to the screen. */
function formatNamed(name: string, nameWidth: number, texts: readonly string[], { width }: Face): readonly string[] {
  const indent = 2 + nameWidth + 2;
  const lines = texts.flatMap((text) => wrap(text, Math.max(20, Math.min(width, 120) - indent)));
  return (lines.length === 0 ? [''] : lines).map((line, index) =>
    `  ${index === 0 ? pad(name, nameWidth) : ' '.repeat(nameWidth)}  ${line}`.trimEnd(),
  );
}

function widest(names: readonly string[], width: number): number {
  return Math.min(Math.max(0, ...names.map((name) => widthOf(name))), Math.max(8, Math.floor(width / 3)));
}

function formatSection(
  title: string,
  pairs: readonly (readonly [string, readonly string[]])[],
  face: Face,
): readonly string[] {
  if (pairs.length === 0) return [];
  const nameWidth = widest(
    pairs.map(([name]) => name),
    face.width,
  );
  return [
    '',
    face.paint('strong', title),
    ...pairs.flatMap(([name, texts]) => formatNamed(name, nameWidth, texts, face)),
  ];
}

function formatWaves({ blocks, waves }: WorkflowDescription, face: Face): readonly string[] {
  const byId = new Map(blocks.map((block) => [block.id, block]));
  const nameWidth = widest(
    blocks.map(({ id }) => printable(id)),
    face.width,
  );
  // What follows a cancel is in no wave.
  const inWaves = new Set(waves.flat());
  const outside = blocks.map(({ id }) => id).filter((id) => !inWaves.has(id));
  const parts = waves.map((ids, index) => [`Wave ${index + 1}`, ids] as const);
  return [...parts, ...(outside.length === 0 ? [] : [['After a cancel', outside] as const])].flatMap(([title, ids]) => [
    '',
    face.paint('strong', title),
    ...ids.flatMap((id) => {
      const block = byId.get(id);
      if (block === undefined) return [];
      const kind = `${printable(block.type)}, ${effectWords(block)}`;
      return formatNamed(printable(id), nameWidth, [kind, ...describeBlock(block)], face);
    }),
  ]);
}

/** The plan of a workflow, in lines. */
export function formatPlan(workflow: WorkflowDescription, face: Face): readonly string[] {
  const { name, version, source, description, inputs, outputs, secrets, warnings } = workflow;
  const { paint, width } = face;
  return [
    `${paint('strong', printable(name))}${version === '' ? '' : ` ${printable(version)}`}${source === undefined ? '' : paint('dim', `  ${printable(source)}`)}`,
    ...(description === undefined ? [] : wrap(printable(description), Math.min(width, 120))),
    ...formatSection(
      'Inputs',
      inputs.map((input) => [`${printable(input.name)} ${input.type}`, [describeInput(input)]] as const),
      face,
    ),
    ...formatWaves(workflow, face),
    ...formatSection(
      'Outputs',
      outputs.map((output) => [printable(output.name), [printable(output.value)]] as const),
      face,
    ),
    ...formatSection('Secrets', secrets.length === 0 ? [] : [[printable(secrets.join(', ')), []]], face),
    ...(warnings.length === 0 ? [] : ['', paint('strong', 'Warnings')]),
    ...warnings.flatMap((warning) => formatViolation(warning, face)),
  ];
}
