/** Tries a stage again that consists of several steps. Each attempt does the work anew, and the delays between them are waits of the run. */
import { CairnError } from '../../../../errors.ts';
import type { RetryPolicy } from '../../../../graph/contracts/retry-policy.ts';
import { failed, isFinal, isOfRun, retryCode } from './stage-failure.ts';
import type { StageContext } from './stage-parts.ts';
import type { StageOutcome } from './stage-outcome.ts';

/** @throws what the last attempt failed with */
export async function inAttempts(
  { ctx, parts }: StageContext,
  work: (attempt: number) => Promise<StageOutcome>,
): Promise<StageOutcome> {
  const { retry } = parts;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const outcome = await work(attempt);
      if (outcome.status !== 'retry') return outcome;
      throw failed(outcome, retryCode);
    } catch (error) {
      if (isOfRun(ctx, error) || isFinal(error) || CairnError.is(error) || attempt >= retry.attempts) throw error;
    }
    await ctx.sleepUntil(ctx.now() + delayAfter(attempt, retry), `attempt ${attempt + 1}`);
  }
}

/** The delays are those of steps, but without jitter, since a function that is repeated must not draw random numbers. */
function delayAfter(
  attempt: number,
  { backoff, delayMs = 1_000, delayMsMax = 60_000, factor = 2 }: RetryPolicy,
): number {
  return Math.min(backoff === 'fixed' ? delayMs : delayMs * factor ** (attempt - 1), delayMsMax);
}
