/** Agents: the door `cairn-workflows/agents`. */
export { agent, type AgentConfig, type Prompt } from './agent.ts';
export {
  tool,
  type AgentTool,
  type Approval,
  type ComposedTool,
  type FunctionTool,
  type NodeTool,
  type ToolCallContext,
} from './agent-tool.ts';
export type { ToolEntry } from './tool-box.ts';
