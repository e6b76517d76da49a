/** The model calls of a conversation, each a step of the node. A call is paid for once, and identified by its request (X4, X6). */
import { CairnError } from '../../errors.ts';
import type {
  FinishReason,
  ModelCall,
  ModelDelta,
  ModelMessage,
  ModelResponse,
  ModelAccess,
} from '../../graph/contracts/model-messages.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import type { TraceSpan } from '../../graph/contracts/trace-span.ts';
import { NodeFailure, type NodeContext, type StepContext } from '../../graph/contracts/node-contract.ts';
import { refuseStopped, isCutOff } from '../../graph/contracts/cut-off.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { LimitRef } from '../../graph/limit.ts';
import { tokensOfCall } from '../../model-calls/message-tokens.ts';
import { spendSeconds, spendTokens } from '../../graph/contracts/spend-counted.ts';
import { CallRecord, type OnChange, type RecordedCall } from './call-record.ts';

// Bounds of an answer's tokens: whether an answer that was cut off may come whole when it is requested anew.

/**
 * Whether the answer was cut off under a bound that is not the one of today, nor a higher one. Undefined: the provider decides.
 * @param before - the bound under which it came
 */
export function mayComeWhole(
  finishReason: FinishReason | 'interrupted',
  before: number | undefined,
  now: number | undefined,
): boolean {
  if (finishReason !== 'length') return false;
  return before === undefined || now === undefined ? before !== now : now > before;
}

// Makes one model call of a conversation. If the model gives no answer, fallback models are tried.

/** Error codes after which the next fallback model is tried. */
const passedOn: readonly string[] = ['MODEL_UNAVAILABLE', 'MODEL_REFUSED', 'MODEL_UNKNOWN'];

export interface AnsweredCall {
  readonly response: ModelResponse;
  /** Name of the fallback model that answered, if one did. */
  readonly by?: string;
}

/**
 * Tries one model after another until one answers.
 * @param fallbacks - models to try in order
 * @param onFallback - called before a fallback is tried: pieces of the earlier answer are void
 * @throws NodeFailure an error that may be temporary, if there was one; else the last model's error
 */
async function askModel(
  settings: Omit<ModelCall, 'messages'>,
  messages: readonly ModelMessage[],
  fallbacks: readonly string[],
  generate: (call: ModelCall) => Promise<ModelResponse>,
  onFallback: (from: string, to: string, code: string) => void,
): Promise<AnsweredCall> {
  let failure: NodeFailure | undefined;
  const models = [settings.model, ...fallbacks];
  for (const [index, model] of models.entries()) {
    try {
      const response = await generate({ ...settings, model, messages });
      // A blocked answer is not recorded as one, so the run can go on with another model.
      refuseStopped(response);
      return index === 0 ? { response } : { response, by: model };
    } catch (error) {
      if (!(error instanceof NodeFailure) || !passedOn.includes(error.code)) throw error;
      if (failure?.code !== 'MODEL_UNAVAILABLE') failure = error;
      const next = models[index + 1];
      if (next !== undefined) onFallback(model, next, error.code);
    }
  }
  throw failure as NodeFailure;
}

/** A request without its messages. It stays the same while a conversation grows. */
export type ModelSettings = Omit<ModelCall, 'messages'>;

/** How calls are made. */
export interface ModelStepOptions {
  /** Name of the conversation, unique within the node. Default `model`. */
  readonly name?: string;
  /** Default: three attempts if the model is not available. */
  readonly retry?: RetryPolicy;
  /** Timeout of one attempt in milliseconds. */
  readonly timeoutMs?: number;
  /** Limits over all workers. Each call waits for its places before it is announced; `timeoutMs` counts from then. */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** Whether it does no harm to repeat a call that offers tools run by the provider. Default false. */
  readonly idempotent?: boolean;
  /** What becomes of a conversation whose code has changed since it began. Default `continue`. */
  readonly onChange?: OnChange;
  /** Models to try in order if the model gives no answer. */
  readonly fallbacks?: readonly string[];
  /**
   * Further units that calls spend whether or not a budget around them names these (A13): `tokens` (input and output together) and
   * `seconds` (the duration).
   */
  readonly counted?: readonly string[];
}

