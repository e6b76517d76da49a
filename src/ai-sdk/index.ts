/** Durable agents written with the AI SDK: the entry point `cairn-workflows/ai-sdk`. */
export { durable, type Durable, type DurableOptions, type DurableSettings } from './durable.ts';
export { type ToolOptions, callOf, contextOf } from './durable-tools.ts';
export type { ModelOptions } from './model-calls.ts';
export type { SdkModel } from './recorded-calls.ts';
export { readUIMessages, toUIMessageStream, type ChatRun, type UIMessageStreamOptions } from './ui-stream.ts';
export type { ChatWait } from './message-parts.ts';
export type { ChatChunk, ChatMessage, ChatMetadata } from './ui-messages.ts';
