/** A workflow in the form in which it is passed to the code of a block that may run several workflows. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, isAbsolute, sep } from 'node:path';
import { CairnError } from '../../../errors.ts';
import type { Scope, Template } from '../expression/template.ts';
import type { Graph, NodeDefinition } from '../../../graph/graph.ts';
import {
  type EffectClass,
  type NodeContext,
  type StateView,
  NodeFailure,
  type NodeImplementation,
} from '../../../graph/contracts/node-contract.ts';
import type { WorkflowInput } from '../../text-workflow.ts';
import type { CallableWorkflow, FileOutput, NodeType, Inputs } from '../../../graph/contracts/node-type.ts';
import { BlockScope, type ScopeParts } from './block-scope.ts';
import { evaluateBefore, type InputTemplates, type Withheld } from './input-templates.ts';
import type { BlockFile, OutputFile } from '../file/workflow-file.ts';
import { renderText } from '../../../graph/expression/expression-meter.ts';
import { schemaFault } from '../../../schema/json-schema.ts';
import { schemaOfType, readJson, jsonSchemaOf } from '../file/input-schema.ts';
import { shareBudget } from '../../../graph/expression/expression-budget.ts';
import type { TemplateReader } from './template-reader.ts';
import { isMapping } from '../file/shape.ts';

// A folder for temporary files of one run: `metadata.tmp`.

/**
 * Makes the folder of a workflow in a run, readable by its owner only. It is the same in every attempt and after a resume.
 * @param names - the run's id, and the path of the workflow in it
 * @throws EXPRESSION_FAILED something else has this path, or others may open the folder
 */
function runFolder(names: readonly string[]): string {
  // Names may hold characters that no file name can.
  const digest = createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 20);
  const path = join(tmpdir(), `cairn-run-${digest}`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = lstatSync(path);
  const { uid, mode } = found;
  const isOwn = found.isDirectory() && uid === (process.getuid?.() ?? uid) && (mode & 0o077) === 0;
  if (isOwn || process.platform === 'win32') return path;
  throw new CairnError('EXPRESSION_FAILED', {
    text: 'metadata.tmp',
    reason: `${path} is not a folder of this user alone: somebody else may read or change what is put there`,
  });
}

// The values that texts read as `metadata`.

/** The metadata of a workflow where no run is known, as in conditions. */
function workflowMetadata(workflow: string): Scope['metadata'] {
  return Object.freeze({ workflow_name: workflow });
}

/** The metadata of a run, for the node that reads it: its path tells which workflow of the run it belongs to. Reading the folder makes it. */
function runMetadata(workflow: string, { runId, startedAt, nodePath }: NodeContext): Scope['metadata'] {
  return {
    workflow_name: workflow,
    run_id: runId,
    get tmp(): string {
      return runFolder([runId, ...nodePath.slice(0, -1)]);
    },
    started_at: new Date(startedAt).toISOString(),
  };
}

// A block that was read and checked: what its node is made from.

/** A workflow that a block runs. */
export interface LinkedWorkflow {
  readonly name: string;
  readonly graph: Graph;
  readonly waveCount: number;
  readonly description: string | undefined;
  readonly inputs: readonly WorkflowInput[];
  /** The strongest effect of what it does. */
  readonly effect: EffectClass;
}

/** What all blocks of a workflow share. */
export interface WorkflowParts extends ScopeParts {
  readonly name: string;
  /** Blocks whose time some text reads as `execution_time_ms`. Complete once all texts are read. */
  readonly timed: ReadonlySet<string>;
  /**
   * Finds a workflow during the run, because its name is computed or it is one of the callers.
   * @param isRecursive - whether it may be one of the callers
   * @throws WORKFLOW_NOT_FOUND, WORKFLOW_CIRCULAR, GRAPH_INVALID, RUN_LIMIT
   */
  readonly link: (name: string, ctx: NodeContext, isRecursive: boolean) => LinkedWorkflow;
  readonly withheld: Withheld | undefined;
  readonly callable: (name: string, ctx: NodeContext) => CallableWorkflow;
}

export interface FileOutputTemplate extends Omit<FileOutput, 'path'> {
  readonly path: Template;
}

export interface BlockParts {
  readonly file: BlockFile;
  readonly type: NodeType;
  readonly inputs: InputTemplates;
  readonly fileOutputs: readonly FileOutputTemplate[];
  readonly condition: Template<boolean> | undefined;
  readonly over: Template | undefined;
  /** The workflow that the block runs, where its name is written out. */
  readonly call: LinkedWorkflow | undefined;
  /** Whether a workflow that the block finds during the run may be one of its callers. */
  readonly isRecursive: boolean;
  readonly workflow: WorkflowParts;
}

/** The scope in which the texts of a workflow are computed during a run. */
export function scopeOf(workflow: WorkflowParts, ctx: NodeContext): BlockScope {
  return new BlockScope(ctx.state, workflow, () => runMetadata(workflow.name, ctx));
}

/** The same scope where only the state is known, and not the run. */
export function scopeOfState(workflow: WorkflowParts, state: StateView): BlockScope {
  return new BlockScope(state, workflow, () => workflowMetadata(workflow.name));
}

export function resolveFileOutputs(templates: readonly FileOutputTemplate[], scope: BlockScope): readonly FileOutput[] {
  return templates.map(({ path: template, ...rest }) => {
    const path = String(evaluateBefore(template, scope));
    // A command may leave a file in the run's own folder, which is no part of the working directory.
    const folder = isAbsolute(path) ? String(scope.metadata['tmp']) : undefined;
    return { ...rest, path, ...(folder !== undefined && path.startsWith(folder + sep) && { folder }) };
  });
}

