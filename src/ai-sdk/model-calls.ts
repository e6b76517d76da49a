/** The model calls of one conversation, each a step that is known by what was asked (A2, A3). */
import { CallRecord, type RecordedCall } from '../agents/call-record.ts';
import { CairnError } from '../errors.ts';
import type { SecretReader } from '../graph/contracts/context-access.ts';
import type { RetryPolicy, StepContext } from '../graph/contracts/node-contract.ts';
import { costsOf, withoutSecrets } from '../ports/model-access.ts';
import type { AskedCalls } from './asked-calls.ts';
import type { Attempt } from './attempt.ts';
import { providerErrorOf } from './provider-error.ts';
import type { AnswerDefaults, RecordedAnswer } from './recorded-answer.ts';
import { RequestCopies } from './request-copies.ts';
import type { SdkCallOptions, SdkModel, SdkUsage } from './sdk-types.ts';

/** How the calls of a model are made. */
export interface ModelOptions {
  /** Default: three attempts where the provider says that it may pass. */
  readonly retry?: RetryPolicy;
  /** Of one attempt. */
  readonly timeoutMs?: number;
  /** A call that offers tools which the provider runs may be repeated without harm. Default false. */
  readonly idempotent?: boolean;
}

/** What one attempt of a call is made with. */
export interface CallAttempt {
  /** The request, under the signals of the attempt and of the caller, with the step's key for the provider. */
  readonly options: SdkCallOptions;
  readonly step: StepContext;
  readonly defaults: AnswerDefaults;
}

/** A call that failed with what the provider said, when pieces of its answer had been handed on. */
export class InterruptedCall extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

const defaultRetry: RetryPolicy = { attempts: 3, on: ['MODEL_UNAVAILABLE'], jitter: 0.2 };

export class ModelCalls {
  readonly #attempt: Attempt;
  readonly #record: CallRecord<object>;
  readonly #copies = new RequestCopies();
  readonly #asked: AskedCalls;
  readonly #createId: () => string;
  /** Tools that look like the provider's and are run here. */
  readonly #ownTools: ReadonlySet<string>;

  constructor(
    attempt: Attempt,
    name: string,
    parts: { readonly asked: AskedCalls; readonly createId: () => string; readonly ownTools: ReadonlySet<string> },
  ) {
    this.#attempt = attempt;
    this.#record = new CallRecord(attempt.ctx, `${name} model`);
    this.#asked = parts.asked;
    this.#createId = parts.createId;
    this.#ownTools = parts.ownTools;
  }

  /**
   * Makes the call, or returns what is recorded of it.
   * @throws AGENT_DIVERGED, and ends the attempt; InterruptedCall; what the provider said
   */
  async call(
    model: Pick<SdkModel, 'provider' | 'modelId'>,
    request: SdkCallOptions,
    how: ModelOptions,
    make: (attempt: CallAttempt) => Promise<RecordedAnswer>,
  ): Promise<RecordedAnswer> {
    const attempt = this.#attempt;
    attempt.check();
    if (attempt.stepKind === 'tool')
      attempt.refuse('model', 'it is called inside a tool that is one step; declare the tool composed');
    const defaults = { id: this.#createId(), modelId: model.modelId, at: attempt.ctx.now() };
    try {
      const { settings, messages } = this.#copies.copyOf(model, request);
      while (this.#record.isDivergent(settings, messages)) if (!(await attempt.progress())) break;
      const { name, key, marks, isRecorded } = this.#record.enter(settings, messages);
      const stepOptions = { ...this.#optionsOf(request, how), input: key };
      const { response } = await attempt.during(() =>
        attempt.ctx.step(name, stepOptions, async (step): Promise<RecordedCall<RecordedAnswer>> => {
          // Pieces of an attempt that is over are void: a page that shows them drops them.
          if (isRecorded || step.attempt > 1) attempt.ctx.emit({ type: 'model-restarted', call: step.idempotencyKey });
          const made = await make({ options: optionsFor(request, step, attempt.ctx.secrets), step, defaults });
          return { response: made, marks };
        }),
      );
      this.#record.leave();
      this.#asked.note(response);
      return response;
    } catch (error) {
      throw this.#judge(error);
    }
  }

  #optionsOf({ tools = [] }: SdkCallOptions, { retry = defaultRetry, timeoutMs, idempotent = false }: ModelOptions) {
    const isActing = tools.some(({ type, name }) => type === 'provider' && !this.#ownTools.has(name));
    return {
      effect: 'external' as const,
      // The provider acts on the world in a call that offers tools of its own.
      idempotent: idempotent || !isActing,
      retry,
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
  }

  /** What a provider said is the SDK's to handle; all else ends the attempt. */
  #judge(error: unknown): unknown {
    const said = providerErrorOf(error);
    if (said !== undefined) return said.isInterrupted ? new InterruptedCall(said.error) : said.error;
    return CairnError.is(error) ? this.#attempt.end(error) : error;
  }
}

function optionsFor(
  request: SdkCallOptions,
  { idempotencyKey, signal }: StepContext,
  secrets: SecretReader,
): SdkCallOptions {
  const { abortSignal, headers, prompt } = request;
  return {
    ...request,
    prompt: withoutSecrets(prompt, secrets),
    abortSignal: abortSignal === undefined ? signal : AbortSignal.any([signal, abortSignal]),
    headers: { ...headers, 'Idempotency-Key': idempotencyKey },
  };
}

/** Says what a call has cost. */
export function spendOn(step: StepContext, { inputTokens, outputTokens }: SdkUsage): void {
  const usage = { inputTokens: inputTokens.total ?? 0, outputTokens: outputTokens.total ?? 0 };
  step.spend(costsOf({ usage }));
}
