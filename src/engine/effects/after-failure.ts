/** Decides what follows a failed attempt: another attempt, a result after all, or the failure (E6, X3). */
import { errorSummary } from '../admit/encode-error.ts';
import type { Effort } from '../record/effort.ts';
import { effortKeyOf } from '../record/intent.ts';
import { appliedOf, isEffect, keptIntent } from '../run/effect.ts';
import type { RunCore } from '../run/run-core.ts';
import { factsOf, retryDelayMs } from './retry.ts';

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
 * key (X3).
 */
export function planRetry(
  core: RunCore,
  effort: Effort,
  next: { readonly attempt: number; readonly retryAt: number; readonly error: unknown },
): void {
  const { attempt, retryAt, error } = next;
  const applied = appliedOf(error);
  const mayHaveHappened = isEffect(effort) && applied !== 'no' && (effort.isIdempotent || applied === 'ended');
  const kept = keptIntent(effort.fields()?.intent, effort.keyIn(core.keySeed), mayHaveHappened);
  effort.write({ attempt, retryAt, ...kept, ...(applied === 'ended' && mayHaveHappened && { applied }) });
  // Record whether the author's function decided, because its code is covered by `codeHash`.
  const by = effort.retry?.when === undefined ? {} : { by: 'when' };
  core.draft.note({ kind: 'retry', ...effort.place, attempt, error: errorSummary(core, error), ...by });
}
