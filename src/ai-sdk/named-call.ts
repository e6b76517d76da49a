/** Converts a request of the SDK to one of the model port. */
import type {
  AssistantPart,
  FilePart,
  ModelCall,
  ModelMessage,
  ModelTool,
  ProviderData,
  ProviderTool,
  TextPart,
  ToolResultPart,
} from '../graph/contracts/model-contract.ts';
import type { SdkCallOptions, SdkMessage, SdkResult } from './sdk-types.ts';

type Options = { readonly providerOptions?: object | undefined };
type SdkAssistantPart = Extract<SdkMessage, { readonly role: 'assistant' }>['content'][number];
type SdkUserPart = Extract<SdkMessage, { readonly role: 'user' }>['content'][number];
type SdkFilePart = Extract<SdkUserPart, { readonly type: 'file' }>;
type SdkToolResult = Extract<SdkAssistantPart, { readonly type: 'tool-result' }>;

export function namedCall(model: string, options: SdkCallOptions): ModelCall {
  const {
    prompt,
    tools = [],
    toolChoice,
    temperature,
    maxOutputTokens,
    responseFormat,
    providerOptions,
    reasoning,
  } = options;
  const schema = responseFormat?.type === 'json' ? (responseFormat.schema ?? { type: 'object' }) : undefined;
  return {
    model,
    messages: prompt.map(messageOf),
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(toolChoice !== undefined && {
      toolChoice: toolChoice.type === 'tool' ? { tool: toolChoice.toolName } : toolChoice.type,
    }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { tokensMax: maxOutputTokens }),
    ...(schema !== undefined && { schema: schema as Readonly<Record<string, unknown>> }),
    ...(reasoning !== undefined && reasoning !== 'provider-default' && { reasoning }),
    ...providerOf({ providerOptions }),
  };
}

/** Warnings for settings that the model port does not have, so that they are not ignored silently. */
export function unheeded(options: SdkCallOptions): SdkResult['warnings'] {
  const settings = [
    'topP',
    'topK',
    'presencePenalty',
    'frequencyPenalty',
    'stopSequences',
    'seed',
  ] as const satisfies readonly (keyof SdkCallOptions)[];
  const given = settings.filter((setting) => options[setting] !== undefined);
  return given.map((feature) => ({ type: 'unsupported', feature }));
}

function providerOf({ providerOptions }: Options): { readonly provider?: ProviderData } {
  return providerOptions === undefined ? {} : { provider: providerOptions as ProviderData };
}

function toolOf(tool: NonNullable<SdkCallOptions['tools']>[number]): ModelTool | ProviderTool {
  if (tool.type === 'provider') return { name: tool.name, providerTool: tool.id, settings: tool.args };
  const { name, description, inputSchema } = tool;
  const schema = inputSchema as ModelTool['inputSchema'];
  return { name, inputSchema: schema, ...(description !== undefined && { description }), ...providerOf(tool) };
}

export function messageOf(message: SdkMessage): ModelMessage {
  const provider = providerOf(message);
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content, ...provider };
    case 'user':
      return { role: 'user', content: message.content.map(userPart), ...provider };
    case 'assistant':
      return { role: 'assistant', content: message.content.flatMap(assistantPart), ...provider };
    default: {
      const results = message.content.flatMap((part) => (part.type === 'tool-result' ? [resultOf(part)] : []));
      return { role: 'tool', content: results, ...provider };
    }
  }
}

function userPart(part: SdkUserPart): TextPart | FilePart {
  return part.type === 'text' ? { type: 'text', text: part.text, ...providerOf(part) } : fileOf(part);
}

function fileOf(part: Pick<SdkFilePart, 'data' | 'mediaType' | 'filename' | 'providerOptions'>): FilePart {
  const { data, mediaType, filename } = part;
  const name = filename === undefined ? {} : { name: filename };
  return { type: 'file', data: dataOf(data), mediaType, ...name, ...providerOf(part) };
}

function dataOf(data: SdkFilePart['data']): Uint8Array | string {
  if (data.type === 'url') return data.url.href;
  if (data.type === 'data') return typeof data.data === 'string' ? Buffer.from(data.data, 'base64') : data.data;
  if (data.type === 'text') return new TextEncoder().encode(data.text);
  throw new TypeError(
    "a file that only its provider knows can be given to the provider's own model alone, not to one by name",
  );
}

function assistantPart(part: SdkAssistantPart): readonly AssistantPart[] {
  const provider = providerOf(part);
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text, ...provider }];
    case 'file':
      return [fileOf(part)];
    case 'tool-call': {
      const { toolCallId: id, toolName: tool, input, providerExecuted } = part;
      const executed = providerExecuted === true ? { isProviderExecuted: true } : {};
      return [{ type: 'tool-call', id, tool, input, ...executed, ...provider }];
    }
    case 'tool-result':
      return [resultOf(part)];
    default:
      return [];
  }
}

function resultOf(part: SdkToolResult): ToolResultPart {
  const { toolCallId: id, toolName: tool, output } = part;
  const own = { type: 'tool-result' as const, id, tool, ...providerOf(part) };
  switch (output.type) {
    case 'content': {
      const parts = output.value.flatMap((piece) =>
        piece.type === 'text' ? [userPart(piece)] : piece.type === 'file' ? [fileOf(piece)] : [],
      );
      return { ...own, parts };
    }
    case 'execution-denied':
      return { ...own, output: output.reason ?? 'this call was refused', isError: true };
    default:
      return { ...own, output: output.value, ...(output.type.startsWith('error') && { isError: true }) };
  }
}
