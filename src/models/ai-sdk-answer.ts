/** Converts answers of the AI SDK to those of the model port. Requests, bodies and headers are not kept. */
import { reasonOf } from '../errors.ts';
import type * as aiSdk from 'ai';
import type {
  AssistantPart,
  ModelDelta,
  ModelResponse,
  ModelUsage,
  ProviderData,
} from '../graph/contracts/model-contract.ts';

type SdkPart = aiSdk.ContentPart<aiSdk.ToolSet>;

/** The fields that results of generateText and finished streams have in common. */
export interface SdkAnswer {
  readonly content: readonly SdkPart[];
  readonly finishReason: aiSdk.FinishReason;
  readonly usage: aiSdk.LanguageModelUsage;
  readonly warnings: readonly aiSdk.CallWarning[] | undefined;
  readonly response: { readonly id: string; readonly modelId: string; readonly timestamp: Date };
  readonly providerMetadata: aiSdk.ProviderMetadata | undefined;
}

/** @throws Error the provider's stream ended before the answer did */
export function answerOf({
  content,
  finishReason,
  usage,
  warnings = [],
  response,
  providerMetadata,
}: SdkAnswer): ModelResponse {
  if (finishReason === 'interrupted') throw new Error('the stream ended before the answer did');
  return {
    content: content.flatMap(partOf),
    finishReason: reasons.has(finishReason) ? finishReason : 'other',
    model: response.modelId,
    usage: usageOf(usage),
    ...(warnings.length > 0 && { warnings: warnings.map(warningText) }),
    id: response.id,
    at: response.timestamp.getTime(),
    ...providerOf(providerMetadata),
  };
}

const reasons: ReadonlySet<string> = new Set(['stop', 'length', 'content-filter', 'tool-calls', 'error']);

/** Data of the provider. Empty objects, which providers add where they have nothing to say, are dropped. */
function providerOf(given: aiSdk.ProviderMetadata | undefined): { readonly provider?: ProviderData } {
  const said = Object.entries(given ?? {}).filter(([, data]) => Object.keys(data).length > 0);
  return said.length === 0 ? {} : { provider: Object.fromEntries(said) };
}

/** Converts one part. Kinds that cannot be sent back in a prompt (sources, approvals) are dropped. */
function partOf(part: SdkPart): readonly AssistantPart[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text, ...providerOf(part.providerMetadata) }];
    case 'file':
      return [
        {
          type: 'file',
          data: part.file.uint8Array,
          mediaType: part.file.mediaType,
          ...providerOf(part.providerMetadata),
        },
      ];
    case 'tool-call':
      return [
        {
          type: 'tool-call',
          id: part.toolCallId,
          tool: part.toolName,
          input: part.input,
          ...(part.invalid === true && { fault: faultOf(part.error) }),
          ...(part.providerExecuted === true && { isProviderExecuted: true }),
          ...providerOf(part.providerMetadata),
        },
      ];
    case 'tool-result':
    case 'tool-error':
      return part.providerExecuted === true ? [resultOf(part)] : [];
    default:
      return [];
  }
}

function resultOf(part: Extract<SdkPart, { type: 'tool-result' | 'tool-error' }>): AssistantPart {
  const isError = part.type === 'tool-error';
  return {
    type: 'tool-result',
    id: part.toolCallId,
    tool: part.toolName,
    output: isError ? faultOf(part.error) : part.output,
    ...(isError && { isError }),
    ...providerOf(part.providerMetadata),
  };
}

function faultOf(error: unknown): string {
  return reasonOf(error);
}

function usageOf({
  inputTokens = 0,
  outputTokens = 0,
  inputTokenDetails,
  outputTokenDetails,
}: aiSdk.LanguageModelUsage): ModelUsage {
  const { cacheReadTokens: cachedTokens = 0, cacheWriteTokens = 0 } = inputTokenDetails;
  const { reasoningTokens = 0 } = outputTokenDetails;
  return {
    inputTokens,
    outputTokens,
    ...(cachedTokens > 0 && { cachedTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...(reasoningTokens > 0 && { reasoningTokens }),
  };
}

function warningText(warning: aiSdk.CallWarning): string {
  if ('message' in warning) return warning.message;
  const { feature, details } = warning as { readonly feature?: string; readonly details?: string };
  return [`${warning.type}: ${feature ?? ''}`, ...(details === undefined ? [] : [details])].join(', ');
}

/** Passes on each piece of a streamed answer. @throws the error of the stream */
export async function followStream(
  stream: AsyncIterable<aiSdk.TextStreamPart<aiSdk.ToolSet>>,
  onDelta: (delta: ModelDelta) => void,
): Promise<void> {
  const tools = new Map<string, string>();
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') onDelta({ type: 'text', text: part.text });
    else if (part.type === 'reasoning-delta') onDelta({ type: 'reasoning', text: part.text });
    else if (part.type === 'tool-input-start') {
      tools.set(part.id, part.toolName);
      onDelta({ type: 'tool-arguments', id: part.id, tool: part.toolName, text: '' });
    } else if (part.type === 'tool-input-delta')
      onDelta({ type: 'tool-arguments', id: part.id, tool: tools.get(part.id) ?? '', text: part.delta });
  }
}
