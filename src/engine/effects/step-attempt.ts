/** Makes one attempt of a step. An effect is announced first and starts when that is durable. At its deadline the attempt's signal is aborted (E3, E6). */
import { effortKeyOf, type StepEffort, isLate, withdraw } from '../visit-records/intent.ts';
import { isEffect, type RunCore, guardCall, never } from '../live-run/run-core.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { StepContext, StepOptions } from '../../graph/contracts/node-contract.ts';
import { spend } from '../visit-records/account.ts';
import { enterEvents } from '../visit-records/recorded-events.ts';
import type { Activation } from '../live-run/loop.ts';
import { AttemptScope, callInScope, type Charge } from '../live-run/attempt-scope.ts';
import { announceHere } from './hand-over.ts';
import { attemptOver } from '../live-run/open-calls.ts';
import { armDeadline, afterGrace } from './deadline.ts';

/** The places of an attempt, which may have to be waited for anew. */
export interface HeldPlaces {
  isStale(): boolean;
  renew(): Promise<void>;
}

/**
 * Announces an effect. Returns when that is durable, together with everything before it, and the lease holds; what would begin too late is
 * announced anew (X3.13). Never returns if the effect must not start any more.
 * @throws NODE_CALL_REFUSED the function that made the call is over; RUN_CANCELLED
 */
export async function announceAttempt(
  core: RunCore,
  effort: StepEffort,
  attempt: number,
  places?: HeldPlaces,
): Promise<void> {
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
    if (mayBegin && !standing.isLeaseOver(env.clock) && places?.isStale() !== true && !isLate(core, announced)) return;
    if (activation.generation === generation && activation.phase === 'running') {
      withdraw(core, announced);
      core.loop.requestTurn();
    }
    if (!mayBegin) break;
    if (places?.isStale() === true) await places.renew();
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
  /** The limits of which it has places. */
  readonly limit?: StepOptions['limit'];
}

/** Calls the step's function. @throws NODE_TIMED_OUT, and whatever the function throws */
export async function callAttempt<T>(
  core: RunCore,
  effort: StepEffort,
  { attempt, charge, limit }: StepAttempt,
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
    { step: effort.stepKey, charge, ...(limit !== undefined && { limit }) },
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
