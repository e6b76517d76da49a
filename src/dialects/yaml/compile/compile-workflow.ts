/** Compiles the text of one workflow to a checked workflow with its graph. */
import { reservedIds } from '../file/format.ts';
import { isMapping } from '../file/shape.ts';
import { Faults } from '../file/faults.ts';
import { type WorkflowFile, isCall, readFile, type BlockFile } from '../file/workflow-file.ts';
import type { Redact } from '../../../state/values/admit.ts';
import { CairnError } from '../../../errors.ts';
import { compileGraph } from '../../../graph/compile/compile-graph.ts';
import {
  END,
  START,
  type EdgeDefinition,
  type Graph,
  type GraphPolicies,
  type NodeDefinition,
  type Violation,
} from '../../../graph/graph.ts';
import { nearest } from '../../../graph/nearest.ts';
import { webhookNeeds } from '../../../graph/webhooks.ts';
import type { CallableWorkflow, NodeType } from '../../../graph/contracts/node-type.ts';
import { translateDocument } from '../braces/translate-document.ts';
import { orderBlocks, type BlockOrder, namesOf } from './workflow-names.ts';
import {
  callableOf,
  type LinkedWorkflow,
  type WorkflowParts,
  defineOutputs,
  outputsId,
} from '../block-nodes/callable-workflow.ts';
import { compileBlock, type CompiledBlock, describeWorkflow } from './describe-workflow.ts';
import { blockShape } from '../block-nodes/for-each.ts';
import { folderDefaults, inputSchema } from '../file/input-schema.ts';
import { recordedCondition, withRecordedBlocks, type RecordedBlocks } from '../expression/recorded-blocks.ts';
import type { Names } from '../expression/template.ts';
import { withTime } from '../block-nodes/block-node.ts';
import type { Withheld } from '../block-nodes/input-templates.ts';
import { readDocument, type YamlDocument } from '../file/read-document.ts';
import { noScope, TemplateReader } from '../block-nodes/template-reader.ts';
import { layApprovals } from '../../approval.ts';
import { withDerived } from '../../derived-names.ts';
import { asText } from '../expression/parse-text.ts';
import type { RunTitle } from '../../../graph/run-title.ts';
import type { CheckpointSettings, WorkflowInput, TextWorkflow } from '../../text-workflow.ts';

// Finds the inputs of a workflow that declares none: the unknown names that its texts read.

const words: readonly string[] = [...reservedIds, 'true', 'false', 'null'];

/** Matches `${name}`, `${name.field}` and `${name[`, but not `$${` and not a shell's `${name:-x}`. */
const reference = /(?<!\$)\$\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*[.[}]/g;
const namespaced = /(?<!\$)\$\{\s*inputs\.([A-Za-z_][A-Za-z0-9_]*)/g;

/**
 * Names that the texts of a workflow without an `inputs` section read, and that nothing in it has, in the order of the file.
 * @param isCommand - whether an input of a block is a command, in which `${NAME}` may be the shell's
 */
function implicitInputs(
  file: WorkflowFile,
  isCommand: (blockType: string, input: string) => boolean,
): readonly string[] {
  const blocks = new Set(file.blocks.map(({ id }) => id));
  const found = new Set<string>();
  const add = (text: string, isShell: boolean): void => {
    for (const [, name = ''] of text.matchAll(namespaced)) found.add(name);
    for (const [, name = ''] of text.matchAll(reference)) {
      if (words.includes(name) || blocks.has(name)) continue;
      if (isShell && (name === name.toUpperCase() || isAssigned(text, name))) continue;
      found.add(name);
    }
  };
  for (const block of file.blocks) {
    for (const [input, value] of Object.entries(block.inputs))
      eachText(value, (text) => add(text, isCommand(block.type, input)));
    if (block.condition !== undefined) add(block.condition, false);
    if (block.forEach !== undefined) eachText(block.forEach.over, (text) => add(text, false));
    for (const { path } of block.fileOutputs) add(path, false);
  }
  for (const { value } of file.outputs) eachText(value, (text) => add(text, false));
  if (file.title !== undefined) add(file.title, false);
  return [...found];
}

function eachText(value: unknown, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value);
  else if (Array.isArray(value)) for (const item of value) eachText(item, visit);
  else if (isMapping(value)) for (const item of Object.values(value)) eachText(item, visit);
}

/** Whether a command sets a variable with this name. */
function isAssigned(command: string, name: string): boolean {
  return new RegExp(
    `(?:^|[\\s;&|(])(?:${name}=|for\\s+${name}\\s|(?:read|local|export|declare|typeset|readonly)\\s[^;\\n]*\\b${name}\\b)`,
  ).test(command);
}

