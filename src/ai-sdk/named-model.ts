/** Makes an SDK model of one of the engine's models, by its name. Its calls go through the model port. */
import type {
  ModelDelta,
  AssistantPart,
  FinishReason,
  ModelCall,
  ModelResponse,
} from '../graph/contracts/model-messages.ts';
import {
  partsOfContent,
  type RecordedAnswer,
  type SdkContent,
  type SdkStreamPart,
  namedCall,
  unheeded,
  type SdkCallOptions,
  type SdkModel,
  type SdkResult,
  answerOf,
  partsOf,
  tooDeep,
} from './recorded-calls.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { PartQueue } from './part-queue.ts';

type Spoken = Extract<SdkContent, { readonly type: 'text' | 'reasoning' }>;

interface StreamedPart {
  readonly type: Spoken['type'];
  readonly id: string;
  text: string;
}

/** The texts of one answer that were streamed so far. They stay open until the answer is whole, since only it has the provider's data. */
class StreamedPieces {
  readonly #queue: PartQueue<SdkStreamPart>;
  readonly #parts: StreamedPart[] = [];
  /** Ids of the tool calls whose arguments have begun. */
  readonly #calls = new Set<string>();

  constructor(queue: PartQueue<SdkStreamPart>) {
    this.#queue = queue;
  }

  /** Streams a piece. What follows a tool call comes with the whole answer, so that its parts stay in order. */
  tell(delta: ModelDelta): void {
    if (delta.type === 'tool-arguments') return this.#tellArguments(delta);
    const { type, text } = delta;
    if (this.#calls.size > 0 || text === '') return;
    let part = this.#parts.at(-1);
    if (part?.type !== type) {
      part = { type, id: `piece-${this.#parts.length}`, text: '' };
      this.#parts.push(part);
      this.#queue.push({ type: `${type}-start`, id: part.id });
    }
    part.text += text;
    this.#queue.push({ type: `${type}-delta`, id: part.id, delta: text });
  }

  #tellArguments({ id, tool, text }: Extract<ModelDelta, { readonly type: 'tool-arguments' }>): void {
    if (!this.#calls.has(id)) this.#queue.push({ type: 'tool-input-start', id, toolName: tool });
    this.#calls.add(id);
    if (text !== '') this.#queue.push({ type: 'tool-input-delta', id, delta: text });
  }

  /** The parts of the stream that were not sent yet. @throws Error the answer does not begin with the texts that were sent */
  *rest({ content }: RecordedAnswer): Generator<SdkStreamPart> {
    for (const id of this.#calls) yield { type: 'tool-input-end', id };
    const streamed = [...this.#parts];
    for (const [index, part] of content.entries()) {
      const open = part.type === streamed[0]?.type ? streamed.shift() : undefined;
      if (open === undefined) yield* partsOfContent(part, `whole-${index}`);
      else yield* endOf(open, part as Spoken);
    }
    if (streamed.length > 0) throw differs();
  }
}

function* endOf(
  { id, type, text: streamed }: StreamedPart,
  { text, providerMetadata }: Spoken,
): Generator<SdkStreamPart> {
  if (!text.startsWith(streamed)) throw differs();
  if (text.length > streamed.length) yield { type: `${type}-delta`, id, delta: text.slice(streamed.length) };
  yield { type: `${type}-end`, id, ...(providerMetadata !== undefined && { providerMetadata }) };
}

const differs = (): Error => new Error('the whole answer is not the one whose pieces were told');

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
      const pieces = new StreamedPieces(queue);
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
  pieces: StreamedPieces,
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
      // Of arguments that could not be read, what is no JSON is passed on, and the SDK decides what to do.
      const text =
        part.fault === undefined ? JSON.stringify(input) : typeof input === 'string' ? input : tooDeep(part.fault);
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
