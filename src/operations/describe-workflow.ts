/** `workflows`, and what is to be known of each: the same description for every door, without code. */
import type { WorkflowBlock, WorkflowInput, WorkflowOutput, YamlWorkflow } from '../dialects/yaml/yaml-workflow.ts';
import type { Violation } from '../graph/graph.ts';
import type { Operation, WorkContext } from './operation.ts';
import type { BrokenWorkflow, KnownWorkflow } from './workflows.ts';

/** A workflow as data. */
export interface WorkflowDescription {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string;
  readonly tags: readonly string[];
  /** Path of the file; absent: given as a text. */
  readonly source?: string;
  readonly inputs: readonly WorkflowInput[];
  readonly outputs: readonly WorkflowOutput[];
  readonly blocks: readonly WorkflowBlock[];
  /** Ids of blocks that could start together. */
  readonly waves: readonly (readonly string[])[];
  /** Names of the secrets it uses. */
  readonly secrets: readonly string[];
  readonly warnings: readonly Violation[];
}

/** A workflow in a list. */
export interface ListedWorkflow {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string;
  readonly tags: readonly string[];
  readonly source: string;
  readonly blockCount: number;
  /** Whether it asks questions. */
  readonly asks: boolean;
}

export interface ListWorkflowsInput {
  readonly tags?: readonly string[];
}

export interface ListWorkflowsOutput {
  readonly workflows: readonly ListedWorkflow[];
  /** Files that are no workflows, and why. */
  readonly broken: readonly BrokenWorkflow[];
}

export interface DescribeWorkflowInput {
  readonly workflow: string;
}

export function describe(workflow: YamlWorkflow, source?: string): WorkflowDescription {
  const { name, description, version, tags, inputs, outputs, blocks, waves, secrets, warnings } = workflow;
  return {
    name,
    description,
    version,
    tags,
    ...(source !== undefined && { source }),
    inputs,
    outputs,
    blocks,
    waves,
    secrets,
    warnings,
  };
}

function toListed({ workflow, source }: KnownWorkflow): ListedWorkflow {
  const { name, description, version, tags, blocks } = workflow;
  return {
    name,
    description,
    version,
    tags,
    source,
    blockCount: blocks.length,
    asks: blocks.some((block) => block.asks),
  };
}

export const listWorkflows: Operation<ListWorkflowsInput, ListWorkflowsOutput, WorkContext> = {
  name: 'workflows',
  summary: 'list the workflows of the directories given',
  input: { tags: { type: 'texts', description: 'only those with all of these tags' } },
  output: 'the workflows, by name, and the files that are none',
  isReadOnly: true,
  async run(context, { tags = [] }) {
    const workflows = await context.openWorkflows();
    const listed = workflows.list().map(toListed);
    return {
      workflows: listed.filter((each) => tags.every((tag) => each.tags.includes(tag))),
      broken: workflows.broken(),
    };
  },
};

export const describeWorkflow: Operation<DescribeWorkflowInput, WorkflowDescription, WorkContext> = {
  name: 'workflow',
  summary: 'tell what a workflow takes, does and gives',
  input: { workflow: { type: 'text', description: 'its name', isRequired: true, isPositional: true } },
  output: 'the workflow',
  isReadOnly: true,
  async run(context, { workflow: name }) {
    const { workflow, source } = (await context.openWorkflows()).get(name);
    return describe(workflow, source);
  },
};
