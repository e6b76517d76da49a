/** Decides whether a failed attempt is retried, and after which delay (E6). */
import type { RetryPolicy } from '../../graph/contracts/contracts.ts';
import { failureNote } from '../visit-records/failure-note.ts';
import { type Effort, effortKeyOf, type StepEffort, isLate, withdraw } from '../visit-records/intent.ts';
import { appliedOf, isEffect, savedIntent, type RunCore, guardCall, never } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { StepContext } from '../../graph/contracts/node-contract.ts';
import { spend } from '../visit-records/account.ts';
import { enterEvents } from '../visit-records/list-record.ts';
import type { Activation } from '../live-run/loop.ts';
import { AttemptScope, callInScope, type Charge } from '../live-run/attempt-scope.ts';
import { announceHere } from './hand-over.ts';
import { attemptOver } from '../live-run/open-calls.ts';

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

// Decides what follows a failed attempt: another attempt, a result after all, or the failure (E6, X3).

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
  if (CairnError.is(error, 'NODE_KILLED')) return { kind: 'fail' };
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
  const saved = savedIntent(effort.fields()?.intent, effort.keyIn(core.keySeed), mayHaveHappened);
  effort.write({ attempt, retryAt, ...saved, ...(applied === 'ended' && mayHaveHappened && { applied }) });
  // Record whether the author's function decided, because its code is covered by `codeHash`.
  const by = effort.retry?.when === undefined ? {} : { by: 'when' };
  core.draft.note({ kind: 'retry', ...effort.place, attempt, error: failureNote(core, effort.name, error), ...by });
}

// Deadlines of attempts: when one passes, the attempt's signal is aborted, and the attempt fails (E6, O2).

/** What follows when the time of an attempt is over. */
export interface DeadlineCalls {
  /** The time is over: the attempt's signal is to be aborted. */
  readonly onLate: (error: CairnError) => void;
  /** The attempt has failed, whatever its function still does. Comes at once; of an effect, when it has had its grace to end. */
  readonly onOver: (error: CairnError) => void;
}

/**
 * Calls back with NODE_TIMED_OUT when the attempt's time is over by the monotonic clock, so setting the wall clock does not end attempts.
 * An attempt without a timeout has no deadline, unless it is an effect: other owners wait only for a limited time. An effect whose signal
 * is aborted has `cancelGraceMs` to end, as a program has that ends what it began: nothing follows it while it may still act on the world.
 *
 * @param begunMs - when the attempt began, in monotonic ms
 * @returns a function that cancels the deadline; undefined if the attempt has none
 */
export function armDeadline(
  core: RunCore,
  effort: Effort,
  begunMs: number,
  { onLate, onOver }: DeadlineCalls,
): (() => void) | undefined {
  const { clock, limits } = core.env;
  const timeoutMs = effort.timeoutMs ?? (isEffect(effort) ? limits.effectMs : undefined);
  if (timeoutMs === undefined) return undefined;
  const delayMs = Math.max(0, begunMs + timeoutMs - clock.monotonic());
  let cancel = clock.setTimer(delayMs, () => {
    const error = new CairnError('NODE_TIMED_OUT', { node: effort.name, timeoutMs });
    onLate(error);
    cancel = afterGrace(core, effort, () => onOver(error));
  });
  return () => cancel();
}

/** Calls back when an attempt whose signal was aborted is over: at once; of an effect, when it has had its grace to end. */
export function afterGrace({ env: { clock, limits } }: RunCore, effort: Effort, onOver: () => void): () => void {
  if (isEffect(effort)) return clock.setTimer(limits.cancelGraceMs, onOver);
  onOver();
  return () => undefined;
}

// Makes one attempt of a step. An effect is announced first and starts when that is durable. At its deadline the attempt's signal is
// aborted (E3, E6).

/**
 * Announces an effect. Returns when that is durable, together with everything before it, and the lease holds; what would begin too late is
 * announced anew (X3.13). Never returns if the effect must not start any more.
 * @throws NODE_CALL_REFUSED the function that made the call is over; RUN_CANCELLED
 */
