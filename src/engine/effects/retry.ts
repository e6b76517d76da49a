/** Decides whether a failed attempt is retried, and after which delay (E6). */
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';

const defaultDelayMs = 1_000;
const defaultFactor = 2;
const defaultDelayMsMax = 60_000;

/** What a retry policy knows about a failure. */
export interface FailureFacts {
  readonly error: unknown;
  readonly code: string;
  readonly retryAfterMs: number | undefined;
}

/**
 * Delay before the next attempt in ms; undefined if the policy allows none.
 *
 * @param attempt - number of the failed attempt, counted from 1 within its retry budget
 * @param random - uniform in [0, 1)
 */
export function retryDelayMs(
  policy: RetryPolicy | undefined,
  attempt: number,
  failure: FailureFacts,
  random: () => number,
): number | undefined {
  if (policy === undefined || attempt >= policy.attempts) return undefined;
  if (policy.on !== undefined && !policy.on.includes(failure.code)) return undefined;
  if (!isWanted(policy, failure, attempt)) return undefined;
  const base = policy.delayMs ?? defaultDelayMs;
  const { factor = defaultFactor, jitter = 0 } = policy;
  const growth = { fixed: 1, linear: attempt, exponential: factor ** (attempt - 1) }[policy.backoff ?? 'exponential'];
  const capped = Math.min(base * growth, policy.delayMsMax ?? defaultDelayMsMax);
  const jittered = jitter === 0 ? capped : capped * (1 + jitter * (2 * random() - 1));
  return Math.max(Math.round(jittered), failure.retryAfterMs ?? 0);
}

/** Asks the policy's function. If the function fails, the answer is no, so that nothing is repeated by mistake. */
function isWanted({ when }: RetryPolicy, { error, code }: FailureFacts, attempt: number): boolean {
  if (when === undefined) return true;
  try {
    const answer: unknown = when({ error, code, attempt });
    return answer === true;
  } catch {
    return false;
  }
}

/** Reads these facts from whatever was thrown. */
export function factsOf(error: unknown): FailureFacts {
  const { code, name, retryAfterMs } = (typeof error === 'object' && error !== null ? error : {}) as Record<
    string,
    unknown
  >;
  return {
    error,
    code: typeof code === 'string' ? code : typeof name === 'string' ? name : 'FAILED',
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  };
}
