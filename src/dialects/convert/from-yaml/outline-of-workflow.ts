/** Reads a workflow file as an outline. */
import { CairnError } from '../../../errors.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { dialectOf, type TextWorkflow, type WorkflowInput } from '../../text-workflow.ts';
import { parseKept } from '../../dot/kept-text.ts';
import { parseBundle } from '../../yaml/compile/bundle-text.ts';
import { translateDocument } from '../../yaml/braces/translate-document.ts';
import { orderBlocks } from '../../yaml/compile/block-order.ts';
import type { Names } from '../../yaml/expression/template.ts';
import { callTypes, isCall } from '../../yaml/file/call-type.ts';
import { Faults } from '../../yaml/file/faults.ts';
import { readDocument, type YamlDocument } from '../../yaml/file/read-document.ts';
import { readFile } from '../../yaml/file/read-file.ts';
import type { BlockFile, WorkflowFile } from '../../yaml/file/workflow-file.ts';
import { readCalled } from '../outline/called-pipeline.ts';
import { layWays } from '../outline/lay-ways.ts';
import type { Notes } from '../outline/notes.ts';
import type { Outline, OutlineInput } from '../outline/outline.ts';
import { reachableSteps } from '../outline/reachable-steps.ts';
import type { BlockReading, BlockWork } from './block-reading.ts';
import { startOf } from './block-starts.ts';
import { workOfBlock } from './block-work.ts';

export interface WorkflowReading {
  readonly source: string;
  readonly nodeTypes: readonly NodeType[];
  /** What was compiled from the text. */
  readonly workflow: TextWorkflow;
  readonly notes: Notes;
}

/** @param text - of a workflow file that has no errors */
export function outlineOfWorkflow(text: string, { source, nodeTypes, workflow, notes }: WorkflowReading): Outline {
  const { document } = readDocument(text, source);
  if (document === undefined) throw new CairnError('GRAPH_PARSE', { file: source });
  const types = new Map([...callTypes, ...nodeTypes].map((type) => [type.name, type]));
  const faults = new Faults(document);
  const translated = translateDocument(document, types, faults).document;
  const file = readFile(faults.of(translated), translated);
  const { isBefore } = orderBlocks(faults, file.blocks);
  const blocks = inOrder(file.blocks);
  const names = namesOf(workflow.inputs, file);
  const pipelineOf = pipelinesIn(workflow, types);
  const works = worksOf(blocks, names, { document, notes, source, pipelineOf });
  const laid = blocks.map((block) => ({
    ...(works.get(block.id) as BlockWork),
    ...startOf(block, { works, names }),
    isAfter: (other: string) => isBefore(other, block.id),
  }));
  const ways = layWays(laid, source, notes);
  noteFile(file, document, notes);
  return {
    name: file.name,
    description: file.description,
    inputs: workflow.inputs.map((input) => inputOf(input, document, notes)),
    budget: file.budget,
    first: ways.first,
    steps: reachableSteps(ways),
  };
}

function namesOf(inputs: readonly WorkflowInput[], { blocks, secrets }: WorkflowFile): Names {
  return {
    inputs: inputs.map(({ name }) => name),
    blocks: blocks.map(({ id }) => id),
    fieldsOf: () => undefined,
    secrets,
    hasEach: false,
  };
}

/** The pipelines that were found when the file was read. */
function pipelinesIn({ graph }: TextWorkflow, types: ReadonlyMap<string, NodeType>): BlockReading['pipelineOf'] {
  const { others } = parseBundle(graph.text ?? '');
  return ({ type, inputs: { workflow } }) => {
    const kept = isCall(types.get(type)) ? others.get(String(workflow))?.text : undefined;
    if (kept === undefined || dialectOf(kept) !== 'dot') return undefined;
    const { source, text } = parseKept(kept);
    return { ...readCalled(text), source };
  };
}

const answering: ReadonlySet<string> = new Set(['LLMCall', 'Agent', 'GetInput']);

function worksOf(
  blocks: readonly BlockFile[],
  names: Names,
  { document, ...reading }: Pick<BlockReading, 'notes' | 'source' | 'pipelineOf'> & { readonly document: YamlDocument },
): ReadonlyMap<string, BlockWork> {
  const answers = new Set(blocks.filter(({ type }) => answering.has(type)).map(({ id }) => id));
  const known = { inputs: names.inputs, answers };
  return new Map(
    blocks.map((block) => {
      const place = document.placeOf(block.at);
      return [block.id, workOfBlock(block, { ...reading, names, known, place })];
    }),
  );
}

/** Each block behind those that it depends on, else in the order of the file. */
function inOrder(blocks: readonly BlockFile[]): readonly BlockFile[] {
  const byId = new Map(blocks.map((block) => [block.id, block]));
  const placed = new Set<BlockFile>();
  const open = blocks.toReversed();
  for (let block = open.pop(); block !== undefined; block = open.pop()) {
    const before = block.dependsOn
      .map((dependency) => byId.get(dependency.block))
      .filter((one): one is BlockFile => one !== undefined && !placed.has(one));
    if (before.length > 0) open.push(block, ...before.toReversed());
    else placed.add(block);
  }
  return [...placed];
}

function inputOf(input: WorkflowInput, document: YamlDocument, notes: Notes): OutlineInput {
  const { name, type, isRequired, schema } = input;
  const place = document.placeOf(['inputs', name]);
  if (type !== 'str' && type !== 'any')
    notes.lost(
      'INPUT',
      place,
      `the input ${name} is a text, which is not held against its type ${type}`,
      'check it in a command',
    );
  const rules = Object.keys(schema).filter((key) => key !== 'type');
  if (rules.length > 0)
    notes.lost('INPUT', place, `the input ${name} is not held against ${rules.join(', ')}`, 'check it in a command');
  const initial = input.default;
  if (isRequired) return { name, default: undefined };
  if (initial === undefined || initial === null) return { name, default: '' };
  return { name, default: typeof initial === 'string' ? initial : JSON.stringify(initial) };
}

function noteFile(
  { outputs, secrets, concurrency, depth, checkpoint }: WorkflowFile,
  document: YamlDocument,
  notes: Notes,
): void {
  for (const { name, at } of outputs)
    notes.lost(
      'OUTPUT',
      document.placeOf(at),
      `the output ${name} is not given: a pipeline gives how it ended`,
      'read it from the blocks of the run',
    );
  for (const name of secrets)
    notes.lost(
      'VALUE',
      document.placeOf(['secrets']),
      `the secret ${name} is not known`,
      'let commands read it from where it is kept',
    );
  for (const [name, isGiven] of [
    ['limits', concurrency !== undefined || depth !== undefined],
    ['checkpoint', Object.keys(checkpoint).length > 0],
  ] as const)
    if (isGiven)
      notes.lost('SETTING', document.placeOf([name]), `${name} has no counterpart`, 'set it in the configuration');
}