/** What a workflow is compiled with. */
export interface Surroundings {
  readonly types: ReadonlyMap<string, NodeType>;
  readonly checkpoint: CheckpointSettings;
  readonly withheld: Withheld | undefined;
  /** What must not be stored. */
  readonly redact: Redact | undefined;
  /** Called with the file's content before anything else. */
  readonly onRead: (file: WorkflowFile) => void;
  /**
   * Returns the workflow that a block names, or reports why it cannot be used. Undefined without a fault means that it is being compiled,
   * and will be found during the run.
   */
  readonly linkLiteral: (name: string, faults: Faults, call: Call) => TextWorkflow | undefined;
  readonly link: WorkflowParts['link'];
  /** Called for a block that computes the name of a workflow. */
  readonly noteComputed: () => void;
  /** Makes the text to record with runs. Called once the workflow is known to be valid. */
  readonly graphText: (workflow: WorkflowFile) => string | undefined;
}

/** A block that runs a workflow. */
export interface Call {
  readonly block: BlockFile;
  /** Whether the block may be skipped, or may fail without failing the workflow. Only then may a workflow call itself with it. */
  readonly isSkippable: boolean;
  /** The input that names the workflow. Default `workflow`. */
  readonly input?: string;
}

/** The workflow if it is valid, and everything that is wrong with it. */
export interface Compiled {
  readonly workflow: TextWorkflow | undefined;
  readonly violations: readonly Violation[];
  /** Whether the text is not valid YAML at all. */
  readonly isUnreadable?: boolean;
}

export function compileWorkflow(text: string, source: string, around: Surroundings): Compiled {
  const { document, faults: unreadable } = readDocument(text, source);
  if (document === undefined) return { workflow: undefined, violations: unreadable, isUnreadable: true };
  const faults = new Faults(document);
  const translated = translateDocument(document, around.types, faults);
  return compileDocument(translated.document, faults.of(translated.document), around);
}

function compileDocument(document: YamlDocument, faults: Faults, around: Surroundings): Compiled {
  const file = readFile(faults, document);
  around.onRead(file);
  const order = orderBlocks(faults, file.blocks);
  const inputs = inputsOf(faults, file, around.types);
  const { children, callable } = linkChildren(faults, order, around);
  const workflow: WorkflowParts & { readonly timed: Set<string> } = {
    name: file.name,
    shapes: shapesOf(order, around.types),
    folderInputs: folderDefaults(inputs),
    timed: new Set(),
    link: around.link,
    withheld: around.withheld,
    callable: (name, ctx) => callableOf(around.link(name, ctx, true)),
  };
  const names: Names = {
    ...namesOf(file, { inputs, order, children, types: around.types }),
    redact: around.redact,
    folderInputs: workflow.folderInputs,
    timed: workflow.timed,
  };
  const blocks = new Map<string, CompiledBlock>();
  for (const block of order.blocks.values()) {
    const type = typeOf(faults, block, around.types);
    if (type === undefined) continue;
    // What follows the end of the run sees whatever has ended by then.
    const isLast = isBeside(file, block.id);
    const reach = { block: block.id, isBefore: (id: string) => isLast || order.isBefore(id, block.id) };
    const outerReader = new TemplateReader(faults, names, reach);
    const reader =
      block.forEach === undefined ? outerReader : new TemplateReader(faults, { ...names, hasEach: true }, reach);
    const child = children.get(block.id);
    const compiled = compileBlock(block, type, {
      faults,
      reader,
      outerReader,
      workflow,
      call: child === undefined ? undefined : linked(child),
      callable: (name) => callable.get(name),
      isRecursive: !isComputed(block) || order.isSkippable(block.id),
      place: document.placeOf(block.at),
    });
    blocks.set(block.id, compiled);
  }
  const outputs = defineOutputs(
    new TemplateReader(faults, names, { block: undefined, isBefore: () => true }),
    file.outputs,
    workflow,
  );
  const title = readTitle(faults, file, names);
  checkHooks(faults, file, around.withheld);
  checkBeside(faults, file);
  if (faults.hasErrors) return { workflow: undefined, violations: faults.violations };
  const parts = { order, inputs, blocks, outputs, timed: workflow.timed, title };
  const graph = buildGraph(faults, document, file, parts, around);
  if (graph === undefined) return { workflow: undefined, violations: faults.violations };
  return {
    workflow: describeWorkflow(file, graph, {
      order,
      inputs,
      blocks,
      children,
      violations: faults.violations,
      checkpoint: around.checkpoint,
    }),
    violations: faults.violations,
  };
}

