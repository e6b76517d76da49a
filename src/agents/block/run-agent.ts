/** Runs an `Agent` block: builds the agent that its inputs describe, and runs it. */
import { CairnError } from '../../errors.ts';
import type { NodeType, TypedNodeContext } from '../../graph/contracts/node-type.ts';
import { readText, requireText } from '../../nodes/blocks/fields.ts';
import { agent, type AgentConfig } from '../agent.ts';
import type { AgentTool } from '../agent-tool.ts';
import { askPerson } from '../people/ask-person.ts';
import { listOf, maxLoops, schemaOf, serversOf } from './agent-inputs.ts';
import { blockTool } from './block-tool.ts';

/** Runs the block. @returns its output fields */
export async function runAgent(blocks: ReadonlyMap<string, NodeType>, ctx: TypedNodeContext): Promise<unknown> {
  const config = configOf(blocks, ctx);
  const answer: unknown = await agent(config).implementation.run(ctx);
  return { response: config.output === undefined ? { content: answer } : answer, success: true };
}

function configOf(blocks: ReadonlyMap<string, NodeType>, ctx: TypedNodeContext): AgentConfig {
  const { inputs } = ctx;
  const instructions = readText(inputs, 'instructions');
  const output = schemaOf(inputs);
  return {
    model: readText(inputs, 'model') ?? 'default',
    prompt: requireText(inputs, 'prompt'),
    tools: toolsOf(blocks, ctx),
    servers: serversOf(inputs),
    allow: listOf(inputs['allow']),
    maxLoops: maxLoops.read(inputs),
    ...(instructions !== undefined && { instructions }),
    ...(output !== undefined && { output }),
  };
}

function toolsOf(blocks: ReadonlyMap<string, NodeType>, ctx: TypedNodeContext): Readonly<Record<string, AgentTool>> {
  const { workflows, blocks: named, allow, ask_person: asksPerson = true } = ctx.inputs;
  const tools = new Map<string, AgentTool>();
  const add = (name: string, tool: AgentTool): void => {
    if (tools.has(name)) throw new CairnError('CONFIG_INVALID', { reason: `two tools of the agent are named ${name}` });
    tools.set(name, tool);
  };
  for (const name of listOf(workflows)) {
    const known = name.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
    add(known, workflowTool(name, !listOf(allow).includes(known), ctx));
  }
  for (const name of listOf(named)) add(name, blockTool(blocks.get(name) as NodeType, ctx));
  if (asksPerson === true) add('ask_person', askPerson());
  return Object.fromEntries(tools);
}

/** Makes a workflow a tool. Like any tool, it asks a person first if it acts on the world. */
function workflowTool(name: string, asksIfActing: boolean, { workflow }: TypedNodeContext): AgentTool {
  if (workflow === undefined) throw new CairnError('WORKFLOW_NOT_FOUND', { name });
  const { graph, description, inputSchema, resultNode, isActing } = workflow(name);
  return {
    description: description ?? `Runs the workflow ${name}.`,
    input: inputSchema,
    node: graph as Extract<AgentTool, { node: unknown }>['node'],
    result: resultNode,
    approval: isActing && asksIfActing ? 'always' : 'never',
  };
}
