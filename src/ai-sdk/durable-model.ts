/** Makes a model whose calls are recorded as steps. To the SDK it is an ordinary model. */
import type { AssistantPart, ModelDelta, ModelDeltaEvent } from '../graph/contracts/model-messages.ts';
import { MaskedPieces } from '../model-calls/model-access.ts';
import { beginChat, endChat, endFailed, type SpanSource } from '../model-calls/gen-ai-spans.ts';
import {
  messageOf,
  type RecordedAnswer,
  type SdkCallOptions,
  type SdkContent,
  type SdkModel,
  answerOf,
  type AnswerDefaults,
  type SdkResult,
  type SdkStreamPart,
  partsOf,
  resultOf,
  type SdkStreamResult,
} from './recorded-calls.ts';
import { isNamed } from './named-model.ts';
import { PartQueue } from './part-queue.ts';
import { callFailure } from './provider-error.ts';
import {
  type Attempt,
  InterruptedCall,
  spendOn,
  type CallAttempt,
  type ModelCalls,
  type ModelOptions,
} from './model-calls.ts';

// The telemetry span of a model call made by the SDK. It has the form that the model port uses for its own calls (E10.5).

/** Makes a call inside a span. */
async function traceCall(
  source: SpanSource,
  model: SdkModel,
  { prompt, temperature, maxOutputTokens, responseFormat }: SdkCallOptions,
  make: () => Promise<RecordedAnswer>,
): Promise<RecordedAnswer> {
  if (isNamed(model)) return make();
  const settings = {
    model: `${model.provider}:${model.modelId}`,
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { tokensMax: maxOutputTokens }),
    ...(responseFormat?.type === 'json' && { schema: {} }),
  };
  const span = beginChat(source, settings, () => prompt.map(messageOf));
  try {
    const answer = await make();
    const { id, modelId, finishReason, usage, content } = answer;
    endChat(span, {
      model: modelId,
      id,
      finishReason: finishReason.unified,
      usage: { inputTokens: usage.inputTokens.total ?? 0, outputTokens: usage.outputTokens.total ?? 0 },
      content: content.flatMap(partOf),
    });
    return answer;
  } catch (error) {
    endFailed(span, error);
    throw error;
  }
}

function partOf(part: SdkContent): readonly AssistantPart[] {
  if (part.type === 'text' || part.type === 'reasoning') return [{ type: part.type, text: part.text }];
  if (part.type !== 'tool-call') return [];
  return [{ type: 'tool-call', id: part.toolCallId, tool: part.toolName, input: part.input }];
}

// Assembles an answer from the pieces of its stream in the same way as the SDK, so that the recorded answer is what the SDK saw.

