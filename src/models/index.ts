/** Language models for nodes and blocks: the entry point `cairn-workflows/models`. */
export { createAiSdkModels, type AiSdkOptions } from './ai-sdk.ts';
export { createCassetteModels, type CassetteOptions } from './cassette/cassette.ts';
export type { ModelProfile, ProviderSettings } from './ai-sdk-providers.ts';
export { limitModels, type LimitsByProvider } from './limit/limit-models.ts';
export type { LimitClock, ModelLimits } from './limit/limit-models.ts';
export type { ModelPrice, ModelPrices } from './ai-sdk.ts';
export {
  createScriptedModels,
  type Script,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModels,
  type ScriptedTurn,
} from './scripted.ts';
export type { ModelRequest, Models } from '../ports/model.ts';
export { wholeTextOf } from '../graph/contracts/node-type.ts';
export { modelDeltaOf, textOf } from '../graph/contracts/contracts.ts';
export type {
  AssistantPart,
  FilePart,
  FinishReason,
  ImagePart,
  MediaData,
  ModelAccess,
  ModelCall,
  ModelDelta,
  ModelDeltaEvent,
  ModelMessage,
  ModelResponse,
  ModelTool,
  ModelUsage,
  ProviderData,
  ProviderTool,
  ReasoningEffort,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  UserPart,
} from '../graph/contracts/contracts.ts';
