/** Types of the AI SDK's models, derived from its public types. Only types are imported, so nothing is loaded. */
import type { LanguageModel, Tool } from 'ai';

/** A model as the AI SDK's providers make it. */
export type SdkModel = Extract<LanguageModel, { readonly specificationVersion: 'v4' }>;
export type SdkCallOptions = Parameters<SdkModel['doGenerate']>[0];
export type SdkResult = Awaited<ReturnType<SdkModel['doGenerate']>>;
export type SdkStreamResult = Awaited<ReturnType<SdkModel['doStream']>>;
export type SdkStreamPart = SdkStreamResult['stream'] extends ReadableStream<infer Part> ? Part : never;
export type SdkContent = SdkResult['content'][number];
export type SdkMessage = SdkCallOptions['prompt'][number];
export type SdkUsage = SdkResult['usage'];
export type SdkToolCall = Extract<SdkContent, { readonly type: 'tool-call' }>;

/** The second argument of a tool's function. */
export type SdkToolOptions = Parameters<NonNullable<Tool['execute']>>[1];
