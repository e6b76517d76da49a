/** Makes an SDK model of one of the engine's models, given by name. Its calls go through the model port. */
import type {
  AssistantPart,
  FinishReason,
  ModelCall,
  ModelDelta,
  ModelResponse,
} from '../graph/contracts/model-contract.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { namedCall, unheeded } from './named-call.ts';
import type { SdkCallOptions, SdkContent, SdkModel, SdkResult, SdkStreamPart } from './sdk-types.ts';
import { PartQueue } from './part-queue.ts';
import { answerOf, partsOf } from './recorded-answer.ts';
import { ToldPieces } from './told-pieces.ts';

const named = new WeakSet<object>();

/** Whether calls of this model go through the model port, which then reports them to telemetry. */
export const isNamed = (model: object): boolean => named.has(model);

/** Makes such a model. Its texts reach the SDK as they come, and the rest of an answer when it is whole. */
export function namedModel(name: string, ctx: NodeContext): SdkModel {
  const colon = name.indexOf(':');
  const generate = async (options: SdkCallOptions, onDelta?: (delta: ModelDelta) => void): Promise<SdkResult> => {
    const { headers, abortSignal } = options;
    const idempotencyKey = headers?.['Idempotency-Key'];
    const response = await ctx.models.generate(namedCall(name, options) satisfies ModelCall, {
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(abortSignal !== undefined && { signal: abortSignal }),
      ...(onDelta !== undefined && { onDelta }),
    });
    return resultOf(response, options);
  };
  const model: SdkModel = {
    specificationVersion: 'v4',
    provider: colon > 0 ? name.slice(0, colon) : 'cairn',
    modelId: colon > 0 ? name.slice(colon + 1) : name,
    // URLs are passed on; this process fetches none.
    supportedUrls: { '*/*': [/^.*$/u] },
    doGenerate: (options) => generate(options),
    async doStream(options) {
      const queue = new PartQueue<SdkStreamPart>();
      const pieces = new ToldPieces(queue);
      const result = generate(options, (delta) => pieces.tell(delta)).finally(() => queue.end());
      // It is awaited behind the pieces.
      result.catch(() => {});
      return { stream: ReadableStream.from(streamOf(queue, pieces, result, options, name)) };
    },
  };
  named.add(model);
  return model;
}

async function* streamOf(
  queue: PartQueue<SdkStreamPart>,
  pieces: ToldPieces,
  result: Promise<SdkResult>,
  options: SdkCallOptions,
  modelId: string,
): AsyncGenerator<SdkStreamPart, void> {
  yield { type: 'stream-start', warnings: unheeded(options) };
  yield* queue.read();
  const answer = answerOf(await result, { id: '', modelId, at: 0 });
  // Only the whole answer tells what the provider warns of.
  yield { type: 'stream-start', warnings: answer.warnings };
  yield* pieces.rest(answer);
  yield* partsOf({ ...answer, content: [] });
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
