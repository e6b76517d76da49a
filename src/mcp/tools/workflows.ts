/** The tools `list_workflows`, `get_workflow_info`, `validate_workflow` and `reload_workflows`. */
import { perform } from '../../operations/contract/perform.ts';
import type { WorkflowDescription } from '../../operations/contract/workflows.ts';
import { checkWorkflow } from '../../operations/workflows/check-workflow.ts';
import { describeWorkflow, listWorkflows as list } from '../../operations/workflows/describe-workflow.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import { readsOnly, text, type AnyTool, type Tool, showViolation, violationSchema, type Violation } from './tool.ts';
import type { JsonSchema } from '../ask/ask-client.ts';

const brokenSchema: JsonSchema = {
  type: 'array',
  description: 'Files that are no workflows, and why.',
  items: {
    type: 'object',
    properties: { source: { type: 'string' }, errors: { type: 'array', items: violationSchema } },
    required: ['source', 'errors'],
  },
};

function showBroken(
  broken: readonly { readonly source: string; readonly violations: readonly Violation[] }[],
): readonly object[] {
  return broken.map(({ source, violations }) => ({ source, errors: violations.map(showViolation) }));
}

export const listWorkflows: Tool<{ readonly tags?: readonly string[] }> = {
  name: 'list_workflows',
  title: 'List workflows',
  description: 'List the workflows that can be run by name, with what each does and whether it asks questions.',
  input: {
    tags: { type: 'array', items: { type: 'string' }, description: 'Only those with all of these tags.' },
  },
  required: [],
  output: {
    type: 'object',
    properties: {
      workflows: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            description: { type: 'string' },
            version: { type: 'string' },
            tags: { type: 'array', items: { type: 'string' } },
            total_blocks: { type: 'integer' },
            asks: { type: 'boolean', description: 'It asks questions.' },
          },
          required: ['name', 'version', 'tags', 'total_blocks', 'asks'],
        },
      },
      total: { type: 'integer' },
      broken: brokenSchema,
    },
    required: ['workflows', 'total'],
  },
  hints: readsOnly,
  async run({ context }, { tags = [] }) {
    const { workflows, broken } = await perform(list, context, { tags });
    const listed = workflows.map(({ name, description, version, tags: own, blockCount, asks }) => ({
      name,
      ...(description !== undefined && { description }),
      version,
      tags: own,
      total_blocks: blockCount,
      asks,
    }));
    const content = { workflows: listed, total: listed.length };
    return { content: broken.length === 0 ? content : { ...content, broken: showBroken(broken) } };
  },
};

function showInputs({ inputs }: WorkflowDescription): object {
  return Object.fromEntries(
    inputs.map(({ name, type, description, isRequired, default: value, schema }) => [
      name,
      {
        type,
        ...(description !== undefined && { description }),
        required: isRequired,
        ...(value !== undefined && { default: toJson(value) }),
        schema,
      },
    ]),
  );
}

function showOutputs({ outputs }: WorkflowDescription): object {
  return Object.fromEntries(
    outputs.map(({ name, value, type, description }) => [
      name,
      { value, ...(type !== undefined && { type }), ...(description !== undefined && { description }) },
    ]),
  );
}

function showBlocks({ blocks }: WorkflowDescription): readonly object[] {
  return blocks.map(
    ({ id, type, description, dependsOn, condition, forEach, effect, inside, asks, workflow, tools, wave }) => ({
      id,
      type,
      ...(description !== undefined && { description }),
      depends_on: dependsOn.map(({ block }) => block),
      ...(condition !== undefined && { condition }),
      ...(forEach !== undefined && { for_each: forEach }),
      effect,
      ...(inside !== undefined && { inside }),
      asks,
      ...(workflow !== undefined && { workflow }),
      ...(tools !== undefined && { tools }),
      wave,
    }),
  );
}