// Turns a workflow's output into the type it declares.

const flags: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/**
 * Converts a value to the type: a text is parsed, and `str` gives the text of any value. @throws NODE_OUTPUT_INVALID it cannot be converted
 */
function convertOutput(name: string, type: WorkflowInput['type'], value: unknown): unknown {
  if (type === 'str') return typeof value === 'string' ? value.trim() : renderText(value);
  const converted = typeof value === 'string' ? readText(type, value.trim()) : value;
  const fault = schemaFault(schemaOfType(type), converted, name);
  if (fault === undefined) return converted;
  throw new CairnError('NODE_OUTPUT_INVALID', {
    node: 'outputs',
    path: name,
    reason: `${fault}; it is declared ${type}`,
  });
}

function readText(type: WorkflowInput['type'], text: string): unknown {
  if (type === 'num' || type === 'int') return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
  if (type === 'bool') return flags.get(text.toLowerCase()) ?? text;
  return type === 'list' || type === 'dict' || type === 'json' ? readJson(text) : text;
}

// The last node of a workflow: computes its outputs once every block is over, whether or not it succeeded.

/** The node's id. No block may have it. */
export const outputsId = 'outputs';

interface OutputTemplate {
  readonly file: OutputFile;
  readonly template: Template;
}

/** Reads the outputs of a workflow and makes the node that computes them. */
export function defineOutputs(
  reader: TemplateReader,
  files: readonly OutputFile[],
  workflow: WorkflowParts,
): NodeDefinition {
  const outputs = files.map((file): OutputTemplate => ({ file, template: reader.value(file.value, file.at) }));
  return {
    id: outputsId,
    type: outputsId,
    effect: 'pure',
    atMost: 'nothing',
    join: 'all',
    config: {
      outputs: files.map(({ name, value, type }) => ({ name, value, ...(type === undefined ? {} : { type }) })),
    },
    implementation: {
      run: (ctx) => {
        const scope = scopeOf(workflow, ctx);
        return shareBudget(() =>
          Object.fromEntries(outputs.map((output) => [output.file.name, computeOutput(output, scope)])),
        );
      },
      codeText: outputsId,
    },
  };
}

function computeOutput({ file, template }: OutputTemplate, scope: Scope): unknown {
  let value: unknown;
  try {
    value = template.evaluate(scope);
  } catch (error) {
    // The blocks are over, and a skipped block is no fault: an output that refers to what it lacks is null.
    if (CairnError.is(error, 'REFERENCE_ABSENT')) return null;
    throw error;
  }
  if (file.type === undefined || value === null || value === undefined) return value ?? null;
  return convertOutput(file.name, file.type, value);
}

export function callableOf({ graph, description, inputs, effect }: LinkedWorkflow): CallableWorkflow {
  return { description, graph, inputSchema: jsonSchemaOf(inputs), resultNode: outputsId, effect };
}

// The node of a block that runs another workflow as a child run, in the history of this run (W6).

/** The output of a block that runs a workflow. */
export interface CallOutput {
  readonly success: true;
  readonly workflow: string;
  readonly outputs: unknown;
  readonly total_blocks: number;
  readonly execution_waves: number;
}

export function callImplementation(parts: BlockParts): NodeImplementation {
  const { workflow, inputs } = parts;
  return {
    run: (ctx) => callWorkflow(ctx, parts, inputs.resolve(scopeOf(workflow, ctx))),
    codeText: 'workflow',
  };
}

/**
 * Runs the workflow that the inputs name. The child run has the workflow's name, followed by the item's key in brackets if there is one.
 */
export async function callWorkflow(
  ctx: NodeContext,
  { call, isRecursive, workflow }: BlockParts,
  inputs: Inputs,
  key?: string,
): Promise<CallOutput> {
  const linked = call ?? workflow.link(String(inputs['workflow']), ctx, isRecursive);
  const name = key === undefined ? linked.name : `${linked.name}[${key}]`;
  const { status, state, error } = await ctx.run(linked.graph, childInput(inputs['inputs']), { name });
  if (status !== 'completed') throw childFailure(linked, error);
  return {
    success: true,
    workflow: linked.name,
    outputs: state.outputs['outputs'],
    total_blocks: Object.keys(state.outputs).length + Object.keys(state.failures).length - resultNodes(linked),
    execution_waves: linked.waveCount,
  };
}

/** The node that computes the outputs is not a block. A pipeline that restarts has no other: all of it runs inside. */
function resultNodes({ graph }: LinkedWorkflow): number {
  return graph.nodes.some(({ id, type }) => id === outputsId && type === 'restarts') ? 0 : 1;
}

/** The workflows from the root down to a node, read from its path: each child run has the name of its workflow. */
export function callers(root: string, { nodePath }: NodeContext): readonly string[] {
  const names = nodePath.filter((_, index) => index % 2 === 1).map((name) => name.replace(/\[.*$/s, ''));
  return [root, ...names];
}

function childInput(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? {};
  try {
    const parsed: unknown = JSON.parse(value);
    if (isMapping(parsed)) return parsed;
  } catch {
    // The failure below says what is wrong.
  }
  throw new NodeFailure('`inputs` is a text that is not the JSON of a mapping', {
    code: 'INPUT_INVALID',
    applied: 'no',
  });
}

function childFailure({ name }: LinkedWorkflow, error: Error | undefined): NodeFailure {
  return new NodeFailure(`workflow ${name} failed${error === undefined ? '' : `: ${error.message}`}`, {
    code: 'CHILD_FAILED',
    data: { workflow: name },
    cause: error,
  });
}
