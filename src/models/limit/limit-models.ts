/** Rate limits of providers, one for each provider in a process, shared by all callers (L9). */
import type { Clock } from '../../ports/clock.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type {
  EmbedResponse,
  ImageResponse,
  ModelResponse,
  RerankResponse,
  TranscribeResponse,
} from '../../graph/contracts/model-messages.ts';
import type { ModelRequest, Models } from '../../ports/model.ts';
import { tokensOfCall, tokensOfText, tokensOfTexts } from '../../model-calls/message-tokens.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

// The rate limits of one provider in one process. Calls that must wait are let in in the order in which they came.

/** The limits of a provider. What is absent is not limited. */
export interface ModelLimits {
  /** The most calls in progress at the same time. */
  readonly concurrency?: number;
  readonly requestsPerMinute?: number;
  /**
   * The most tokens of requests and answers in a minute. Until its usage is known, a call counts as a quarter of its bytes plus the longest
   * answer it allows.
   */
  readonly tokensPerMinute?: number;
}

export type LimitClock = Pick<Clock, 'now' | 'setTimer'>;

/** A call that was let in. */
export interface Permit {
  /** Call when the call has ended. @param tokens - the tokens it used; if undefined, the estimate from its start counts */
  leave(tokens?: number): void;
}

interface Waiting {
  readonly tokens: number;
  readonly begin: () => void;
}

interface Begun {
  readonly at: number;
  tokens: number;
}

const minuteMs = 60_000;

class ProviderLimit {
  readonly #clock: LimitClock;
  #limits: ModelLimits = {};
  #waiting: Waiting[] = [];
  #running = 0;
  /** Calls that began in the last minute, oldest first. */
  #begun: Begun[] = [];
  #pausedUntil = 0;
  #stopTimer: (() => void) | undefined;

  constructor(clock: LimitClock) {
    this.#clock = clock;
  }

  get countsTokens(): boolean {
    return this.#limits.tokensPerMinute !== undefined;
  }

  /** Sets the limits that apply from now on. */
  configure(limits: ModelLimits): void {
    this.#limits = limits;
    this.#letIn();
  }

  /** Lets no call begin for this long, because the provider said so. */
  hold(forMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + forMs);
  }

  /** Waits until the call may begin. @param tokens - the most that it may use, as far as is known. @throws the signal's reason */
  enter(tokens: number, signal: AbortSignal): Promise<Permit> {
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const stop = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      reject(signal.reason as Error);
      this.#letIn();
    };
    const waiting: Waiting = {
      tokens,
      begin: () => {
        signal.removeEventListener('abort', stop);
        resolve(this.#permit(tokens));
      },
    };
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    this.#waiting.push(waiting);
    this.#letIn();
    return promise;
  }

  #permit(tokens: number): Permit {
    const begun: Begun = { at: this.#clock.now(), tokens };
    this.#begun.push(begun);
    this.#running += 1;
    return {
      leave: (taken = begun.tokens) => {
        begun.tokens = taken;
        this.#running -= 1;
        this.#letIn();
      },
    };
  }

  #letIn(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const waitMs = this.#waitMs(next.tokens);
      if (waitMs > 0) {
        // If the wait is infinite, the end of a running call triggers the next check, so no timer is needed.
        if (waitMs < Infinity) this.#stopTimer = this.#clock.setTimer(waitMs, () => this.#letIn());
        return;
      }
      this.#waiting.shift();
      next.begin();
    }
  }

  /** Milliseconds until a call with this many tokens may begin; Infinity if a running call must end first. */
  #waitMs(tokens: number): number {
    const { concurrency = Infinity, requestsPerMinute = Infinity, tokensPerMinute = Infinity } = this.#limits;
    if (this.#running >= concurrency) return Infinity;
    const now = this.#clock.now();
    this.#begun = this.#begun.filter(({ at }) => at + minuteMs > now);
    const byRequests = this.#begun.at(-requestsPerMinute);
    const until = Math.max(
      this.#pausedUntil,
      this.#begun.length >= requestsPerMinute && byRequests !== undefined ? byRequests.at + minuteMs : 0,
      this.#roomForTokens(tokens, tokensPerMinute),
    );
    return until - now;
  }

  /** When enough calls will be older than a minute for the tokens to fit. A call that never fits waits until no other is counted. */
  #roomForTokens(tokens: number, tokensPerMinute: number): number {
    let used = this.#begun.reduce((sum, begun) => sum + begun.tokens, 0);
    let until = 0;
    for (const begun of this.#begun) {
      if (used + tokens <= tokensPerMinute) break;
      used -= begun.tokens;
      until = begun.at + minuteMs;
    }
    return until;
  }
}

