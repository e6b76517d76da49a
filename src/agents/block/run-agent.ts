/** Runs an `Agent` block: builds the agent that its inputs describe, and runs it. */
import { CairnError } from '../../errors.ts';
import { Outcome } from '../../graph/contracts/node-contract.ts';
import type { NodeType, TypedNodeContext } from '../../graph/contracts/node-type.ts';
import { boundedBy } from '../../graph/contracts/cut-off.ts';
import { readText, requireText } from '../../nodes/blocks/block-options.ts';
import { agent, type AgentConfig } from '../agent.ts';
import type { AgentTool } from '../tools/tool-box.ts';
import { grantedFiles } from '../files/local-files.ts';
import { askPerson } from '../people/ask-person.ts';
import { shellTool } from '../shell/shell-tool.ts';
import {
  historyOf,
  isReadOnly,
  listOf,
  maxLoops,
  mode,
  onChange,
  schemaOf,
  serversOf,
  settingsOf,
  showsImages,
  usesShell,
  blockTool,
  workflowToolName,
} from './agent-block-tools.ts';
import { makeFolder, resolveLocalPath } from '../../nodes/file/local-path.ts';

/** Units that its block, its workflow or its run may have a budget of; how much is theirs to say. */
const counted = { tokens: 0, seconds: 0 };

/** Runs the block. @returns its output fields */
export async function runAgent(blocks: ReadonlyMap<string, NodeType>, ctx: TypedNodeContext): Promise<unknown> {
  const config = { ...agentConfig(blocks, ctx), prompt: requireText(ctx.inputs, 'prompt'), budget: counted };
  const root = readText(ctx.inputs, 'files');
  const mayWrite = !isReadOnly.read(ctx.inputs) || usesShell.read(ctx.inputs);
  if (root !== undefined && mayWrite) await makeFolder(resolveLocalPath(root), ctx.isGranted);
  const result = await boundedBy('block', async () => agent(config).implementation.run(ctx));
  // Files of a folder leave nothing in the state.
  const answer = result instanceof Outcome ? result.parts.output : result;
  return { response: config.output === undefined ? { content: answer } : answer, success: true };
}

/**
 * The agent that inputs of the block describe, but for its prompt.
 * @param ctx - of the block that has it, with these inputs
 */
export function agentConfig(blocks: ReadonlyMap<string, NodeType>, ctx: TypedNodeContext): AgentConfig {
  const { inputs } = ctx;
  const instructions = readText(inputs, 'instructions');
  const output = schemaOf(inputs, 'output_schema');
  const root = readText(inputs, 'files');
  return {
    model: [readText(inputs, 'model') ?? 'default', ...listOf(inputs['fallbacks'])],
    tools: toolsOf(blocks, ctx),
    servers: serversOf(inputs),
    allow: listOf(inputs['allow']),
    maxLoops: maxLoops.read(inputs),
    mode: mode.read(inputs),
    onChange: onChange.read(inputs),
    history: historyOf(inputs),
    settings: settingsOf(inputs),
    ...(ctx.limit !== undefined && { calls: { limit: ctx.limit } }),
    ...(root !== undefined && {
      files: grantedFiles(
        { root, isReadOnly: isReadOnly.read(inputs), showsImages: showsImages.read(inputs) },
        ctx.isGranted,
      ),
    }),
    ...(instructions !== undefined && { instructions }),
    ...(output !== undefined && { output }),
  };
}

function toolsOf(blocks: ReadonlyMap<string, NodeType>, ctx: TypedNodeContext): Readonly<Record<string, AgentTool>> {
  const { workflows, blocks: named, ask_person: asksPerson = true } = ctx.inputs;
  const tools = new Map<string, AgentTool>();
  const add = (name: string, tool: AgentTool): void => {
    if (tools.has(name)) throw new CairnError('CONFIG_INVALID', { reason: `two tools of the agent are named ${name}` });
    tools.set(name, tool);
  };
  for (const name of listOf(workflows)) {
    add(workflowToolName(name), workflowTool(name, ctx));
  }
  for (const name of listOf(named)) add(name, blockTool(blocks.get(name) as NodeType, ctx));
  if (usesShell.read(ctx.inputs)) add('shell', shellTool({ cwd: readText(ctx.inputs, 'files') ?? '.' }));
  if (asksPerson === true) add('ask_person', askPerson());
  return Object.fromEntries(tools);
}

function workflowTool(name: string, { workflow }: TypedNodeContext): AgentTool {
  if (workflow === undefined) throw new CairnError('WORKFLOW_NOT_FOUND', { name });
  const { graph, description, inputSchema, resultNode } = workflow(name);
  return {
    description: description ?? `Runs the workflow ${name}.`,
    input: inputSchema,
    node: graph as Extract<AgentTool, { node: unknown }>['node'],
    result: resultNode,
  };
}
