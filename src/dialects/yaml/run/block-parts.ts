/** A block that was read and checked: what its node is made from. */
import { isAbsolute, sep } from 'node:path';
import type { Graph } from '../../../graph/graph.ts';
import type { EffectClass, NodeContext, StateView } from '../../../graph/contracts/node-contract.ts';
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
  /** The strongest effect of what it does. */
  readonly effect: EffectClass;
}

/** What all blocks of a workflow share. */
export interface WorkflowParts {
  readonly name: string;
  readonly shapes: ReadonlyMap<string, BlockShape>;
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
export function scopeOf({ name, shapes }: WorkflowParts, { state, runId, nodePath }: NodeContext): BlockScope {
  return new BlockScope(state, shapes, () => runMetadata(name, runId, nodePath));
}

/** The same scope where only the state is known, and not the run. */
export function scopeOfState({ name, shapes }: WorkflowParts, state: StateView): BlockScope {
  return new BlockScope(state, shapes, () => workflowMetadata(name));
}

export function resolveFileOutputs(templates: readonly FileOutputTemplate[], scope: BlockScope): readonly FileOutput[] {
  return templates.map(({ path: template, ...rest }) => {
    const path = String(evaluateBefore(template, scope));
    // A command may leave a file in the run's own folder, which is no part of the working directory.
    const folder = isAbsolute(path) ? String(scope.metadata['tmp']) : undefined;
    return { ...rest, path, ...(folder !== undefined && path.startsWith(folder + sep) && { folder }) };
  });
}