export const getWorkflowInfo: Tool<{ readonly workflow: string }> = {
  name: 'get_workflow_info',
  title: 'Get workflow info',
  description:
    'Tell what a workflow takes (inputs, with types and defaults), does (blocks, waves) and gives (outputs).',
  input: { workflow: text('Name of the workflow.', { minLength: 1 }) },
  required: ['workflow'],
  output: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      description: { type: 'string' },
      version: { type: 'string' },
      tags: { type: 'array', items: { type: 'string' } },
      inputs: { type: 'object', description: 'By name: type, description, required, default, schema.' },
      outputs: { type: 'object', description: 'By name: value, type, description.' },
      total_blocks: { type: 'integer' },
      blocks: { type: 'array', items: { type: 'object' } },
      waves: { type: 'array', items: { type: 'array', items: { type: 'string' } } },
      secrets: { type: 'array', items: { type: 'string' }, description: 'Names of the secrets it uses.' },
      warnings: { type: 'array', items: violationSchema },
    },
    required: ['name', 'version', 'tags', 'inputs', 'outputs', 'total_blocks', 'blocks', 'waves'],
  },
  hints: readsOnly,
  async run({ context }, { workflow }) {
    const described = await perform(describeWorkflow, context, { workflow });
    const { name, description, version, tags, waves, secrets, warnings, blocks } = described;
    const content = {
      name,
      ...(description !== undefined && { description }),
      version,
      tags,
      inputs: showInputs(described),
      outputs: showOutputs(described),
      total_blocks: blocks.length,
      blocks: showBlocks(described),
      waves,
      ...(secrets.length > 0 && { secrets }),
      ...(warnings.length > 0 && { warnings: warnings.map(showViolation) }),
    };
    return { content };
  },
};

export const validateWorkflow: Tool<{ readonly workflow_yaml: string }> = {
  name: 'validate_workflow',
  title: 'Validate a workflow',
  description: 'Say all that is wrong with a workflow given as YAML, each fault with its place and fix. Runs nothing.',
  input: { workflow_yaml: text('The workflow as YAML.') },
  required: ['workflow_yaml'],
  output: {
    type: 'object',
    properties: {
      valid: { type: 'boolean' },
      errors: { type: 'array', items: violationSchema },
      warnings: { type: 'array', items: violationSchema },
      block_types_used: { type: 'array', items: { type: 'string' } },
      agent_tools: {
        type: 'object',
        description: 'What models may call, by the block that lets them: name, effect, and whether a person is asked.',
      },
      name: { type: 'string' },
    },
    required: ['valid', 'errors', 'warnings', 'block_types_used'],
  },
  hints: readsOnly,
  async run({ context }, { workflow_yaml: yaml }) {
    const { isValid, workflow, violations } = await perform(checkWorkflow, context, { text: yaml });
    const types = new Set(workflow?.blocks.map(({ type }) => type));
    const tools = (workflow?.blocks ?? []).flatMap(({ id, tools }) =>
      tools === undefined ? [] : [[id, tools] as const],
    );
    const content = {
      valid: isValid,
      errors: violations.filter(({ severity }) => severity === 'error').map(showViolation),
      warnings: violations.filter(({ severity }) => severity !== 'error').map(showViolation),
      block_types_used: [...types].sort(),
      ...(tools.length > 0 && { agent_tools: Object.fromEntries(tools) }),
      ...(workflow !== undefined && { name: workflow.name }),
    };
    return { content };
  },
};

export const reloadWorkflows: AnyTool = {
  name: 'reload_workflows',
  title: 'Reload workflows',
  description:
    'Read the directories of workflows again. Runs that were started before go on with the definition they have.',
  input: {},
  required: [],
  output: {
    type: 'object',
    properties: {
      status: { const: 'success' },
      message: { type: 'string' },
      total: { type: 'integer' },
      broken: brokenSchema,
    },
    required: ['status', 'message', 'total'],
  },
  hints: { isReadOnly: false, isDestructive: false, isIdempotent: true, isOpenWorld: false },
  async run({ context, announceResources }) {
    const { total, broken } = (await context.openWorkflows()).reload();
    announceResources();
    const content = { status: 'success', message: `${total} workflows loaded`, total };
    return { content: broken.length === 0 ? content : { ...content, broken: showBroken(broken) } };
  },
};
