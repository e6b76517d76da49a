/** An agent at work in a stage: the tools that the stage names, in its folder, with the hooks around them. */
import { Outcome, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { boundedBy } from '../../graph/contracts/cut-off.ts';
import type { StageAgentRequest, StageTool } from '../../graph/contracts/stage-agent.ts';
import { agent } from '../agent.ts';
import type { AgentTool } from '../tools/tool-box.ts';
import { fileTools } from '../files/file-tools.ts';
import { grantedFiles } from '../files/local-files.ts';
import { askPerson } from '../people/ask-person.ts';
import { scopeContext } from '../tools/tool-calls.ts';
import { shellTool } from '../shell/shell-tool.ts';
import { makeFolder, resolveLocalPath } from '../../nodes/file/local-path.ts';
import { hookTool } from './tool-hooks.ts';

const loopsDefault = 50;

export async function runStageAgent(ctx: NodeContext, request: StageAgentRequest): Promise<string> {
  const {
    model,
    messages,
    attempt,
    loopsMax = loopsDefault,
    timeoutMs,
    limit,
    settings,
    hooks,
    onChange,
    counted = [],
  } = request;
  if (request.tools.includes('write') || request.tools.includes('shell'))
    await makeFolder(resolveLocalPath(request.folder), request.isGranted);
  const byGroup = toolsOf(request);
  const tools = Object.assign({}, ...byGroup.values()) as Readonly<Record<string, AgentTool>>;
  const working = hooks === undefined ? tools : mapTools(tools, (name, tool) => hookTool(name, tool, hooks));
  const allow = request.allow.flatMap((group) => Object.keys(byGroup.get(group) ?? {}));
  const { implementation } = agent({
    model,
    prompt: messages,
    tools: working,
    allow: [...new Set(allow)],
    maxLoops: loopsMax,
    ...(onChange !== undefined && { onChange }),
    // Whose budget it is does not matter here: its units are what is counted.
    ...(counted.length > 0 && { budget: Object.fromEntries(counted.map((unit) => [unit, Number.MAX_SAFE_INTEGER])) }),
    calls: { ...(timeoutMs !== undefined && { timeoutMs }), ...(limit !== undefined && { limit }) },
    ...(settings !== undefined && { settings }),
  });
  const own = attempt === 1 ? ctx : scopeContext(ctx, `attempt ${attempt}`);
  const ended = await boundedBy('profile', async () => implementation.run(own));
  return String(ended instanceof Outcome ? ended.parts.output : ended);
}

type Tools = Readonly<Record<string, AgentTool>>;

function toolsOf({ tools, folder, isGranted }: StageAgentRequest): ReadonlyMap<StageTool, Tools> {
  const groups = new Map<StageTool, Tools>();
  const reads = tools.includes('read') || tools.includes('write');
  if (reads) groups.set('read', fileTools(grantedFiles({ root: folder, isReadOnly: true }, isGranted)));
  if (tools.includes('write')) groups.set('write', fileTools(grantedFiles({ root: folder }, isGranted)));
  if (tools.includes('shell')) groups.set('shell', { shell: shellTool({ cwd: folder }) });
  if (tools.includes('ask_person')) groups.set('ask_person', { ask_person: askPerson() });
  return groups;
}

function mapTools(tools: Tools, change: (name: string, tool: AgentTool) => AgentTool): Tools {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, change(name, tool)]));
}
