/** Decides whether a failed attempt is retried, and after which delay (E6). */
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import { failureNote } from '../visit-records/failure-note.ts';
import { type Effort, effortKeyOf } from '../visit-records/intent.ts';
import { appliedOf, isEffect, savedIntent, type RunCore } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';

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

/** What follows a failed attempt. */
export type AfterFailure =
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** `reconcile` found that the effect happened. */
  | { readonly kind: 'happened'; readonly output: unknown }
  /** `isWithheld`: its policy has attempts left, and none is made, since the effect may have happened. */
  | { readonly kind: 'fail'; readonly isWithheld?: true };

const withheld: AfterFailure = { kind: 'fail', isWithheld: true };

/**
 * Decides by the effort's retry policy and effect class. An effect that may have happened is retried only if repeating it does no harm, if
 * it ended and reported failure itself, or if `reconcile` says that it did not happen. If none of this is known, the failure stands.
 *
 * @param attempt - number of the failed attempt, counted from 1 within its retry budget
 */
export function afterFailure(
  core: RunCore,
  effort: Effort,
  error: unknown,
  attempt: number,
): AfterFailure | Promise<AfterFailure> {
  const facts = factsOf(error);
  // Waiting does not increase a budget.
  if (facts.code === 'BUDGET_EXCEEDED') return { kind: 'fail' };
  // It would end the next process alike. A person may resume the run.
  if (CairnError.is(error, 'NODE_KILLED', 'NODE_BLOCKED')) return { kind: 'fail' };
  const delayMs = retryDelayMs(effort.retry, attempt, facts, () => core.env.ids.random());
  if (delayMs === undefined) return { kind: 'fail' };
  const applied = appliedOf(error);
  if (!isEffect(effort) || effort.isIdempotent || applied === 'no') return { kind: 'retry', delayMs };
  if (effort.reconcile !== undefined) return askTheWorld(core, effort, delayMs);
  return applied === 'ended' ? { kind: 'retry', delayMs } : withheld;
}

async function askTheWorld(core: RunCore, effort: Effort, delayMs: number): Promise<AfterFailure> {
  try {
    const found = await effort.reconcile?.({ idempotencyKey: effortKeyOf(core, effort) });
    if (found?.happened === true) return { kind: 'happened', output: found.output };
    return found?.happened === false ? { kind: 'retry', delayMs } : withheld;
  } catch {
    return withheld;
  }
}

/**
 * Records that an effort is retried, and when, so that the count and the delay survive a crash. An effect that may have happened keeps its
 * key (X3). @returns when, in epoch ms
 */
export function planRetry(
  core: RunCore,
  effort: Effort,
  next: { readonly attempt: number; readonly delayMs: number; readonly error: unknown },
): number {
  const { attempt, delayMs, error } = next;
  const retryAt = core.env.clock.now() + delayMs;
  const applied = appliedOf(error);
  const mayHaveHappened = isEffect(effort) && applied !== 'no' && (effort.isIdempotent || applied === 'ended');
  const saved = savedIntent(effort.intent, effort.keyIn(core.keySeed), mayHaveHappened);
  effort.write({ attempt, retryAt, ...saved, ...(applied === 'ended' && mayHaveHappened && { applied }) });
  // Record whether the author's function decided, because its code is covered by `codeHash`.
  const by = effort.retry?.when === undefined ? {} : { by: 'when' };
  const failed = failureNote(core, effort.name, error);
  core.draft.note({ kind: 'retry', ...effort.place, attempt, error: failed, ...by });
  core.env.monitor?.retrying(core.run, { effort: effort.name, attempt, delayMs, error: failed });
  return retryAt;
}
