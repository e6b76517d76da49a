/** The model calls of a conversation, each a step of the node. A call is paid for once, and identified by its request (X4, X6). */
import type { Amounts } from '../../graph/amounts.ts';
import type { ModelAccess, ModelCall, ModelMessage, ModelResponse } from '../../graph/contracts/model-contract.ts';
import { isCutOff } from '../../graph/contracts/whole-answer.ts';
import { mayComeWhole } from './answer-bound.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import { spendSeconds, spendTokens } from '../../graph/contracts/spend-counted.ts';
import type { TraceSpan } from '../../graph/contracts/trace-contract.ts';
import { askModel } from './ask-model.ts';
import { CallRecord, type RecordedCall } from './call-record.ts';

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
  /** Whether it does no harm to repeat a call that offers tools run by the provider. Default false. */
  readonly idempotent?: boolean;
  /** Models to try in order if the model gives no answer. */
  readonly fallbacks?: readonly string[];
  /**
   * Further units that calls spend whether or not a budget around them names these (A13): `tokens` (input and output together) and `seconds`
   * (the duration).
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

const defaultRetry: RetryPolicy = { attempts: 3, on: ['MODEL_UNAVAILABLE'], jitter: 0.2 };

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
    this.#record = new CallRecord(ctx, options.name ?? 'model');
  }

  /** The note of the next recorded call, if the last call was recorded too. It tells what happened between the two. */
  noteOfNext(): unknown {
    return this.#isRecorded ? this.#record.past[this.#record.madeCount]?.note : undefined;
  }

  /** Whether the last answer was cut off under a lower bound of its tokens than the call has now, so that asking anew makes sense. */
  get mayComeWhole(): boolean {
    return this.#mayComeWhole;
  }

  /**
   * Makes the call, or returns its recorded answer.
   * @throws AGENT_DIVERGED recorded answers are left, but none is for this request, and the run is not a fork; the models' errors
   */
  async call(
    settings: ModelSettings,
    messages: readonly ModelMessage[],
    { note, atMost }: CallNotes = {},
  ): Promise<ModelResponse> {
    const ctx = this.#ctx;
    const { retry = defaultRetry, timeoutMs, idempotent = false, fallbacks = [] } = this.#options;
    const { name, key, marks, isRecorded, isOlder } = this.#record.enter(settings, messages);
    // An answer on record spends nothing: what it might have spent is not worth counting.
    const isGiven = isRecorded && !this.isCaughtUp;
    // A call that offers the provider's own tools may act on the world.
    const isHarmless = idempotent || settings.tools?.some((tool) => 'providerTool' in tool) !== true;
    const options = {
      effect: 'external',
      idempotent: isHarmless,
      forgettable: isHarmless,
      about: `a call of the model ${settings.model}`,
      input: key,
      retry,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(atMost === undefined || isGiven ? {} : { atMost }),
    } as const;
    const recorded = await ctx.step(
      name,
      options,
      async ({ idempotencyKey, signal, attempt }): Promise<RecordedCall<ModelResponse>> => {
        // Announces that pieces of an earlier attempt are void, so that a page showing them removes them.
        if (isRecorded || attempt > 1) ctx.emit({ type: 'model-restarted', call: idempotencyKey });
        const told = { idempotencyKey, signal, span: this.#span };
        const answered = await askModel(
          settings,
          messages,
          fallbacks,
          (call) => this.#generate(call, told),
          (from, to, code) => {
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
      },
    );
    this.#record.leave();
    this.#isRecorded = isRecorded;
    const { response, tokensMax, by } = recorded;
    this.#mayComeWhole = !isOlder && mayComeWhole(response.finishReason, tokensMax, this.#boundOf(settings, by));
    return response;
  }

  /** Number of answers given in this attempt. */
  get madeCount(): number {
    return this.#record.madeCount;
  }

  /** Whether every recorded answer was given, so that the next call is new. */
  get isCaughtUp(): boolean {
    return this.#record.madeCount >= this.#record.past.length;
  }

  /** The most tokens that an answer may have. @param by - the fallback model that gives it, if one does */
  #boundOf({ model, tokensMax }: ModelSettings, by: string = model): number | undefined {
    return tokensMax ?? this.#models.tokensMaxOf?.(by);
  }

  async #generate(...[call, told]: Parameters<ModelAccess['generate']>): Promise<ModelResponse> {
    const [ctx, { counted }] = [this.#ctx, this.#options];
    const generate = async (): Promise<ModelResponse> => {
      const response = await this.#models.generate(call, told);
      spendTokens(ctx, ctx, response.usage, counted);
      return response;
    };
    return spendSeconds(ctx, ctx, generate, counted);
  }
}
