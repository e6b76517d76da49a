/** The operation `workflows`, and the description of a workflow that all interfaces show. It contains no code. */
import { flag, listOf, objectOf, text, texts, violation, whole, workflow } from '../contract/output-shapes.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';
import type { BrokenWorkflow, KnownWorkflow, WorkflowDescription } from '../contract/workflows.ts';

/** A workflow in a list. */
export interface ListedWorkflow extends Pick<TextWorkflow, 'name' | 'description' | 'version' | 'tags'> {
  readonly source: string;
  readonly blockCount: number;
  /** Whether the workflow asks questions. */
  readonly asks: boolean;
}

export interface ListWorkflowsInput {
  readonly tags?: readonly string[];
}

export interface ListWorkflowsOutput {
  readonly workflows: readonly ListedWorkflow[];
  /** Files that are not valid workflows, and why. */
  readonly broken: readonly BrokenWorkflow[];
}

export interface DescribeWorkflowInput {
  readonly workflow: string;
}

export function describe(workflow: TextWorkflow, source?: string): WorkflowDescription {
  const { graph: _graph, checkpoint: _checkpoint, effect: _effect, ...description } = workflow;
  return source === undefined ? description : { ...description, source };
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

export const listWorkflows: RoutedOperation<ListWorkflowsInput, ListWorkflowsOutput, WorkContext> = {
  name: 'list_workflows',
  command: 'workflows',
  summary: 'list the workflows of the directories given',
  input: { tags: { type: 'texts', description: 'only those with all of these tags' } },
  output: 'the workflows, by name, and the files that are none',
  outputSchema: objectOf({
    workflows: listOf(
      objectOf(
        { name: text, version: text, tags: texts, source: text, blockCount: whole, asks: flag },
        { description: text },
      ),
    ),
    broken: listOf(objectOf({ source: text, violations: listOf(violation) })),
  }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /workflows',
  async run(context, { tags = [] }) {
    const workflows = await context.openWorkflows();
    const listed = workflows.list().map(toListed);
    return {
      workflows: listed.filter((each) => tags.every((tag) => each.tags.includes(tag))),
      broken: workflows.broken(),
    };
  },
};

export const describeWorkflow: RoutedOperation<DescribeWorkflowInput, WorkflowDescription, WorkContext> = {
  name: 'describe_workflow',
  summary: 'tell what a workflow takes, does and gives',
  input: { workflow: { type: 'text', description: 'its name', isRequired: true, isPositional: true } },
  output: 'the workflow',
  outputSchema: workflow,
  isReadOnly: true,
  scope: 'read',
  route: 'GET /workflows/{workflow}',
  async run(context, { workflow: name }) {
    const { workflow, source } = (await context.openWorkflows()).get(name);
    return describe(workflow, source);
  },
};
