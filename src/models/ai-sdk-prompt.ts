/** Converts messages, tools and settings of a call to those of the AI SDK. */
import type * as aiSdk from 'ai';
import { CairnError } from '../errors.ts';
import { FileRef } from '../graph/file-ref.ts';
import type {
  AssistantPart,
  FilePart,
  ImagePart,
  MediaData,
  ModelCall,
  ModelMessage,
  ProviderData,
  ToolResultPart,
  UserPart,
} from '../graph/contracts/model-messages.ts';

type AiSdk = typeof aiSdk;
type ProviderOptions = aiSdk.ProviderMetadata;
type SdkToolOutput = aiSdk.ToolResultPart['output'];
type SdkUserPart = Exclude<aiSdk.UserContent, string>[number];
type SdkAssistantPart = Exclude<aiSdk.AssistantContent, string>[number];

/** Data that a provider returned with an answer is sent back to it as provider options. */
function optionsOf(provider: ProviderData | undefined): { readonly providerOptions?: ProviderOptions } {
  return provider === undefined ? {} : { providerOptions: provider as ProviderOptions };
}

export function messagesOf(messages: readonly ModelMessage[]): aiSdk.ModelMessage[] {
  return messages.map((message): aiSdk.ModelMessage => {
    const options = optionsOf(message.provider);
    if (message.role === 'system') return { role: 'system', content: message.content, ...options };
    if (message.role === 'tool') return { role: 'tool', content: message.content.map(resultOf), ...options };
    if (typeof message.content === 'string') return { role: message.role, content: message.content, ...options };
    if (message.role === 'user') return { role: 'user', content: message.content.map(userPart), ...options };
    return { role: 'assistant', content: message.content.map(assistantPart), ...options };
  });
}

function userPart(part: UserPart): SdkUserPart {
  return part.type === 'text' ? { type: 'text', text: part.text, ...optionsOf(part.provider) } : fileOf(part);
}

function assistantPart(part: AssistantPart): SdkAssistantPart {
  const options = optionsOf(part.provider);
  if (part.type === 'text' || part.type === 'reasoning') return { type: part.type, text: part.text, ...options };
  if (part.type === 'file') return fileOf(part);
  if (part.type === 'tool-result') return resultOf(part);
  const { id, tool, input, fault, isProviderExecuted } = part;
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: tool,
    // Providers accept only objects here. If the arguments could not be parsed, their text is in the call's result.
    input: fault !== undefined && typeof input !== 'object' ? {} : input,
    ...(isProviderExecuted !== undefined && { providerExecuted: isProviderExecuted }),
    ...options,
  };
}

function fileOf(part: ImagePart | FilePart): aiSdk.FilePart {
  return {
    type: 'file',
    data: dataOf(part.data),
    mediaType: part.mediaType ?? 'image',
    ...(part.name !== undefined && { filename: part.name }),
    ...optionsOf(part.provider),
  };
}

function dataOf(data: MediaData): Extract<aiSdk.FilePart['data'], { type: string }> {
  if (data instanceof FileRef) throw new CairnError('INTERNAL', { reason: `${data.name} was not filled in` });
  return typeof data === 'string' ? { type: 'url', url: new URL(data) } : { type: 'data', data };
}

function resultOf(part: ToolResultPart): aiSdk.ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: part.id,
    toolName: part.tool,
    output: outputOf(part),
    ...optionsOf(part.provider),
  };
}

function outputOf({ output = null, parts, isError = false }: ToolResultPart): SdkToolOutput {
  if (parts !== undefined) return { type: 'content', value: parts.map(resultPart) };
  if (typeof output === 'string') return { type: isError ? 'error-text' : 'text', value: output };
  return { type: isError ? 'error-json' : 'json', value: output as aiSdk.JSONValue };
}

function resultPart(part: UserPart): Extract<SdkToolOutput, { type: 'content' }>['value'][number] {
  if (part.type === 'text') return { type: 'text', text: part.text, ...optionsOf(part.provider) };
  const { data, mediaType, filename, providerOptions } = fileOf(part);
  return {
    type: 'file',
    data: data as ReturnType<typeof dataOf>,
    mediaType,
    ...(filename !== undefined && { filename }),
    ...(providerOptions !== undefined && { providerOptions }),
  };
}

/** The settings of a call, without its model and messages. */
export function settingsOf(sdk: AiSdk, call: ModelCall): object {
  const { temperature, tokensMax, schema, tools, provider, reasoning } = call;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(tokensMax !== undefined && { maxOutputTokens: tokensMax }),
    ...(reasoning !== undefined && { reasoning }),
    ...optionsOf(provider),
    ...(tools !== undefined && tools.length > 0 && { tools: toolsOf(sdk, tools) }),
    // Asks the provider for JSON. The answer is returned as text, whether it fits the schema or not.
    ...(schema !== undefined && {
      output: {
        ...sdk.Output.text(),
        responseFormat: Promise.resolve({ type: 'json' as const, schema: { ...schema }, name: 'answer' }),
      },
    }),
  };
}

/**
 * Wraps the model so that it gets the tool choice directly. If the SDK got it, the SDK would discard an answer that ignores the choice,
 * although it was paid for. The caller decides what to do with such an answer.
 */
export function choosing(sdk: AiSdk, model: aiSdk.LanguageModel, { toolChoice }: ModelCall): aiSdk.LanguageModel {
  if (toolChoice === undefined || typeof model === 'string') return model;
  const choice =
    typeof toolChoice === 'string' ? { type: toolChoice } : { type: 'tool' as const, toolName: toolChoice.tool };
  return sdk.wrapLanguageModel({
    model,
    middleware: { transformParams: ({ params }) => Promise.resolve({ ...params, toolChoice: choice }) },
  });
}

/** Tools without a function. The SDK then returns their calls instead of running them, and makes no second request. */
function toolsOf(sdk: AiSdk, tools: NonNullable<ModelCall['tools']>): aiSdk.ToolSet {
  return Object.fromEntries(
    tools.map((described): [string, aiSdk.ToolSet[string]] => {
      if (!('providerTool' in described)) {
        const { name, description, inputSchema, provider } = described;
        const schema = sdk.jsonSchema(inputSchema);
        return [
          name,
          { inputSchema: schema, ...(description !== undefined && { description }), ...optionsOf(provider) },
        ];
      }
      const { name, providerTool, settings = {} } = described;
      const id = providerTool as `${string}.${string}`;
      const tool = { type: 'provider' as const, isProviderExecuted: true as const, id, args: { ...settings } };
      return [name, { ...tool, inputSchema: sdk.jsonSchema({}), outputSchema: sdk.jsonSchema({}) }];
    }),
  );
}
