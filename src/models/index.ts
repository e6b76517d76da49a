/** Sources of answers for blocks that call a language model: the door `cairn-workflows/models`. */
export { createAiSdkModels, type AiSdkOptions } from './ai-sdk.ts';
export type { ModelProfile, ProviderSettings } from './ai-sdk-settings.ts';
export { createScriptedModels, type Script, type ScriptedAnswer, type ScriptedModels } from './scripted.ts';
export type { ModelMessage, ModelRequest, ModelResponse, Models } from '../ports/model.ts';
