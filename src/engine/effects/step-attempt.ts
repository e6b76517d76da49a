/**
 * Makes one attempt of a step. An effect is announced first and starts when that is durable. At its deadline the attempt is told to stop
 * (E3, E6).
 */
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { StepContext } from '../../graph/contracts/node-contract.ts';
import { spend } from '../record/account.ts';
import type { StepEffort } from '../record/effort.ts';
import { announce, effortKeyOf, withdraw } from '../record/intent.ts';
import { enterEvents } from '../record/told-events.ts';
import { isEffect } from '../run/effect.ts';
import { enterEffect } from '../run/effects-in-flight.ts';
import { guardCall, never } from '../run/guard-call.ts';
import { callInsideStep, type Charge } from '../run/ledger.ts';
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
  const late = new AbortController();
  const { promise: isOver, reject } = Promise.withResolvers<never>();
  const onLate = (error: CairnError): void => late.abort(error);
  const cancel = armDeadline(core, effort, deadlineMs, { onLate, onOver: reject });
  const { activation } = effort;
  let signal: AbortSignal | undefined;
  const spendHere = (amounts: Amounts): void => spend(core, charge, amounts);
  const step: StepContext = {
    idempotencyKey: effortKeyOf(core, effort),
    attempt,
    spend: spendHere,
    get signal() {
      return (signal ??= cancel === undefined ? activation.signal : AbortSignal.any([activation.signal, late.signal]));
    },
  };
  const run = (): Promise<T> | T => callInsideStep(charge, () => fn(step));
  if (cancel === undefined) return run();
  try {
    return await Promise.race([isEffect(effort) ? runEffect(core, effort, run) : run(), isOver]);
  } finally {
    cancel();
    // However it ended after that: its time was over.
    late.signal.throwIfAborted();
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