function shapesOf({ blocks }: BlockOrder, types: ReadonlyMap<string, NodeType>): WorkflowParts['shapes'] {
  return new Map(
    [...blocks.values()].flatMap((block) => {
      const shape = blockShape(block, types.get(block.type));
      return shape === undefined ? [] : [[block.id, shape]];
    }),
  );
}

/** The part of a workflow that a block needs to run it. */
export function linked({ name, graph, waves, description, inputs, effect }: TextWorkflow): LinkedWorkflow {
  return { name, graph, waveCount: waves.length, description, inputs, effect };
}

/** What makes the titles of runs: a text in which inputs may be named, and nothing that comes later. */
function readTitle(faults: Faults, { title }: WorkflowFile, names: Names): RunTitle | undefined {
  if (title === undefined) return undefined;
  const known = { ...names, blocks: [], secrets: [] };
  const template = new TemplateReader(faults, known, { block: undefined, isBefore: () => true }).text(title, ['title']);
  return ({ input }) => asText(template.evaluate({ ...noScope, inputs: input }), title);
}

function checkHooks(faults: Faults, { webhooks }: WorkflowFile, withheld: Withheld | undefined): void {
  for (const [index, hook] of webhooks.entries())
    for (const need of withheld === undefined ? [] : webhookNeeds(hook)) {
      const reason = withheld?.(need);
      const message = `a webhook is not allowed here: ${reason}`;
      if (reason !== undefined)
        faults.add(['webhooks', index], { rule: 'Y6', message, fix: 'take it out, or ask the operator for the grant' });
    }
}

/** What follows an end follows at once: nothing leads there by way of a question. */
function checkBeside(faults: Faults, file: WorkflowFile): void {
  for (const { id, approval, at } of file.blocks)
    if (approval !== undefined && isBeside(file, id))
      faults.add([...at, 'approval'], {
        rule: 'Y15',
        atKey: true,
        message: `${id} follows the end of a run, and asks nobody first`,
        fix: 'let it run a workflow with a block that needs the approval',
      });
}

function inputsOf(faults: Faults, file: WorkflowFile, types: ReadonlyMap<string, NodeType>): readonly WorkflowInput[] {
  if (file.inputs !== undefined) return file.inputs;
  const isCommand = (type: string, input: string): boolean => types.get(type)?.inputs[input]?.kind === 'command';
  const names = implicitInputs(file, isCommand);
  if (names.length > 0)
    faults.add(['name'], {
      rule: 'Y3',
      severity: 'warning',
      message: `there is no \`inputs\` section, so these names are inputs of any type: ${names.join(', ')}`,
      fix: 'declare them under `inputs:`',
    });
  return names.map((name) => ({
    name,
    type: 'any',
    description: undefined,
    isRequired: true,
    default: undefined,
    schema: {},
  }));
}

interface Linked {
  /** Workflows by the block that runs them. */
  readonly children: ReadonlyMap<string, TextWorkflow>;
  /** The workflows that blocks may choose from, by name. */
  readonly callable: ReadonlyMap<string, CallableWorkflow>;
}

function linkChildren(faults: Faults, order: BlockOrder, around: Surroundings): Linked {
  const children = new Map<string, TextWorkflow>();
  const callable = new Map<string, CallableWorkflow>();
  for (const block of order.blocks.values()) {
    const type = around.types.get(block.type);
    // A block that chooses a workflow need not run any, so its calls count as skippable.
    for (const called of type?.calls?.(block.inputs) ?? []) {
      const found = around.linkLiteral(called, faults, { block, isSkippable: true, input: 'workflows' });
      if (found !== undefined) callable.set(called, callableOf(linked(found)));
    }
    const name = block.inputs['workflow'];
    if (!isCall(type) || typeof name !== 'string') continue;
    if (isComputed(block)) {
      around.noteComputed();
      continue;
    }
    const child = around.linkLiteral(name, faults, { block, isSkippable: order.isSkippable(block.id) });
    if (child !== undefined) children.set(block.id, child);
  }
  return { children, callable };
}

/** Whether the name of the workflow that a block runs is computed. */
function isComputed({ inputs: { workflow } }: BlockFile): boolean {
  return typeof workflow === 'string' && workflow.includes('${');
}

function typeOf(faults: Faults, block: BlockFile, types: ReadonlyMap<string, NodeType>): NodeType | undefined {
  const type = types.get(block.type);
  if (type !== undefined || block.type === '') return type;
  const names = [...types.keys()];
  const near = nearest(block.type, names) ?? names.find((name) => name.toLowerCase() === block.type.toLowerCase());
  faults.add([...block.at, 'type'], {
    rule: 'Y5',
    message: `there is no block type ${block.type}`,
    fix: `${near === undefined ? '' : `did you mean ${near}? `}There are: ${names.join(', ')}`,
  });
  return undefined;
}

