/** Reads a workflow file as an outline. */
import { parseCondition } from '../../yaml/expression/parse-condition.ts';
import type { BlockView, Names, Scope, Template } from '../../yaml/expression/template.ts';
import { type BlockFile, callTypes, isCall, readFile, type WorkflowFile } from '../../yaml/file/workflow-file.ts';
import { type Ended, type LaidStep, layWays } from '../outline/lay-ways.ts';
import { failed, skipped, type BlockWork, type BlockReading } from './block-reading.ts';
import { CairnError } from '../../../errors.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { dialectOf, type TextWorkflow, type WorkflowInput } from '../../text-workflow.ts';
import { parseSavedText } from '../../dot/saved-text.ts';
import { parseBundle } from '../../yaml/compile/workflow-linker.ts';
import { translateDocument } from '../../yaml/braces/translate-document.ts';
import { orderBlocks } from '../../yaml/compile/workflow-names.ts';
import { Faults } from '../../yaml/file/faults.ts';
import { readDocument, type YamlDocument } from '../../yaml/file/read-document.ts';
import { readCalled, type Outline, type OutlineInput, reachableSteps } from '../outline/outline.ts';
import type { Notes } from '../outline/notes.ts';
import { workOfBlock } from './block-work.ts';

// Whether a block starts, as far as this follows from how the blocks before it ended.

export interface Starting {
  /** The steps of all blocks, by id. */
  readonly works: ReadonlyMap<string, BlockWork>;
  readonly names: Names;
}

/** What a block reads of those before it, and what follows from their ends. */
function startOf(
  block: BlockFile,
  { works, names }: Starting,
): Pick<LaidStep, 'reads' | 'condition' | 'isPassedOver' | 'starts'> {
  const condition = block.condition === undefined ? undefined : parseCondition(block.condition, names).template;
  const required = block.dependsOn.filter(({ isRequired }) => isRequired).map((dependency) => dependency.block);
  const viewsOf = (id: string, end: Ended): readonly BlockView[] =>
    end === undefined ? [skipped] : (works.get(id)?.ends.find(({ on }) => on === end)?.views ?? [failed]);
  const isKnown = condition !== undefined && readsWhatIsKnown(block.condition as string, condition, works);
  const known = isKnown ? condition : undefined;
  const isOpen = condition !== undefined && !isKnown;
  return {
    reads: [...new Set([...required, ...(known?.named.blocks ?? [])])],
    condition: block.condition ?? `that ${required.join(', ')} completed`,
    isPassedOver: block.continuesOnError,
    starts: (ended) => decide({ required, condition: known, isOpen }, (id) => viewsOf(id, ended(id))),
  };
}

const fieldsOfAll: readonly string[] = ['succeeded', 'failed', 'skipped', 'status'];

/** Whether a condition reads nothing but fields that follow from how a block ended. */
function readsWhatIsKnown(text: string, { named }: Template, works: Starting['works']): boolean {
  if (named.inputs.length > 0 || named.secrets.length > 0 || named.usesEach || /\bmetadata\b/.test(text)) return false;
  return named.blocks.every((id) => {
    const fields = [...(works.get(id)?.fields ?? []), ...fieldsOfAll];
    const mentions = [...text.matchAll(new RegExp(`\\b${id}\\b((?:\\s*\\.\\s*[A-Za-z_]\\w*)*)(\\s*[[(])?`, 'g'))];
    return mentions.every(([, path = '', bracket]) => {
      const field = path
        .replaceAll(/[\s]/g, '')
        .replace(/^\./, '')
        .replace(/^outputs\./, '');
      return bracket === undefined && fields.includes(field);
    });
  });
}

/** The most states that are tried. */
const statesMax = 100_000;

type Decision = 'yes' | 'no' | 'fail';

interface Deciding {
  /** Blocks that must have completed. */
  readonly required: readonly string[];
  /** The question then. */
  readonly condition: Template<boolean> | undefined;
  /** Whether there is a condition that only a run can tell. */
  readonly isOpen: boolean;
}

/** Whether a block starts, tried in every state that the ends of blocks can mean. */
function decide(
  { required, condition, isOpen }: Deciding,
  viewsOf: (id: string) => readonly BlockView[],
): Decision | 'ask' {
  const ids = [...new Set([...required, ...(condition?.named.blocks ?? [])])];
  const all = ids.map((id) => viewsOf(id));
  const states = all.reduce((count, views) => count * views.length, 1);
  if (states > statesMax) return 'ask';
  const found = new Set<Decision>();
  const evaluate = (chosen: ReadonlyMap<string, BlockView>): Decision => {
    if (required.some((id) => chosen.get(id)?.status !== 'completed')) return 'no';
    const scope: Scope = { inputs: {}, metadata: {}, each: undefined, block: (id) => chosen.get(id) ?? skipped };
    try {
      return condition?.evaluate(scope) === false ? 'no' : 'yes';
    } catch {
      return 'fail';
    }
  };
  // A block may name thousands of others, so the states are counted through and not walked by calls within calls.
  for (let state = 0; state < states && found.size < 2; state += 1) {
    const chosen = new Map<string, BlockView>();
    let rest = state;
    for (const [place, id] of ids.entries()) {
      const views = all[place] ?? [];
      chosen.set(id, views[rest % views.length] as BlockView);
      rest = Math.floor(rest / views.length);
    }
    found.add(evaluate(chosen));
  }
  const [only, ...others] = found;
  if (only === undefined || others.length > 0 || (only === 'yes' && isOpen)) return 'ask';
  return only;
}

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
    const saved = isCall(types.get(type)) ? others.get(String(workflow))?.text : undefined;
    if (saved === undefined || dialectOf(saved) !== 'dot') return undefined;
    const { source, text } = parseSavedText(saved);
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
  for (const [name, isSet] of [
    ['limits', concurrency !== undefined || depth !== undefined],
    ['checkpoint', Object.keys(checkpoint).length > 0],
  ] as const)
    if (isSet)
      notes.lost('SETTING', document.placeOf([name]), `${name} has no counterpart`, 'set it in the configuration');
}
