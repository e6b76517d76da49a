/**
 * Models as a node's code sees them: calls carry the attempt's key and signal, streamed pieces become live events, and the cost is added to
 * the attempt's (Q7). All secrets that the run knows are masked in what a model is sent, whatever brought them there (N6.4).
 */
import type {
  AssistantPart,
  EmbedCall,
  EmbedResponse,
  FilePart,
  ImagePart,
  MediaData,
  ModelCallOptions,
  ModelMessage,
  ModelAccess,
  ModelDelta,
  ModelDeltaEvent,
  ModelResponse,
  ModelUsage,
  RerankCall,
  RerankResponse,
  ImageResponse,
  TranscribeResponse,
} from '../graph/contracts/model-messages.ts';
import type { FileAccess, SecretReader } from '../graph/contracts/access.ts';
import { FileRef } from '../graph/file-ref.ts';
import { readableThrown } from '../errors.ts';
import type { Amounts } from '../graph/amounts.ts';
import { NodeFailure, type NodeContext } from '../graph/contracts/node-contract.ts';
import { TextMask, type MaskStream } from '../state/secrecy/text-mask.ts';
import { chatSpan, embedSpan, mediaSpan, rerankSpan, type ModelSpan, type SpanSource } from './gen-ai-spans.ts';
import type { EnterProvider, ModelRequest, Models } from '../ports/model.ts';
import { tokensOfCall, tokensOfText, tokensOfTexts } from './message-tokens.ts';
import { encodeValue } from '../state/values/encode.ts';
import { hashParts, hashText } from '../state/values/canonical-text.ts';
import { nestingFault } from '../state/values/nesting.ts';

/**
 * A list that is put together anew each time, and is mostly the one before with more at its end: a conversation, as each request holds it.
 */
export class LastList<Item> {
  readonly #items: Item[] = [];

  /** Takes the list as it is now. @returns how many items at its beginning are the same objects as in the one before */
  take(items: readonly Item[]): number {
    const known = this.#items;
    const most = Math.min(items.length, known.length);
    let count = 0;
    while (count < most && items[count] === known[count]) count += 1;
    known.length = count;
    for (let at = count; at < items.length; at += 1) known.push(items[at] as Item);
    return count;
  }
}

// Stored files in messages: whoever holds a conversation holds references, and a model is sent bytes.

/**
 * Fills the requests of a conversation. Each is mostly the one before with more at its end, so only what is new is looked at; no message is
 * ever changed.
 */
export class MessageFiles {
  readonly #last = new LastList<ModelMessage>();
  /** How many messages at the beginning of the last request hold no file. */
  #plainCount = 0;

  /** The messages with the bytes of the files in them; each message that has none as it is. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  async withBytes(messages: readonly ModelMessage[], files: FileAccess): Promise<readonly ModelMessage[]> {
    let plain = Math.min(this.#plainCount, this.#last.take(messages));
    while (plain < messages.length && !hasFile(messages[plain])) plain += 1;
    this.#plainCount = plain;
    if (plain === messages.length) return messages;
    const filled = messages
      .slice(plain)
      .map(async (message) => (hasFile(message) ? ((await fill(message, files)) as ModelMessage) : message));
    return [...messages.slice(0, plain), ...(await Promise.all(filled))];
  }
}

function hasFile(value: unknown): boolean {
  const { content, parts, data } = value as {
    readonly content?: unknown;
    readonly parts?: unknown;
    readonly data?: unknown;
  };
  const list = Array.isArray(content) ? content : parts;
  return Array.isArray(list) ? list.some(hasFile) : data instanceof FileRef;
}

/** Media stand in the parts of a message, and in the parts of results. */
async function fill(value: unknown, files: FileAccess): Promise<unknown> {
  const { content, parts } = value as { readonly content?: unknown; readonly parts?: unknown };
  const [key, list] = Array.isArray(content) ? ['content', content] : ['parts', parts];
  if (Array.isArray(list)) {
    const filled = await Promise.all((list as readonly unknown[]).map((part) => fill(part, files)));
    return filled.every((part, index) => part === list[index]) ? value : { ...(value as object), [key]: filled };
  }
  const { data } = value as { readonly data?: MediaData };
  return data instanceof FileRef ? fillPart(value as ImagePart | FilePart, data, files) : value;
}

async function fillPart(part: ImagePart | FilePart, file: FileRef, files: FileAccess): Promise<ImagePart | FilePart> {
  return { name: file.name, mediaType: file.type, ...part, data: await files.get(file) };
}

/**
 * Pieces of an answer with all secrets masked that the run knows when the answer begins. An end that may be the beginning of a secret is
 * delayed until the piece after it.
 */
export class MaskedPieces {
  readonly #mask: TextMask | undefined;
  readonly #emit: (delta: ModelDelta) => void;
  readonly #streams = new Map<string, { readonly stream: MaskStream; last: ModelDelta }>();