export async function announceAttempt(core: RunCore, effort: StepEffort, attempt: number): Promise<void> {
  const { standing, agenda, env } = core;
  const { activation } = effort;
  const { generation } = activation;
  const isStopped = (): boolean => activation.isStopped && activation.generation === generation;
  for (;;) {
    if (isStopped()) guardCall(activation, generation, 'step');
    enterEvents(core, activation);
    const announced = announceHere(core, effort, attempt);
    agenda.gatedCount += 1;
    await core.loop.durable();
    agenda.gatedCount -= 1;
    const mayBegin = !isStopped() && standing.mayFinish;
    if (mayBegin && !standing.isLeaseOver(env.clock) && !isLate(core, announced)) return;
    if (activation.generation === generation && activation.phase === 'running') {
      withdraw(core, announced);
      core.loop.requestTurn();
    }
    if (!mayBegin) break;
    await new Promise<void>((resolve) => standing.whenLeased(env.clock, resolve));
  }
  if (isStopped()) guardCall(activation, generation, 'step');
  // The function may end by itself then, so that the run need not wait for the grace.
  if (core.standing.isCancelling) activation.signal.throwIfAborted();
  return never();
}

/** The details of one attempt of a step. */
export interface StepAttempt {
  readonly attempt: number;
  readonly charge: Charge;
}

/** Calls the step's function. @throws NODE_TIMED_OUT, and whatever the function throws */
export async function callAttempt<T>(
  core: RunCore,
  effort: StepEffort,
  { attempt, charge }: StepAttempt,
  fn: (step: StepContext) => Promise<T> | T,
): Promise<T> {
  const { activation } = effort;
  const { generation } = activation;
  const own = new StepSignal();
  const { promise: isOver, reject } = Promise.withResolvers<never>();
  const onLate = (error: unknown): void => own.abort(error);
  let cancel = armDeadline(core, effort, core.env.clock.monotonic(), { onLate, onOver: reject });
  const scope = new AttemptScope(
    core,
    activation,
    attempt,
    (error) => {
      if (activation.generation !== generation || activation.phase !== 'running') return false;
      cancel?.();
      own.abort(error);
      cancel = afterGrace(core, effort, () => reject(error));
      return true;
    },
    { step: effort.stepKey, charge },
  );
  const spendHere = (amounts: Amounts): void => spend(core, charge, amounts);
  const step: StepContext = {
    idempotencyKey: effortKeyOf(core, effort),
    attempt,
    spend: spendHere,
    get signal() {
      return own.within(activation);
    },
  };
  const run = (): Promise<T> | T => callInScope(scope, () => fn(step));
  try {
    return await Promise.race([isEffect(effort) ? runEffect(core, effort, charge, run) : run(), isOver]);
  } finally {
    cancel?.();
    scope.end();
    own.end();
  }
}

/** The signal of one attempt of a step. It is made only for functions that read it. */
class StepSignal {
  #controller: AbortController | undefined;
  #signal: AbortSignal | undefined;
  /** Why the attempt is to end: its time is over, or an error arose in it that nobody caught. */
  #late: { readonly error: unknown } | undefined;
  #isOver = false;

  within(activation: Activation): AbortSignal {
    if (this.#signal === undefined) {
      this.#controller = new AbortController();
      this.#signal = AbortSignal.any([activation.signal, this.#controller.signal]);
      if (this.#late !== undefined || this.#isOver)
        this.#controller.abort(this.#late === undefined ? attemptOver() : this.#late.error);
    }
    return this.#signal;
  }

  abort(error: unknown): void {
    this.#late ??= { error };
    this.#controller?.abort(error);
  }

  /** @throws NODE_TIMED_OUT its time was over, however it ended after that; the same for an error that nobody caught */
  end(): void {
    this.#isOver = true;
    if (this.#late !== undefined) throw this.#late.error;
    this.#controller?.abort(attemptOver());
  }
}

/** Calls an effect's function, and notes how it ended, also when nobody waits for it any more. */
async function runEffect<T>(core: RunCore, effort: StepEffort, charge: Charge, run: () => Promise<T> | T): Promise<T> {
  const end = core.own.begin(effortKeyOf(core, effort));
  try {
    const returned = await run();
    end({ returned, spent: charge.spent });
    return returned;
  } catch (thrown) {
    end({ thrown, spent: charge.spent });
    throw thrown;
  }
}