function buildGraph(
  faults: Faults,
  document: YamlDocument,
  file: WorkflowFile,
  {
    order,
    inputs,
    blocks,
    outputs,
    timed,
    title,
  }: {
    readonly order: BlockOrder;
    readonly inputs: readonly WorkflowInput[];
    readonly blocks: ReadonlyMap<string, CompiledBlock>;
    readonly outputs: NodeDefinition;
    readonly timed: ReadonlySet<string>;
    readonly title: RunTitle | undefined;
  },
  around: Surroundings,
): Graph | undefined {
  const text = around.graphText(file);
  const renamed = new Map(
    file.blocks.flatMap(({ id, renamedFrom }) => (renamedFrom === undefined ? [] : [[id, renamedFrom]])),
  );
  const beside = (node: NodeDefinition): NodeDefinition => {
    const { join: _, ...rest } = node;
    return rest;
  };
  const written = [...blocks.values()].map(({ node }) => (isBeside(file, node.id) ? beside(node) : node));
  const nodes = [...written.map((node) => (timed.has(node.id) ? withTime(node) : node)), outputs];
  const names = { blocks: renamed, inputs: inputs.map(({ name }) => name) };
  const approvals = new Map(
    [...blocks].flatMap(([id, { approval }]) => (approval === undefined ? [] : [[id, approval]])),
  );
  const laid = layApprovals(nodes, edgesOf(document, order, file), approvals, Object.fromEntries(renamed));
  try {
    const graph = compileGraph({
      id: file.name,
      nodes: renamed.size === 0 ? laid.nodes : laid.nodes.map((node) => recordedNode(node, names)),
      ...(renamed.size > 0 && { renamed: withDerived(Object.fromEntries(renamed), laid.nodes) }),
      edges: laid.edges,
      schemas: { input: inputSchema(inputs) },
      policies: { ...policiesOf(file, around.checkpoint), ...(title !== undefined && { title }) },
      ...(file.webhooks.length > 0 && { webhooks: file.webhooks }),
      ...(text === undefined ? {} : { text }),
      result: outputsId,
    });
    faults.take(graph.warnings);
    return graph;
  } catch (error) {
    if (!CairnError.is(error, 'GRAPH_INVALID')) throw error;
    faults.take(error.data['violations'] as readonly Violation[]);
    return undefined;
  }
}

/** The node with the recorded ids of blocks in the texts that are hashed. */
function recordedNode(node: NodeDefinition, names: RecordedBlocks): NodeDefinition {
  const { when } = node;
  return {
    ...node,
    config: withRecordedBlocks(node.config, names),
    ...(when !== undefined && { when: { ...when, text: recordedCondition(when.text, names) } }),
  };
}

/**
 * The edges of the graph. Blocks on which nothing depends lead to the outputs: when these have ended, all have.
 * No edge leads to blocks that follow a cancel or the failure of the run.
 */
function edgesOf(document: YamlDocument, { blocks }: BlockOrder, file: WorkflowFile): readonly EdgeDefinition[] {
  const edges: EdgeDefinition[] = [];
  const leading = new Set<string>();
  for (const block of blocks.values()) {
    if (block.dependsOn.length === 0 && !isBeside(file, block.id)) edges.push({ from: START, to: block.id });
    for (const { block: from, isRequired, at } of block.dependsOn) {
      leading.add(from);
      edges.push({ from, to: block.id, place: document.placeOf(at), ...(!isRequired && { always: true }) });
    }
  }
  for (const id of blocks.keys())
    if (!leading.has(id) && !isBeside(file, id)) edges.push({ from: id, to: outputsId, always: true });
  edges.push({ from: outputsId, to: END });
  return edges;
}

/** Whether a block follows a cancel or the failure of the run. */
const isBeside = ({ onCancel, onRunFailure }: WorkflowFile, id: string): boolean =>
  id === onCancel || id === onRunFailure;

function policiesOf(
  { concurrency, checkpoint, budget, timeLimit, limit, onCancel, onRunFailure }: WorkflowFile,
  defaults: CheckpointSettings,
): Partial<GraphPolicies> {
  const { enabled = true, max_checkpoint_size_mb: sizeMb } = { ...defaults, ...checkpoint };
  return {
    ...(concurrency !== undefined && { concurrency }),
    ...(!enabled && { checkpoint: 'none' }),
    ...budget,
    ...(timeLimit !== undefined && { timeLimit }),
    ...(limit !== undefined && { limit }),
    ...(onCancel !== undefined && { onCancel }),
    ...(onRunFailure !== undefined && { onRunFailure }),
    ...(sizeMb !== undefined && { checkpointBytes: Math.round(sizeMb * 1024 * 1024) }),
  };
}
