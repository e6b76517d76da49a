/** Rate limits of providers, one for each provider in a process, shared by all callers (L9). */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { ModelResponse } from '../../graph/contracts/model-contract.ts';
import type { ModelRequest, Models } from '../../ports/model.ts';
import { tokensOfAll, tokensOfText } from '../../model-calls/message-tokens.ts';
import { ProviderLimit, type LimitClock, type ModelLimits } from './provider-limit.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** Limits by provider, which is the part of a model's name before the colon. */
export type LimitsByProvider = Readonly<Record<string, ModelLimits>>;

const systemClock: LimitClock = {
  now: () => Date.now(),
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

/**
 * Makes models that keep within the limits of their providers. All calls of this process to a provider share its limits, whichever object
 * they are made through; the limits set last apply. If a provider says when to retry, no call is made to it before then.
 * @param options.clock - default: the system clock
 */
export function limitModels(
  models: Models,
  limits: LimitsByProvider = {},
  options: { readonly clock?: LimitClock } = {},
): Models {
  refuseUnknownKeys('limitModels', options, ['clock']);
  const { clock = systemClock } = options;
  for (const [provider, given] of Object.entries(limits))
    refuseUnknownKeys(`the limit of ${provider}`, given, limitNames);
  for (const [provider, given] of Object.entries(limits)) limitOf(provider, given, clock);
  return {
    generate: async (request) => {
      const limit = limitOf(request.model.split(':', 1)[0] as string, undefined, clock);
      const permit = await limit.enter(limit.countsTokens ? tokensOf(request) : 0, request.signal);
      let response: ModelResponse | undefined;
      try {
        response = await models.generate(request);
        return response;
      } catch (error) {
        if (error instanceof NodeFailure && error.retryAfterMs !== undefined) limit.hold(error.retryAfterMs);
        throw error;
      } finally {
        permit.leave(response && response.usage.inputTokens + response.usage.outputTokens);
      }
    },
  };
}

function tokensOf({ messages, tools = [], tokensMax = 0 }: ModelRequest): number {
  return tokensOfAll(messages) + tokensOfText(JSON.stringify(tools)) + tokensMax;
}
