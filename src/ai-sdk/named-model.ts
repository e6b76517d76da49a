/** Makes an SDK model of one of the engine's models, given by name. Its calls go through the model port. */
import type { AssistantPart, FinishReason, ModelCall, ModelResponse } from '../graph/contracts/model-contract.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { namedCall, unheeded } from './named-call.ts';
import type { SdkCallOptions, SdkContent, SdkModel, SdkResult, SdkStreamPart } from './sdk-types.ts';
import { answerOf, partsOf } from './recorded-answer.ts';

const named = new WeakSet<object>();

/** Whether calls of this model go through the model port, which then reports them to telemetry. */
export const isNamed = (model: object): boolean => named.has(model);

/** Makes such a model. Pieces of an answer are live events of the node; the SDK gets the answer as a whole. */
export function namedModel(name: string, ctx: NodeContext): SdkModel {
  const colon = name.indexOf(':');
  const generate = async (options: SdkCallOptions): Promise<SdkResult> => {
    const { headers, abortSignal } = options;
    const idempotencyKey = headers?.['Idempotency-Key'];
    const response = await ctx.models.generate(namedCall(name, options) satisfies ModelCall, {
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(abortSignal !== undefined && { signal: abortSignal }),
    });
    return resultOf(response, options);
  };
  const model: SdkModel = {
    specificationVersion: 'v4',
    provider: colon > 0 ? name.slice(0, colon) : 'cairn',
    modelId: colon > 0 ? name.slice(colon + 1) : name,
    // URLs are passed on; this process fetches none.
    supportedUrls: { '*/*': [/^.*$/u] },
    doGenerate: generate,
    async doStream(options) {
      const result = await generate(options);
      const defaults = { id: '', modelId: name, at: 0 };
      const start: SdkStreamPart = { type: 'stream-start', warnings: result.warnings };
      return { stream: ReadableStream.from([start, ...partsOf(answerOf(result, defaults))]) };
    },
  };
  named.add(model);
  return model;
}

function resultOf(response: ModelResponse, options: SdkCallOptions): SdkResult {
  const { content, finishReason, model, usage, warnings = [], id, at, provider } = response;
  const {
    inputTokens,
    outputTokens,
    cachedTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
  } = usage;
  return {
    content: content.map(contentOf),
    finishReason: { unified: finishReason satisfies FinishReason, raw: undefined },
    usage: {
      inputTokens: { total: inputTokens, noCache: undefined, cacheRead, cacheWrite },
      outputTokens: { total: outputTokens, text: undefined, reasoning },
    },
    warnings: [...warnings.map((message) => ({ type: 'other' as const, message })), ...unheeded(options)],
    response: {
      modelId: model,
      ...(id !== undefined && { id }),
      ...(at !== undefined && { timestamp: new Date(at) }),
    },
    ...(provider !== undefined && { providerMetadata: provider as NonNullable<SdkResult['providerMetadata']> }),
  };
}

function contentOf(part: AssistantPart): SdkContent {
  const metadata = part.provider === undefined ? {} : { providerMetadata: part.provider };
  return { ...bareContent(part), ...metadata } as SdkContent;
}

function bareContent(part: AssistantPart): object {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, text: part.text };
    case 'file': {
      const { data, mediaType } = part;
      const own = typeof data === 'string' ? { type: 'url', url: new URL(data) } : { type: 'data', data };
      return { type: 'file', mediaType, data: own };
    }
    case 'tool-call': {
      const { id, tool, input, isProviderExecuted } = part;
      // If the arguments could not be parsed, their text is passed on, and the SDK decides what to do.
      const text = part.fault !== undefined && typeof input === 'string' ? input : JSON.stringify(input);
      const executed = isProviderExecuted === true ? { providerExecuted: true } : {};
      return { type: 'tool-call', toolCallId: id, toolName: tool, input: text, ...executed };
    }
    default:
      return {
        type: 'tool-result',
        toolCallId: part.id,
        toolName: part.tool,
        result: part.output ?? null,
        ...(part.isError === true && { isError: true }),
      };
  }
}