type Finish = Extract<SdkStreamPart, { readonly type: 'finish' }>;
type Metadata = Extract<SdkStreamPart, { readonly type: 'response-metadata' }>;
type Piece = Extract<SdkStreamPart, { readonly type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>;
type Spoken = { -readonly [Key in keyof SpokenContent]: SpokenContent[Key] };
type SpokenContent = Extract<SdkContent, { readonly type: 'text' }>;

/** The answer so far. */
class StreamedAnswer {
  readonly #content: SdkContent[] = [];
  readonly #open = new Map<string, Spoken>();
  #warnings: SdkResult['warnings'] = [];
  #metadata: Partial<Metadata> = {};
  #finish: Finish | undefined;

  /** Number of parts that have begun. */
  get length(): number {
    return this.#content.length;
  }

  /** Adds a piece. @throws the error that the provider sent in the stream */
  take(part: SdkStreamPart): void {
    switch (part.type) {
      case 'stream-start':
        this.#warnings = part.warnings;
        return;
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#speak(part);
      case 'response-metadata':
        this.#metadata = { ...this.#metadata, ...part };
        return;
      case 'finish':
        this.#finish = part;
        return;
      case 'error':
        throw part.error;
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        return;
      default:
        this.#content.push(part);
    }
  }

  /** The complete answer. @throws Error the stream ended before the answer did */
  end(defaults: AnswerDefaults): RecordedAnswer {
    if (this.#finish === undefined || this.#finish.finishReason.unified === 'interrupted')
      throw new Error('the stream ended before the answer did');
    const { finishReason, usage, providerMetadata } = this.#finish;
    const { type: _, ...response } = this.#metadata;
    const answer = { content: this.#content, finishReason, usage, warnings: this.#warnings, response };
    return answerOf({ ...answer, ...(providerMetadata !== undefined && { providerMetadata }) }, defaults);
  }

  #speak(part: Piece): void {
    const [type, piece] = part.type.split('-') as ['text' | 'reasoning', 'start' | 'delta' | 'end'];
    const place = `${type} ${part.id}`;
    if (piece === 'start') {
      const begun = { type, text: '' } as Spoken;
      this.#open.set(place, begun);
      this.#content.push(begun);
    }
    const open = this.#open.get(place);
    if (open === undefined) return;
    if ('delta' in part) open.text += part.delta;
    if ('citations' in part && part.citations !== undefined) open.citations = part.citations;
    if (part.providerMetadata !== undefined) open.providerMetadata = part.providerMetadata;
    if (piece === 'end') this.#open.delete(place);
  }
}

/** Wraps a model for one conversation of one attempt. */
export function durableModel(model: SdkModel, attempt: Attempt, calls: ModelCalls, how: ModelOptions): SdkModel {
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(options) {
      // A model call made during a repair is part of the repair, which is recorded as a whole.
      if (attempt.stepKind === 'repair') return model.doGenerate(options);
      return resultOf(
        await calls.call(model, options, how, (made) =>
          traceCall(attempt.ctx, model, made.options, () => generate(model, attempt, options, made)),
        ),
      );
    },
    async doStream(options) {
      if (attempt.stepKind === 'repair') return model.doStream(options);
      return stream(model, attempt, calls, { options, how });
    },
  };
}

async function generate(
  model: SdkModel,
  attempt: Attempt,
  { abortSignal }: SdkCallOptions,
  { options, step, defaults }: CallAttempt,
): Promise<RecordedAnswer> {
  try {
    const result = await model.doGenerate(options);
    spendOn(attempt, step, model, result.usage);
    return answerOf(result, defaults);
  } catch (error) {
    throw callFailure(error, model.modelId, { isInterrupted: false, isAborted: abortSignal?.aborted === true });
  }
}

/** How much of the answer was passed on while it was streamed. */
interface HandedOn {
  readonly queue: PartQueue<SdkStreamPart>;
  /** Ids of texts that have begun; their further pieces are passed on as they come. */
  readonly ids: Set<string>;
  /** Number of parts that have begun; these are passed on completely. */
  count: number;
  /** The provider's warnings, passed on before the first piece. */
  start: SdkStreamPart | undefined;
  /** Whether the rest must wait until the answer is recorded. This keeps the order, and no tool is called before its call is recorded. */
  isWithheld: boolean;
}

/**
 * Streams a model call. Texts are passed to the SDK as they come, up to the first part that the SDK acts on. That part, everything after
 * it, and the end are passed on once the answer is recorded. A recorded call is passed on as a whole.
 */
async function stream(
  model: SdkModel,
  attempt: Attempt,
  calls: ModelCalls,
  { options, how }: { readonly options: SdkCallOptions; readonly how: ModelOptions },
): Promise<SdkStreamResult> {
  const queue = new PartQueue<SdkStreamPart>();
  // If the run has resolved secrets, the recorded text may differ from the streamed one by its masks. So nothing is passed on early.
  const isWithheld = hasSecrets(attempt);
  const handedOn: HandedOn = { queue, ids: new Set(), count: 0, start: undefined, isWithheld };
  const answer = calls
    .call(model, options, how, (made) =>
      traceCall(attempt.ctx, model, made.options, () =>
        read(model, attempt, handedOn, { ...made, abortSignal: options.abortSignal }),
      ),
    )
    .finally(() => queue.end());
  const failure = answer.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  await Promise.race([queue.ready(), failure]);
  const failed = queue.hasBegun ? undefined : await failure;
  if (failed !== undefined && !(failed.error instanceof InterruptedCall)) throw failed.error;
  return { stream: ReadableStream.from(partsFor(handedOn, answer)) };
}

async function* partsFor(handedOn: HandedOn, answer: Promise<RecordedAnswer>): AsyncGenerator<SdkStreamPart, void> {
  yield* handedOn.queue.read();
  try {
    const recorded = await answer;
    if (!handedOn.queue.hasBegun) yield { type: 'stream-start', warnings: recorded.warnings };
    yield* partsOf(recorded, handedOn.count);
  } catch (error) {
    yield { type: 'error', error: error instanceof InterruptedCall ? error.cause : error };
  }
}

/** Reads the provider's stream to its end. */
async function read(
  model: SdkModel,
  { ctx }: Attempt,
  handedOn: HandedOn,
  { options, step, defaults, abortSignal }: CallAttempt & { readonly abortSignal: AbortSignal | undefined },
): Promise<RecordedAnswer> {
  const answer = new StreamedAnswer();
  const tools = new Map<string, string>();
  const pieces = new MaskedPieces(ctx.secrets, (delta) =>
    ctx.emit({ type: 'model-delta', call: step.idempotencyKey, delta } satisfies ModelDeltaEvent),
  );
  try {
    const result = await model.doStream(options);
    for await (const part of result.stream) {
      answer.take(part);
      const delta = deltaOf(part, tools);
      if (delta !== undefined) pieces.push(delta);
      handOn(handedOn, part, answer.length);
      if (part.type === 'finish') spendOn({ ctx }, step, model, part.usage);
    }
    pieces.end();
    return answer.end(defaults);
  } catch (error) {
    const isInterrupted = handedOn.queue.hasBegun;
    throw callFailure(error, model.modelId, { isInterrupted, isAborted: abortSignal?.aborted === true });
  }
}

function handOn(handedOn: HandedOn, part: SdkStreamPart, length: number): void {
  const { queue, ids } = handedOn;
  switch (part.type) {
    case 'stream-start':
      handedOn.start = part;
      return;
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-end':
    case 'ping':
    case 'raw':
      // Raw chunks are not part of the answer and have no place in it.
      if (!handedOn.isWithheld) push(handedOn, part);
      return;
    case 'text-start':
    case 'reasoning-start':
      if (handedOn.isWithheld) return;
      ids.add(`${part.type.split('-')[0] ?? ''} ${part.id}`);
      handedOn.count = length;
      push(handedOn, part);
      return;
    case 'text-delta':
    case 'text-end':
    case 'reasoning-delta':
    case 'reasoning-end':
      if (ids.has(`${part.type.split('-')[0] ?? ''} ${part.id}`)) queue.push(part);
      return;
    case 'response-metadata':
    case 'finish':
    case 'error':
      return;
    default:
      handedOn.isWithheld = true;
  }
}

function push({ queue, start }: HandedOn, part: SdkStreamPart): void {
  if (!queue.hasBegun && start !== undefined) queue.push(start);
  queue.push(part);
}

function deltaOf(part: SdkStreamPart, tools: Map<string, string>): ModelDelta | undefined {
  if (part.type === 'text-delta') return { type: 'text', text: part.delta };
  if (part.type === 'reasoning-delta') return { type: 'reasoning', text: part.delta };
  if (part.type === 'tool-input-start') tools.set(part.id, part.toolName);
  else if (part.type !== 'tool-input-delta') return undefined;
  const text = part.type === 'tool-input-delta' ? part.delta : '';
  return { type: 'tool-arguments', id: part.id, tool: tools.get(part.id) ?? '', text };
}

function hasSecrets({ ctx }: Attempt): boolean {
  for (const _ of ctx.secrets.known?.() ?? []) return true;
  return false;
}
