/** The calls of a model that a conversation makes, each a step of the node: bought once, known by what was asked (X4, X6). */
import type { Amounts } from '../graph/amounts.ts';
import type { ModelAccess, ModelCall, ModelMessage, ModelResponse } from '../graph/contracts/model-contract.ts';
import type { NodeContext, RetryPolicy } from '../graph/contracts/node-contract.ts';
import type { TraceSpan } from '../graph/contracts/trace-contract.ts';
import { askModel } from './ask-model.ts';
import { CallRecord, type RecordedCall } from './call-record.ts';

/** All of a request but its messages: it stays the same while a conversation grows. */
export type ModelSettings = Omit<ModelCall, 'messages'>;

/** How calls are made, beside what is asked. */
export interface ModelStepOptions {
  /** Tells the calls of several conversations in one node apart. Default `model`. */
  readonly name?: string;
  /** Default: three attempts where the model is not available. */
  readonly retry?: RetryPolicy;
  /** Of one attempt. */
  readonly timeoutMs?: number;
  /** A call that offers tools which the provider runs may be repeated without harm. Default false. */
  readonly idempotent?: boolean;
  /** Models that are asked in turn where the one before gives no answer. */
  readonly fallbacks?: readonly string[];
  /** Units that a call spends beside those of Q7.1: `tokens`, read and written together, and `seconds`, as long as it takes. */
  readonly counted?: readonly string[];
}

/** What goes with one call. */
export interface CallNotes {
  /** Recorded with the answer. */
  readonly note?: unknown;
  /** The most that it spends, by unit. */
  readonly atMost?: Amounts;
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
  /** The last call was on record. */
  #isRecorded = false;

  /** @param span - in which the calls are told. Default: the attempt's */
  constructor(ctx: NodeContext, options: ModelStepOptions = {}, span?: TraceSpan) {
    this.#ctx = ctx;
    this.#options = options;
    this.#span = span;
    this.#models = ctx.models;
    this.#record = new CallRecord(ctx, options.name ?? 'model');
  }

  /** What was noted of the call after the last one, if both are on record: what happened between them is known. */
  noteOfNext(): unknown {
    return this.#isRecorded ? this.#record.past[this.#record.madeCount]?.note : undefined;
  }

  /**
   * Makes the call, or returns what is recorded of it.
   * @throws AGENT_DIVERGED the request is none of those on record at this point, and the run is no fork; what the models throw
   */
  async call(
    settings: ModelSettings,
    messages: readonly ModelMessage[],
    { note, atMost }: CallNotes = {},
  ): Promise<ModelResponse> {
    const ctx = this.#ctx;
    const { retry = defaultRetry, timeoutMs, idempotent = false, fallbacks = [] } = this.#options;
    const { name, key, marks, isRecorded } = this.#record.enter(settings, messages);
    const options = {
      effect: 'external',
      // The provider acts on the world in a call that offers tools of its own.
      idempotent: idempotent || settings.tools?.some((tool) => 'providerTool' in tool) !== true,
      input: key,
      retry,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(atMost === undefined ? {} : { atMost }),
    } as const;
    const recorded = await ctx.step(
      name,
      options,
      async ({ idempotencyKey, signal, attempt }): Promise<RecordedCall<ModelResponse>> => {
        // Pieces of an attempt that is over are void: a page that shows them drops them.
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
        return { ...answered, marks, ...(note !== undefined && { note }) };
      },
    );
    this.#record.leave();
    this.#isRecorded = isRecorded;
    return recorded.response;
  }

  /** Answers that were given in this attempt. */
  get madeCount(): number {
    return this.#record.madeCount;
  }

  /** All answers on record were given: the next call is a new one. */
  get isCaughtUp(): boolean {
    return this.#record.madeCount >= this.#record.past.length;
  }

  async #generate(...[call, told]: Parameters<ModelAccess['generate']>): Promise<ModelResponse> {
    const { counted = [] } = this.#options;
    const beganAt = this.#ctx.now();
    try {
      const response = await this.#models.generate(call, told);
      const { inputTokens, outputTokens } = response.usage;
      if (counted.includes('tokens')) this.#ctx.spend({ tokens: inputTokens + outputTokens });
      return response;
    } finally {
      if (counted.includes('seconds')) this.#ctx.spend({ seconds: (this.#ctx.now() - beganAt) / 1_000 });
    }
  }
}
