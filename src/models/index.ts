/** Language models for nodes and blocks: the entry point `cairn-workflows/models`. */
export { createAiSdkModels, type AiSdkOptions, type AllModels, type ModelPrice, type ModelPrices } from './ai-sdk.ts';
export { createCassetteModels, type CassetteOptions } from './cassette/cassette.ts';
export type { ModelProfile, ProviderSettings } from './ai-sdk-providers.ts';
export { limitModels, type LimitsByProvider, type LimitClock, type ModelLimits } from './limit/limit-models.ts';
export {
  createScriptedModels,
  type Script,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModels,
  type ScriptedOptions,
  type ScriptedTurn,
} from './scripted.ts';
export type {
  EmbedRequest,
  ImageRequest,
  TranscribeRequest,
  ModelRequest,
  Models,
  RerankRequest,
} from '../ports/model.ts';
export { wholeTextOf } from '../graph/contracts/cut-off.ts';
export {
  modelDeltaOf,
  textOf,
  type AssistantPart,
  type EmbedCall,
  type ImageCall,
  type ImageResponse,
  type TranscribeCall,
  type TranscribeResponse,
  type EmbedResponse,
  type FilePart,
  type FinishReason,
  type ImagePart,
  type MediaData,
  type ModelAccess,
  type ModelCall,
  type ModelCallOptions,
  type ModelDelta,
  type ModelDeltaEvent,
  type ModelMessage,
  type ModelResponse,
  type ModelTool,
  type ModelUsage,
  type ProviderData,
  type ProviderTool,
  type ReasoningEffort,
  type ReasoningPart,
  type RerankCall,
  type RerankResponse,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  type UserPart,
} from '../graph/contracts/model-messages.ts';
