/** When a failed attempt is tried again, and after how long (E6). */
import type { RetryPolicy } from '../../graph/node-contract.ts';

const defaultDelayMs = 1_000;
const defaultDelayMsMax = 60_000;

/** What is known of a failure, for the policy. */
export interface FailureFacts {
  readonly code: string;
  readonly retryAfterMs: number | undefined;
}

/**
 * Delay before the next attempt, in ms; undefined when the policy allows none.
 *
 * @param attempt - the attempt that failed, counted from 1 within its budget
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
  const base = policy.delayMs ?? defaultDelayMs;
  const growth = { fixed: 1, linear: attempt, exponential: 2 ** (attempt - 1) }[policy.backoff ?? 'exponential'];
  const capped = Math.min(base * growth, policy.delayMsMax ?? defaultDelayMsMax);
  const jittered = policy.jitter === undefined ? capped : capped * (1 - policy.jitter * random());
  return Math.max(Math.round(jittered), failure.retryAfterMs ?? 0);
}

/** What a retry policy reads of whatever was thrown. */
export function factsOf(error: unknown): FailureFacts {
  const { code, name, retryAfterMs } = (typeof error === 'object' && error !== null ? error : {}) as Record<
    string,
    unknown
  >;
  return {
    code: typeof code === 'string' ? code : typeof name === 'string' ? name : 'FAILED',
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
  };
}