/** Details of one call. */
export interface CallNotes {
  /** Data recorded with the answer. */
  readonly note?: unknown;
  /** The most that the call may spend, by unit. */
  readonly atMost?: () => Amounts;
}

/** Three attempts if the model is not available. */
export const defaultRetry: RetryPolicy = { attempts: 3, on: ['MODEL_UNAVAILABLE'], jitter: 0.2 };

/** Name of the recorded event with what was told of an answer whose run was stopped: see {@link StoppedAnswer}. */
export const stoppedName = 'model-stopped';

/** What people had seen of an answer when its run was stopped. It is no part of the conversation. */
export interface StoppedAnswer {
  readonly text: string;
  readonly reasoning: string;
}

/** The most characters of it that are recorded. */
const stoppedCharsMax = 32_000;

/** What was told of the answer under way. */
class ToldAnswer {
  #text = '';
  #reasoning = '';

  readonly take = (delta: ModelDelta): void => {
    if (delta.type === 'text') this.#text += delta.text;
    else if (delta.type === 'reasoning') this.#reasoning += delta.text;
  };

  clear(): void {
    [this.#text, this.#reasoning] = ['', ''];
  }

  record(ctx: Pick<NodeContext, 'emit'>): void {
    if (this.#text === '' && this.#reasoning === '') return;
    const [text, reasoning] = [this.#text, this.#reasoning].map((told) =>
      told.slice(0, stoppedCharsMax).toWellFormed(),
    );
    ctx.emit({ text, reasoning }, { recorded: true, name: stoppedName });
  }
}

/** The model calls of one conversation in one visit of a node. */
export class ModelSteps {
  readonly #ctx: NodeContext;
  readonly #options: ModelStepOptions;
  readonly #record: CallRecord<ModelMessage>;
  readonly #span: TraceSpan | undefined;
  /** One access for the whole conversation: it knows what of it was sent before. */
  readonly #models: ModelAccess;
  /** Whether the answer to the last call was recorded before. */
  #isRecorded = false;
  #mayComeWhole = false;

  /** @param span - parent of the calls' spans. Default: the attempt's span */
  constructor(ctx: NodeContext, options: ModelStepOptions = {}, span?: TraceSpan) {
    this.#ctx = ctx;
    this.#options = options;
    this.#span = span;
    this.#models = ctx.models;
    this.#record = new CallRecord(ctx, options.name ?? 'model', options.onChange ?? 'continue');
  }

  /** The notes of the answers on record when the attempt began. */
  get notes(): readonly unknown[] {
    return this.#record.past.map(({ note }) => note);
  }

  /** The note of the call that is made next, if its answer is on record. */
  noteOfUpcoming(): unknown {
    return this.#record.past[this.#record.madeCount]?.note;
  }

  /** The note of the next recorded call, if the last call was recorded too. It tells what happened between the two. */
  noteOfNext(): unknown {
    return this.#isRecorded ? this.noteOfUpcoming() : undefined;
  }

  /** Whether the last answer was cut off under a lower bound of its tokens than the call has now, so that asking anew makes sense. */
  get mayComeWhole(): boolean {
    return this.#mayComeWhole;
  }

  /**
   * Makes the call, or returns its recorded answer.
   * @throws AGENT_DIVERGED recorded answers are unused, but none is for this request, and the conversation refuses changes; the models'
   * errors
   */
  async call(
    settings: ModelSettings,
    messages: readonly ModelMessage[],
    { note, atMost }: CallNotes = {},
  ): Promise<ModelResponse> {
    const ctx = this.#ctx;
    const { retry = defaultRetry, timeoutMs, limit, idempotent = false, fallbacks = [] } = this.#options;
    const { name, key, marks, isRecorded, isOlder } = this.#record.enter(settings, messages);
    // An answer on record spends nothing: what it might have spent is not worth counting.
    const isReplayed = isRecorded && !this.isCaughtUp;
    // A call that offers the provider's own tools may act on the world.
    const isHarmless = idempotent || settings.tools?.some((tool) => 'providerTool' in tool) !== true;
    const options = {
      effect: 'external',
      idempotent: isHarmless,
      isModelCall: isHarmless,
      followsRecord: true,
      about: `a call of the model ${settings.model}`,
      input: key,
      retry,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(limit === undefined || isReplayed ? {} : { limit, tokens: tokensOfCall({ ...settings, messages }) }),
      ...(atMost === undefined || isReplayed ? {} : { atMost }),
    } as const;
    const told = new ToldAnswer();
    const make = async ({ idempotencyKey, signal, attempt }: StepContext): Promise<RecordedCall<ModelResponse>> => {
      told.clear();
      // Announces that pieces of an earlier attempt are void, so that a page showing them removes them.
      if (isRecorded || attempt > 1) ctx.emit({ type: 'model-restarted', call: idempotencyKey });
      const options = { idempotencyKey, signal, span: this.#span, onTold: told.take };
      const answered = await askModel(
        settings,
        messages,
        fallbacks,
        (call) => this.#generate(call, options),
        (from, to, code) => {
          told.clear();
          ctx.emit({ type: 'model-restarted', call: idempotencyKey });
          ctx.emit({ type: 'model-fallback', call: idempotencyKey, from, to, code });
        },
      );
      if (isCutOff(answered.response)) ctx.emit({ type: 'model-truncated', call: idempotencyKey });
      const tokensMax = isOlder ? undefined : this.#boundOf(settings, answered.by);
      return {
        ...answered,
        marks,
        ...(tokensMax !== undefined && { tokensMax }),
        ...(note !== undefined && { note }),
      };
    };
    const recorded = await ctx.step(name, options, make).catch((error: unknown) => {
      if (CairnError.is(error, 'RUN_CANCELLED')) told.record(ctx);
      throw error;
    });
    this.#record.leave();
    this.#isRecorded = isRecorded;
    const { response, tokensMax, by } = recorded;
    this.#mayComeWhole = !isOlder && mayComeWhole(response.finishReason, tokensMax, this.#boundOf(settings, by));
    return response;
  }

  /** Number of answers returned in this attempt. */
  get madeCount(): number {
    return this.#record.madeCount;
  }

  /** Whether every recorded answer was returned, so that the next call is new. */
  get isCaughtUp(): boolean {
    return this.#record.madeCount >= this.#record.past.length;
  }

  /** The most tokens that an answer may have. @param by - the fallback model that gives it, if one does */
  #boundOf({ model, tokensMax }: ModelSettings, by: string = model): number | undefined {
    return tokensMax ?? this.#models.tokensMaxOf?.(by);
  }

  async #generate(...[call, options]: Parameters<ModelAccess['generate']>): Promise<ModelResponse> {
    const [ctx, { counted }] = [this.#ctx, this.#options];
    const generate = async (): Promise<ModelResponse> => {
      const response = await this.#models.generate(call, options);
      spendTokens(ctx, ctx, response.usage, counted);
      return response;
    };
    return spendSeconds(ctx, ctx, generate, counted);
  }
}

// The most that a model call can spend, as far as that is known before it is made. That much is reserved in the budgets (Q4.2).

/** @param inputTokens - estimated tokens of the request */
export function boundsOf(
  models: ModelAccess,
  { model, tokensMax }: ModelSettings,
  inputTokens: number,
  { fallbacks = [], timeoutMs }: { readonly fallbacks?: readonly string[]; readonly timeoutMs?: number },
): Amounts {
  const input = Math.max(0, Math.ceil(inputTokens));
  const seconds = timeoutMs === undefined ? {} : { seconds: timeoutMs / 1_000 };
  // Without a limit on the answer's tokens, output and cost are unknown.
  if (tokensMax === undefined) return { inputTokens: input, ...seconds };
  const usage = { inputTokens: input, outputTokens: tokensMax };
  const costs = [model, ...fallbacks].map((name) => models.costOf?.(name, usage) ?? 0);
  const cost = Math.max(...costs);
  return { ...usage, tokens: input + tokensMax, ...(cost > 0 && { cost }), ...seconds };
}