  constructor(reader: SecretReader, emit: (delta: ModelDelta) => void) {
    const secrets = [...(reader.known?.() ?? [])];
    this.#mask = secrets.length === 0 ? undefined : new TextMask(secrets);
    this.#emit = emit;
  }

  push(delta: ModelDelta): void {
    if (this.#mask === undefined) return this.#emit(delta);
    const name = delta.type === 'tool-arguments' ? delta.id : delta.type;
    const known = this.#streams.get(name);
    const { stream } = known ?? { stream: this.#mask.createStream() };
    const text = stream.push(delta.text);
    this.#streams.set(name, { stream, last: delta });
    if (text !== '' || known === undefined) this.#emit({ ...delta, text });
  }

  /** The answer is whole. */
  end(): void {
    for (const { stream, last } of this.#streams.values()) {
      const text = stream.end();
      if (text !== '') this.#emit({ ...last, text });
    }
  }
}

/** Of a call: its model, and about how many tokens it takes. */
interface CallSize {
  readonly model: string;
  readonly tokens: () => number;
}

/** Makes one call of any kind within its span, and spends what it cost. */
type MakeCall = <Response extends Pick<ModelResponse, 'usage' | 'cost'>>(
  size: CallSize,
  options: ModelCallOptions,
  span: (source: SpanSource) => ModelSpan<Response>,
  call: (models: Models, options: Pick<ModelRequest, 'idempotencyKey' | 'signal' | 'enter'>) => Promise<Response>,
) => Promise<Response>;

/**
 * Makes a call in a place of its provider's limit over all workers, if there is such a limit.
 * @param call - is told how it asks for a place itself: whoever knows the provider by another name does, and uses the place that there is
 */
async function inPlace<Response extends Pick<ModelResponse, 'usage'>>(
  { model, tokens, signal }: CallSize & Pick<ModelRequest, 'signal'>,
  enter: EnterProvider | undefined,
  call: (enter: EnterProvider | undefined) => Promise<Response>,
): Promise<Response> {
  const place = await enter?.(model.split(':', 1)[0] as string, tokens(), signal);
  if (place === undefined) return call(enter);
  let used: number | undefined;
  try {
    const response = await call(() => Promise.resolve(place));
    used = response.usage.inputTokens + response.usage.outputTokens;
    return response;
  } catch (error) {
    if (error instanceof NodeFailure && error.retryAfterMs !== undefined) place.hold(error.retryAfterMs);
    throw error;
  } finally {
    place.leave(used);
  }
}

/** Calls that compare texts. */
function vectorAccess(make: MakeCall, secrets: SecretReader): Pick<ModelAccess, 'embed' | 'rerank'> {
  return {
    embed: (call, options = {}) =>
      make(
        { model: call.model, tokens: () => tokensOfTexts(call.texts) },
        options,
        (source) => embedSpan(source, call),
        async (from, attemptOptions) => {
          if (from.embed === undefined) throw unknownModel(`the configured models make no vectors: ${call.model}`);
          const texts = withoutSecrets(call.texts, secrets);
          return validVectors(await from.embed({ ...call, texts, ...attemptOptions }), call);
        },
      ),
    rerank: (call, options = {}) =>
      make(
        { model: call.model, tokens: () => tokensOfTexts([call.query, ...call.documents]) },
        options,
        (source) => rerankSpan(source, call),
        async (from, attemptOptions) => {
          if (from.rerank === undefined) throw unknownModel(`the configured models rank no documents: ${call.model}`);
          const clean = withoutSecrets({ query: call.query, documents: call.documents }, secrets);
          return validRanking(await from.rerank({ ...call, ...clean, ...attemptOptions }), call);
        },
      ),
  };
}

/** Calls that read or make media. */
function mediaAccess(make: MakeCall, secrets: SecretReader): Pick<ModelAccess, 'transcribe' | 'generateImages'> {
  return {
    transcribe: (call, options = {}) =>
      make(
        { model: call.model, tokens: () => 0 },
        options,
        (source) => mediaSpan<TranscribeResponse>(source, 'transcribe', call),
        async (from, attemptOptions) => {
          if (from.transcribe === undefined) throw unknownModel(`the configured models hear no speech: ${call.model}`);
          const heard = await from.transcribe({ ...call, ...attemptOptions });
          if (typeof heard?.text !== 'string') throw noAnswer(call.model, 'it must be a text');
          return counted({ ...heard, segments: heard.segments ?? [] });
        },
      ),
    generateImages: (call, options = {}) =>
      make(
        { model: call.model, tokens: () => tokensOfText(call.prompt) },
        options,
        (source) => mediaSpan<ImageResponse>(source, 'generate_images', call),
        async (from, attemptOptions) => {
          if (from.generateImages === undefined)
            throw unknownModel(`the configured models make no images: ${call.model}`);
          const prompt = withoutSecrets(call.prompt, secrets);
          const drawn = await from.generateImages({ ...call, prompt, ...attemptOptions });
          if (!Array.isArray(drawn?.images) || !drawn.images.every(({ data }) => data instanceof Uint8Array))
            throw noAnswer(call.model, 'it must be a list of images with their bytes');
          return counted(drawn);
        },
      ),
  };
}

/**
 * Makes the `models` of a node's context.
 * @param models - if absent, every call fails with MODEL_UNKNOWN
 */
export function accessModels(
  models: Models | undefined,
  attempt: Pick<NodeContext, 'idempotencyKey' | 'signal' | 'emit' | 'spend' | 'secrets' | 'files' | 'trace'>,
  enter?: EnterProvider,
): ModelAccess {
  const stored = new MessageFiles();
  const make: MakeCall = async (
    { model, tokens },
    { idempotencyKey = attempt.idempotencyKey, signal = attempt.signal, span: source = attempt },
    span,
    call,
  ) => {
    if (models === undefined) throw unknownModel('no models are configured');
    const traced = span(source);
    try {
      const response = await inPlace({ model, tokens, signal }, enter, (entered) =>
        call(models, { idempotencyKey, signal, ...(entered && { enter: entered }) }),
      );
      attempt.spend(costsOf(response));
      traced.end(response);
      return response;
    } catch (thrown) {
      traced.fail(thrown);
      throw readableThrown(thrown);
    }
  };
  return {
    generate: (call, options = {}) =>
      make(
        { model: call.model, tokens: () => tokensOfCall(call) },
        options,
        (source) => chatSpan(source, call, () => call.messages),
        async (from, attemptOptions) => {
          const pieces = new MaskedPieces(attempt.secrets, (delta) => {
            options.onTold?.(delta);
            attempt.emit({ type: 'model-delta', call: attemptOptions.idempotencyKey, delta } satisfies ModelDeltaEvent);
          });
          const messages = await stored.withBytes(withoutSecrets(call.messages, attempt.secrets), attempt.files);
          const onDelta = options.onDelta ?? ((delta: ModelDelta) => pieces.push(delta));
          const answer = validResponse(
            await from.generate({ ...call, messages, ...attemptOptions, onDelta }),
            call.model,
          );
          pieces.end();
          return answer;
        },
      ),
    ...vectorAccess(make, attempt.secrets),
    ...mediaAccess(make, attempt.secrets),
    costOf: (model, usage) => models?.costOf?.(model, usage),
    tokensMaxOf: (model) => models?.tokensMaxOf?.(model),
  };
}

function unknownModel(reason: string): NodeFailure {
  return new NodeFailure(reason, { code: 'MODEL_UNKNOWN', applied: 'no' });
}

/**
 * The answer as the port describes it. Token counts that are none are 0: the call was paid for, and the answer is worth more than the
 * count.
 * @throws NodeFailure MODEL_UNAVAILABLE it is no answer, and must not be recorded as one
 */
function validResponse(response: ModelResponse | undefined, model: string): ModelResponse {
  if (!Array.isArray(response?.content) || !response.content.every(isPart))
    throw noAnswer(model, 'its content must be a list of parts');
  return counted({ ...response, content: response.content.map(withoutDeepArguments) });
}

/**
 * Arguments too deep to be recorded, or to be written as JSON, are omitted; the call has a fault then, which its result reports to the
 * model.
 */
function withoutDeepArguments(part: AssistantPart): AssistantPart {
  if (part.type !== 'tool-call') return part;
  const fault = nestingFault(part.input);
  return fault === undefined ? part : { ...part, input: {}, fault };
}

function validVectors(response: EmbedResponse | undefined, { model, texts }: EmbedCall): EmbedResponse {
  const vectors: unknown = response?.vectors;
  const isVector = (vector: unknown): boolean => Array.isArray(vector) && vector.every(Number.isFinite);
  if (!Array.isArray(vectors) || vectors.length !== texts.length || !vectors.every(isVector))
    throw noAnswer(model, `it must be one list of numbers for each of the ${texts.length} texts`);
  return counted(response as EmbedResponse);
}

function validRanking(response: RerankResponse | undefined, { model, documents }: RerankCall): RerankResponse {
  const ranking: unknown = response?.ranking;
  const isRank = (rank: Partial<RerankResponse['ranking'][number]> | null): boolean =>
    Number.isFinite(rank?.score) && documents[rank?.index ?? -1] !== undefined;
  if (!Array.isArray(ranking) || !ranking.every(isRank))
    throw noAnswer(model, `it must rank some of the ${documents.length} documents by index and score`);
  return counted(response as RerankResponse);
}

function noAnswer(model: string, rule: string): NodeFailure {
  return new NodeFailure(`the adapter of ${model} gave no answer: ${rule}`, { code: 'MODEL_UNAVAILABLE' });
}

function counted<Response extends Pick<ModelResponse, 'usage'>>(response: Response): Response {
  const { inputTokens, outputTokens } = (response.usage ?? {}) as Partial<ModelUsage>;
  if (isAmount(inputTokens) && isAmount(outputTokens)) return response;
  const amount = (count: number | undefined): number => (isAmount(count) ? count : 0);
  return {
    ...response,
    usage: { ...response.usage, inputTokens: amount(inputTokens), outputTokens: amount(outputTokens) },
  };
}

function isPart(part: unknown): boolean {
  return typeof (part as { readonly type?: unknown } | null)?.type === 'string';
}

function isAmount(count: number | undefined): count is number {
  return Number.isFinite(count) && (count as number) >= 0;
}

/** The request with all secrets that the run knows masked. */
export function withoutSecrets<Request>(request: Request, reader: SecretReader): Request {
  const secrets = [...(reader.known?.() ?? [])];
  return secrets.length === 0 ? request : (new TextMask(secrets).all(request) as Request);
}

/**
 * The cost of a call, by unit. Counts that are invalid are omitted and do not fail the call: it was paid for, and the answer is worth more
 * than the count.
 */
export function costsOf({
  usage: { inputTokens, outputTokens },
  cost = 0,
}: Pick<ModelResponse, 'usage' | 'cost'>): Amounts {
  const isSpent = ([, amount]: readonly [string, number]): boolean => Number.isFinite(amount) && amount > 0;
  return Object.fromEntries(Object.entries({ inputTokens, outputTokens, cost }).filter(isSpent));
}

// Keys of model calls and tool calls, by which steps and cassettes know them: equal ones have equal keys. Hashes are chained over messages,
// so a call costs what its conversation grew by.

/** Enough of a message's hash to see that it is another. */
const markLength = 8;

/** Remembers hashes for one conversation, which grows at its end and may be cut at its beginning. */
export class MessageKeys {
  readonly #hashes = new WeakMap<object, string>();
  readonly #last = new LastList<object>();
  /** Of the messages of the last request up to each place. */
  readonly #chain: string[] = [];

  /**
   * The key of a request.
   * @param settings - all of it but the messages: model, tools, tool choice, form of the answer, options of the provider
   */
  keyOf(settings: object, messages: readonly object[]): string {
    return hashParts([this.hashOf(settings), this.#chained(messages)]);
  }

  /** A short mark of a message, to compare conversations by. */
  markOf(message: object): string {
    return this.hashOf(message).slice(0, markLength);
  }

  /** Of a message, or of all but the messages. Each object is hashed once: a request is never changed, it is put together anew. */
  hashOf(value: object): string {
    let hash = this.#hashes.get(value);
    if (hash === undefined) this.#hashes.set(value, (hash = hashText(encodeValue(value))));
    return hash;
  }

  #chained(messages: readonly object[]): string {
    const chain = this.#chain;
    chain.length = this.#last.take(messages);
    for (let at = chain.length; at < messages.length; at += 1)
      chain.push(hashParts([chain[at - 1] ?? '', this.hashOf(messages[at] as object)]));
    return chain.at(-1) ?? '';
  }
}

/** The key of a tool call by its arguments; equal calls are counted by who makes them (A4). */
export function toolCallKey(tool: string, args: unknown): string {
  return `tool ${tool} ${hashText(encodeValue(args)).slice(0, 22)}`;
}
