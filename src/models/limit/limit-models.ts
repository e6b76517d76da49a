/** One limit for each provider and process, whoever calls it (L9). */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { ModelResponse } from '../../graph/contracts/model-contract.ts';
import type { ModelRequest, Models } from '../../ports/model.ts';
import { tokensOfAll, tokensOfText } from '../../ports/message-tokens.ts';
import { ProviderLimit, type LimitClock, type ModelLimits } from './provider-limit.ts';

/** By the name of the provider, which stands before the colon of a model. */
export type LimitsByProvider = Readonly<Record<string, ModelLimits>>;

const systemClock: LimitClock = {
  now: () => Date.now(),
  setTimer: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Of this process, for each clock that is used in it. */
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
 * Models that ask a provider no more than it allows: all calls of this process to one provider share its limits, whichever models they
 * were made with; what was given last holds. Where a provider says when to come again, nobody calls it before then.
 * @param options.clock - default: the machine's
 */
export function limitModels(
  models: Models,
  limits: LimitsByProvider = {},
  { clock = systemClock }: { readonly clock?: LimitClock } = {},
): Models {
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
