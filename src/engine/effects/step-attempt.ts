/**
 * Makes one attempt of a step. An effect is announced first and starts when that is durable. At its deadline the attempt is told to stop
 * (E3, E6).
 */
import type { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { StepContext } from '../../graph/contracts/node-contract.ts';
import { spend } from '../record/account.ts';
import type { StepEffort } from '../record/effort.ts';
import { announce, effortKeyOf, withdraw } from '../record/intent.ts';
import { enterEvents } from '../record/told-events.ts';
import { isEffect } from '../run/effect.ts';
import { enterEffect } from '../run/effects-in-flight.ts';
import { guardCall, never } from '../run/guard-call.ts';
import type { Activation } from '../run/frame-run.ts';
import { callInsideStep, type Charge } from '../run/ledger.ts';
import { attemptOver } from '../run/open-calls.ts';
import type { RunCore } from '../run/run-core.ts';
import { claimLost } from '../run/standing.ts';
import { armDeadline } from './deadline.ts';

/**
 * Announces an effect. Returns when that is durable, together with everything before it. Never returns if the effect must not start any
 * more.
 *
 * @returns the attempt's deadline in monotonic ms
 * @throws NODE_CALL_REFUSED the function that made the call is over; RUN_CANCELLED
 */
export async function announceAttempt(core: RunCore, effort: StepEffort, attempt: number): Promise<number> {
  const { activation } = effort;
  const { generation } = activation;
  const isStopped = (): boolean => activation.isStopped && activation.generation === generation;
  if (isStopped()) guardCall(activation, generation, 'step');
  enterEvents(core, activation);
  const announced = announce(core, effort, attempt);
  core.agenda.gatedCount += 1;
  await core.loop.durable();
  core.agenda.gatedCount -= 1;
  if (core.standing.isLeaseOver(core.env.clock)) {
    core.loop.fail(claimLost(core.runId, 'expired'));
    await never();
  }
  const isOver = isStopped();
  if (!isOver && core.standing.mayFinish) return announced.deadlineMs;
  if (activation.generation === generation && activation.phase === 'running') {
    withdraw(core, announced);
    core.loop.requestTurn();
  }
  if (isOver) guardCall(activation, generation, 'step');
  // The function may end by itself then, so that the run need not wait for the grace.
  if (core.standing.isCancelling) activation.signal.throwIfAborted();
  return never();
}

/** The details of one attempt of a step. */
export interface StepAttempt {
  readonly attempt: number;
  /** The announced deadline in monotonic ms. */
  readonly deadlineMs: number | undefined;
  readonly charge: Charge;
}

/** Calls the step's function. @throws NODE_TIMED_OUT, and whatever the function throws */
export async function callAttempt<T>(
  core: RunCore,
  effort: StepEffort,
  { attempt, deadlineMs, charge }: StepAttempt,
  fn: (step: StepContext) => Promise<T> | T,
): Promise<T> {
  const { activation } = effort;
  const own = new StepSignal();
  const { promise: isOver, reject } = Promise.withResolvers<never>();
  const onLate = (error: CairnError): void => own.abort(error);
  const cancel = armDeadline(core, effort, deadlineMs, { onLate, onOver: reject });
  const spendHere = (amounts: Amounts): void => spend(core, charge, amounts);
  const step: StepContext = {
    idempotencyKey: effortKeyOf(core, effort),
    attempt,
    spend: spendHere,
    get signal() {
      return own.within(activation);
    },
  };
  const run = (): Promise<T> | T => callInsideStep(charge, () => fn(step));
  try {
    if (cancel === undefined) return await run();
    return await Promise.race([isEffect(effort) ? runEffect(core, effort, run) : run(), isOver]);
  } finally {
    cancel?.();
    own.end();
  }
}

/** The signal of one attempt of a step. It is made only for functions that read it. */
class StepSignal {
  #controller: AbortController | undefined;
  #signal: AbortSignal | undefined;
  /** Set when the attempt's time is over. */
  #late: CairnError | undefined;
  #isOver = false;

  within(activation: Activation): AbortSignal {
    if (this.#signal === undefined) {
      this.#controller = new AbortController();
      this.#signal = AbortSignal.any([activation.signal, this.#controller.signal]);
      if (this.#late !== undefined || this.#isOver) this.#controller.abort(this.#late ?? attemptOver());
    }
    return this.#signal;
  }

  abort(error: CairnError): void {
    this.#late = error;
    this.#controller?.abort(error);
  }

  /** @throws NODE_TIMED_OUT its time was over, however it ended after that */
  end(): void {
    this.#isOver = true;
    if (this.#late !== undefined) throw this.#late;
    this.#controller?.abort(attemptOver());
  }
}

/** Counts an effect as in flight until its function ends, also when nobody waits for it any more. */
async function runEffect<T>(core: RunCore, effort: StepEffort, run: () => Promise<T> | T): Promise<T> {
  const leaveEffect = enterEffect(core.env.effectsInFlight, effortKeyOf(core, effort));
  try {
    return await run();
  } finally {
    leaveEffect();
  }
}