/** Limits by provider, which is the part of a model's name before the colon. */
export type LimitsByProvider = Readonly<Record<string, ModelLimits>>;

/** Does not follow the time of day: if that is set back by an hour, no provider is left waiting for an hour. */
const steadyClock: LimitClock = {
  now: () => performance.now(),
  setTimer: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

const limitNames = Object.keys({ concurrency: true, requestsPerMinute: true, tokensPerMinute: true } satisfies Record<
  keyof ModelLimits,
  true
>);

/** The limits of this process, for each clock in use. */
const known = new WeakMap<LimitClock, Map<string, ProviderLimit>>();

function limitOf(provider: string, limits: ModelLimits | undefined, clock: LimitClock): ProviderLimit {
  const byName = known.get(clock) ?? new Map<string, ProviderLimit>();
  known.set(clock, byName);
  const limit = byName.get(provider) ?? new ProviderLimit(clock);
  byName.set(provider, limit);
  if (limits !== undefined) limit.configure(limits);
  return limit;
}

/** Makes one call when its provider's limits let it in. */
type LetIn = <Response extends Pick<ModelResponse, 'usage'>>(
  request: Pick<ModelRequest, 'model' | 'signal' | 'enter'>,
  tokens: () => number,
  call: () => Promise<Response>,
) => Promise<Response>;

/** Calls that read or make media, as far as the models have them. */
function mediaOf(models: Models, letIn: LetIn): Pick<Models, 'transcribe' | 'generateImages'> {
  return {
    ...(models.transcribe !== undefined && {
      transcribe: (request) =>
        letIn(
          request,
          () => 0,
          () => models.transcribe?.(request) as Promise<TranscribeResponse>,
        ),
    }),
    ...(models.generateImages !== undefined && {
      generateImages: (request) =>
        letIn(
          request,
          () => tokensOfText(request.prompt),
          () => models.generateImages?.(request) as Promise<ImageResponse>,
        ),
    }),
  };
}

/**
 * Makes models that keep within the limits of their providers. All calls of this process to a provider share its limits, whichever object
 * they are made through; the limits set last apply. If a provider says when to retry, no call is made to it before then.
 * @param options.clock - default: one of this process, which does not follow the time of day
 */
export function limitModels(
  models: Models,
  limits: LimitsByProvider = {},
  options: { readonly clock?: LimitClock } = {},
): Models {
  refuseUnknownKeys('limitModels', options, ['clock']);
  const { clock = steadyClock } = options;
  for (const [provider, limit] of Object.entries(limits))
    refuseUnknownKeys(`the limit of ${provider}`, limit, limitNames);
  for (const [provider, limit] of Object.entries(limits)) limitOf(provider, limit, clock);
  const letIn: LetIn = async <Response extends Pick<ModelResponse, 'usage'>>(
    { model, signal, enter }: Pick<ModelRequest, 'model' | 'signal' | 'enter'>,
    tokens: () => number,
    call: () => Promise<Response>,
  ) => {
    const provider = model.split(':', 1)[0] as string;
    const limit = limitOf(provider, undefined, clock);
    // A place that all workers share goes before those of this process.
    const shared = await enter?.(provider, tokens(), signal);
    const permit = shared ?? (await limit.enter(limit.countsTokens ? tokens() : 0, signal));
    let response: Response | undefined;
    try {
      response = await call();
      return response;
    } catch (error) {
      if (error instanceof NodeFailure && error.retryAfterMs !== undefined) (shared ?? limit).hold(error.retryAfterMs);
      throw error;
    } finally {
      permit.leave(response && response.usage.inputTokens + response.usage.outputTokens);
    }
  };
  return {
    generate: (request) =>
      letIn(
        request,
        () => tokensOfCall(request),
        () => models.generate(request),
      ),
    ...(models.embed !== undefined && {
      embed: (request) =>
        letIn(
          request,
          () => tokensOfTexts(request.texts),
          () => models.embed?.(request) as Promise<EmbedResponse>,
        ),
    }),
    ...(models.rerank !== undefined && {
      rerank: (request) =>
        letIn(
          request,
          () => tokensOfTexts([request.query, ...request.documents]),
          () => models.rerank?.(request) as Promise<RerankResponse>,
        ),
    }),
    ...mediaOf(models, letIn),
  };
}
