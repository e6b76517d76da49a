/** A block, read and checked: what its node is made from. */
import type { Graph } from '../../../graph/graph.ts';
import type { NodeContext, StateView } from '../../../graph/contracts/node-contract.ts';
import type { WorkflowInput } from '../../text-workflow.ts';
import type { CallableWorkflow, FileOutput, NodeType } from '../../../graph/contracts/node-type.ts';
import { BlockScope, type BlockShape } from './block-scope.ts';
import { evaluateBefore, type InputTemplates, type Withheld } from './input-templates.ts';
import { runMetadata, workflowMetadata } from './run-metadata.ts';
import type { Template } from '../expression/template.ts';
import type { BlockFile } from '../file/workflow-file.ts';

/** A workflow that a block runs. */
export interface LinkedWorkflow {
  readonly name: string;
  readonly graph: Graph;
  readonly waveCount: number;
  readonly description: string | undefined;
  readonly inputs: readonly WorkflowInput[];
}

/** What all blocks of a workflow share. */
export interface WorkflowParts {
  readonly name: string;
  readonly shapes: ReadonlyMap<string, BlockShape>;
  /**
   * Finds a workflow in the run: its name is computed, or it is one of those that led here.
   * @param isRecursive - it may be one of those
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
  /** The workflow it runs, where the name is written out. */
  readonly call: LinkedWorkflow | undefined;
  /** A workflow that it finds in the run may be one that called this one. */
  readonly isRecursive: boolean;
  readonly workflow: WorkflowParts;
}

/** What the texts of a workflow read in a run. */
export function scopeOf({ name, shapes }: WorkflowParts, { state, runId, nodePath }: NodeContext): BlockScope {
  return new BlockScope(state, shapes, () => runMetadata(name, runId, nodePath));
}

/** The same where only the state is known. */
export function scopeOfState({ name, shapes }: WorkflowParts, state: StateView): BlockScope {
  return new BlockScope(state, shapes, () => workflowMetadata(name));
}

export function resolveFileOutputs(templates: readonly FileOutputTemplate[], scope: BlockScope): readonly FileOutput[] {
  return templates.map(({ path, ...rest }) => ({ ...rest, path: String(evaluateBefore(path, scope)) }));
}
