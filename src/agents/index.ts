/** Agents: a part of the entry point `cairn-workflows/agents`. */
export { agent, type AgentConfig, type CallContext, type Opening, type Prompt } from './agent.ts';
export {
  tool,
  type AgentTool,
  type ApprovalPolicy,
  type ComposedTool,
  type FunctionTool,
  type NodeTool,
  type ToolCallContext,
  type ToolEntry,
} from './tools/tool-box.ts';
export { judgeNode, type JudgeNodeConfig, type Judgement, type ScoredVerdict } from './answers/judge-node.ts';
export { gmiNode, type GmiNodeConfig, type GmiPolicies, llmNode, type LlmNodeConfig } from './answers/llm-node.ts';
export type { ChatTurn } from './history/shared-chat.ts';
export type { HistoryLimit, SummaryOptions } from './history/conversation.ts';
export {
  mcpTools,
  type MadeCall,
  type McpCommandConfig,
  type McpConfig,
  type McpSessionConfig,
  type McpTools,
  type McpUrlConfig,
  type ReopenedSession,
} from './mcp/mcp-tools.ts';
export type { ModeName } from './modes/text-modes.ts';
export { embedTexts, rerankDocuments, type EmbedOptions, type VectorStepOptions } from './model/vector-steps.ts';
export { generateImages, transcribeAudio, type Transcript } from './model/media-steps.ts';
export { askPerson } from './people/ask-person.ts';
export { stageAgent } from './stage/stage-agent.ts';
export type { StageAgent, StageAgentRequest, StageTool, ToolHooks } from '../graph/contracts/stage-agent.ts';
export { agentStateOf, readAgentState, type AgentState, type AgentVisit } from './view/agent-state.ts';
export type { AgentCall, AgentLoopState } from './view/agent-loop-state.ts';
export { localFiles, type LocalFilesOptions } from './files/local-files.ts';
export { memoryFiles, type InitialFiles, type MemoryFilesOptions } from './files/memory-files.ts';
export { shellTool, type Command, type ShellToolOptions } from './shell/shell-tool.ts';
export type { FileStore, FileStoreContext, OpenFiles, PlannedWrite, WrittenFile } from '../ports/file-store.ts';
export {
  memoryTools,
  type MemoryToolsOptions,
  sessionMemory,
  type MemorySource,
  type SessionMemory,
  type SessionMemoryOptions,
} from './memory/session-memory.ts';
export type { MemoryConsistency } from '../graph/contracts/memory-consistency.ts';
