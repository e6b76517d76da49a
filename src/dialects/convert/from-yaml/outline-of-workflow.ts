/** Reads a workflow file as an outline. */
import { CairnError } from '../../../errors.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import type { TextWorkflow, WorkflowInput } from '../../text-workflow.ts';
import { translateDocument } from '../../yaml/braces/translate-document.ts';
import { parseCondition } from '../../yaml/expression/parse-condition.ts';
import type { BlockView, Names, Scope, Template } from '../../yaml/expression/template.ts';
import { callTypes } from '../../yaml/file/call-type.ts';
import { Faults } from '../../yaml/file/faults.ts';
import { readDocument, type YamlDocument } from '../../yaml/file/read-document.ts';
import { readFile } from '../../yaml/file/read-file.ts';
import type { BlockFile, WorkflowFile } from '../../yaml/file/workflow-file.ts';
import { layWays, type Ended, type LaidStep } from '../outline/lay-ways.ts';
import type { Notes } from '../outline/notes.ts';
import type { Outline, OutlineInput } from '../outline/outline.ts';
import { reachableSteps } from '../outline/stand-in.ts';
import { workOfBlock, type BlockWork } from './block-work.ts';

/** @param text - of a workflow file that has no errors. @param workflow - what was compiled from it */
export function outlineOfWorkflow(
  text: string,
  {
    source,
    nodeTypes,
    workflow,
    notes,
  }: {
    readonly source: string;
    readonly nodeTypes: readonly NodeType[];
    readonly workflow: TextWorkflow;
    readonly notes: Notes;
  },
): Outline {
  const { document } = readDocument(text, source);
  if (document === undefined) throw new CairnError('GRAPH_PARSE', { file: source });
  const types = new Map([...callTypes, ...nodeTypes].map((type) => [type.name, type]));
  const translated = translateDocument(document, types).document;
  const file = readFile(new Faults(translated), translated);
  const placeOf = (block: BlockFile): string => document.placeOf(block.at);
  const blocks = inOrder(file.blocks);
  const names = namesOf(workflow.inputs, file);
  const answers = new Set(file.blocks.filter(({ type }) => answering.has(type)).map(({ id }) => id));
  const known = { inputs: names.inputs, answers };
  const works = new Map(
    blocks.map((block) => [block.id, workOfBlock(block, { names, known, notes, place: placeOf(block) })] as const),
  );
  const after = ancestors(blocks);
  const laid = blocks.map((block) => laidStep(block, { works, names, after }));
  const ways = layWays(laid, notes);
  if (ways === undefined) throw tooManyWays(source);
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

const answering: ReadonlySet<string> = new Set(['LLMCall', 'GetInput']);

function namesOf(inputs: readonly WorkflowInput[], { blocks, secrets }: WorkflowFile): Names {
  return {
    inputs: inputs.map(({ name }) => name),
    blocks: blocks.map(({ id }) => id),
    fieldsOf: () => undefined,
    secrets,
    hasEach: false,
  };
}

function tooManyWays(source: string): CairnError {
  const message = 'it has too many ways to be written one by one';
  const fix = 'split it into workflows that are converted one by one';
  return new CairnError('GRAPH_INVALID', {
    graphId: source,
    violations: [{ rule: 'CV3', severity: 'error', place: source, message, fix }],
  });
}

/** Each block behind those that it depends on, else in the order of the file. */
function inOrder(blocks: readonly BlockFile[]): readonly BlockFile[] {
  const byId = new Map(blocks.map((block) => [block.id, block]));
  const placed = new Set<string>();
  const order: BlockFile[] = [];
  const open = blocks.toReversed();
  for (let block = open.pop(); block !== undefined; block = open.pop()) {
    if (placed.has(block.id)) continue;
    const missing = block.dependsOn
      .map((dependency) => byId.get(dependency.block))
      .filter((one) => one !== undefined && !placed.has(one.id));
    if (missing.length > 0) open.push(block, ...(missing as readonly BlockFile[]).toReversed());
    else {
      placed.add(block.id);
      order.push(block);
    }
  }
  return order;
}

/** All blocks that end before a block starts. */
function ancestors(blocks: readonly BlockFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  for (const { id, dependsOn } of blocks)
    found.set(id, new Set(dependsOn.flatMap(({ block }) => [block, ...(found.get(block) ?? [])])));
  return found;
}

interface Laying {
  readonly works: ReadonlyMap<string, BlockWork>;
  readonly names: Names;
  readonly after: ReadonlyMap<string, ReadonlySet<string>>;
}

function laidStep(block: BlockFile, { works, names, after }: Laying): LaidStep {
  const { step, ends } = works.get(block.id) as BlockWork;
  const condition = block.condition === undefined ? undefined : parseCondition(block.condition, names).template;
  const required = block.dependsOn.filter(({ isRequired }) => isRequired).map((dependency) => dependency.block);
  const viewsOf = (id: string, end: Ended): readonly BlockView[] =>
    end === undefined ? [skipped] : (works.get(id)?.ends.find(({ on }) => on === end)?.views ?? [failedView]);
  const isKnown = condition !== undefined && readsWhatIsKnown(block.condition as string, condition, works);
  const isAsked = condition !== undefined && !isKnown;
  return {
    step,
    ends,
    reads: [...new Set([...required, ...(isKnown ? condition.named.blocks : [])])],
    after: after.get(block.id) ?? new Set(),
    condition: block.condition ?? `that ${required.join(', ')} completed`,
    isPassedOver: block.continuesOnError,
    starts: (ended) =>
      decide({ required, condition: isKnown ? condition : undefined, isAsked }, (id) => viewsOf(id, ended(id))),
  };
}

const failedView: BlockView = { status: 'failed', output: undefined, error: new Error('it failed') };
const skipped: BlockView = { status: 'skipped', output: undefined, error: undefined };

const ofEveryBlock: readonly string[] = ['succeeded', 'failed', 'skipped', 'status'];

/** Whether a condition reads nothing but fields that follow from how a block ended. */
function readsWhatIsKnown(text: string, { named }: Template, works: Laying['works']): boolean {
  if (named.inputs.length > 0 || named.secrets.length > 0 || named.usesEach || /\bmetadata\b/.test(text)) return false;
  return named.blocks.every((id) => {
    const fields = [...(works.get(id)?.fields ?? []), ...ofEveryBlock];
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
  /** What is asked then. */
  readonly condition: Template<boolean> | undefined;
  /** Whether there is a condition that only a run can tell. */
  readonly isAsked: boolean;
}

/** Whether a block starts, in every state that the ends of blocks can mean. */
function decide(
  { required, condition, isAsked }: Deciding,
  viewsOf: (id: string) => readonly BlockView[],
): Decision | 'ask' {
  const ids = [...new Set([...required, ...(condition?.named.blocks ?? [])])];
  const all = ids.map((id) => viewsOf(id));
  if (all.reduce((count, views) => count * views.length, 1) > statesMax) return 'ask';
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
  const go = (place: number, chosen: ReadonlyMap<string, BlockView>): void => {
    const id = ids[place];
    if (id === undefined) found.add(evaluate(chosen));
    else for (const view of all[place] ?? []) if (found.size < 2) go(place + 1, new Map(chosen).set(id, view));
  };
  go(0, new Map());
  const [only, ...others] = found;
  if (only === undefined || others.length > 0 || (only === 'yes' && isAsked)) return 'ask';
  return only;
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
