/**
 * `ctx.step`: recorded steps of a composed node (X4). A recorded result is returned; otherwise the function runs as an effort of its own.
 */
import { CairnError, readableThrown } from '../../errors.ts';
import type { AtMost } from '../../graph/amounts.ts';
import type { StepContext, StepOptions } from '../../graph/contracts/node-contract.ts';
import type { OnWaiting } from '../../graph/contracts/parts.ts';
import { atMostFault, stepFault } from '../../graph/validate/validate-calls.ts';
import type { StepRecord } from '../../state/tree.ts';
import { failureNote } from '../visit-records/failure-note.ts';
import { admitError } from '../validate/admit-error.ts';
import { offloadValue } from '../validate/offload.ts';
import { afterFailure, planRetry } from '../effects/retry.ts';
import { announceAttempt, callAttempt } from '../effects/step-attempt.ts';
import { budgetMet, isBudgeted } from '../effects/begin.ts';
import { enterStep, usedTokens } from '../effects/enter-places.ts';
import type { Permit } from '../places/step-places.ts';
import { type FailedAttempt, judgeStep, recordKnownEnd, takeStep } from '../effects/judge-step.ts';
import { closeRefused, isRefused, refusedWait, standInFor } from '../effects/refuse.ts';
import { hashOfInput } from '../visit-records/node-record.ts';
import { book } from '../visit-records/account.ts';
import { budgetExceeded } from '../visit-records/budget.ts';
import { mayCallOtherwise, noteNewCall } from '../visit-records/continued-visits.ts';
import { StepEffort, announceUntraced, effortKeyOf, noteRepeatedStep } from '../visit-records/intent.ts';
import { orderIfOverlapping } from '../visit-records/call-order.ts';
import { admitStep, checkStepCount, finishStep, noteStep } from '../visit-records/finish-step.ts';
import { nextStepKey, recordedStep } from '../visit-records/call-keys.ts';
import { failureOf } from '../visit-records/step-failure.ts';
import { deleteStep, ensureSteps, setStep } from '../visit-records/step-record.ts';
import {
  appliedOf,
  endedIntent,
  isEffect,
  guardCall,
  never,
  refusal,
  type RunCore,
  type TakenStep,
} from '../live-run/run-core.ts';
import type { Activation } from '../live-run/loop.ts';
import { Charge } from '../live-run/attempt-scope.ts';
import { holdTimer } from '../live-run/timers.ts';
import { inputHashOf } from '../settle/settle.ts';
import { askForBudget } from '../waits/budget-wait.ts';
import { giveBack, inTurn } from '../waits/give-back.ts';
import { beginCall, endCall, leaveAtWait, wakeUp } from '../waits/leave-at-wait.ts';
import { retryWait } from '../waits/wait.ts';
import { openWait } from '../waits/open-wait.ts';
import { afterRecorded } from './changed-code.ts';

type StepFunction<T> = (step: StepContext) => Promise<T> | T;

/**
 * Runs a step. @throws NODE_CALL_REFUSED, ID_INVALID, RUN_LIMIT, VALUE_UNSTORABLE, EFFECT_IN_DOUBT, NODE_TIMED_OUT, and whatever the
 * function throws
 */
export async function runStep<T>(
  core: RunCore,
  activation: Activation,
  name: string,
  options: StepOptions,
  fn: StepFunction<T>,
  onWaiting: OnWaiting | undefined,
): Promise<T> {
  guardCall(activation, activation.generation, 'step');
  return runStepOf(core, activation, nextStepKey(core, activation, name), options, fn, onWaiting);
}

/** Runs the step with this key, or returns its recorded result. */
export async function runStepOf<T>(
  core: RunCore,
  activation: Activation,
  key: string,
  options: StepOptions,
  fn: StepFunction<T>,
  onWaiting: OnWaiting | undefined,
): Promise<T> {
  const { generation } = activation;
  const isPart = onWaiting !== undefined;
  const recorded = recordOfInput(core, activation, key, options);
  if (recorded?.status === 'done' || recorded?.status === 'failed')
    return giveBack(core, activation, recorded, isPart) as Promise<T>;
  beginCall(core, activation);
  activation.notePart(key, onWaiting);
  if (isEffect({ effect: options.effect ?? 'pure' })) activation.beginEffect(key);
  try {
    if (core.committer.isFull) await core.loop.drained();
    const pause = core.env.pace.turn();
    if (pause !== undefined) await pause;
    const refused = refusal(core, activation);
    if (refused !== undefined) await refused;
    return await new StepCall(core, activation, key, options, fn).perform();
  } finally {
    if (activation.generation === generation) {
      activation.endEffect(key);
      if (activation.isEnding) core.loop.requestTurn();
      const order = isPart ? undefined : recordedStep(activation, key)?.order;
      if (order !== undefined) await inTurn(core, activation, order);
      endCall(core, activation);
    }
  }
}

/**
 * The record of a step, if it was made with the same input and effect class, or is known by its name. Another one is never used silently: where the run was forked
 * within the visit the step runs again, in a resume the call is refused.
 */
function recordOfInput(
  core: RunCore,
  activation: Activation,
  key: string,
  options: StepOptions,
): StepRecord | undefined {
  const recorded = recordedStep(activation, key);
  const reason = recorded && differenceOf(core, activation, key, recorded, options);
  if (reason === undefined) return recorded;
  // What may have happened is not dropped in a fork either.
  const isInDoubt = recorded?.status !== 'done' && recorded?.intent !== undefined;
  const isOriginals = mayCallOtherwise(activation) || recorded?.left === true;
  if (!isOriginals || isInDoubt)
    throw new CairnError('NODE_CALL_REFUSED', { call: 'step', node: activation.path.join('/'), reason });
  deleteStep(core, activation, key);
  return undefined;
}

/** Why a recorded step is not the one that is called; undefined if it is. */
function differenceOf(
  core: RunCore,
  activation: Activation,
  key: string,
  { status, hash, effect: before, intent }: StepRecord,
  options: StepOptions,
): string | undefined {
  const isOver = status === 'done' || status === 'failed';
  const { effect = 'pure' } = options;
  if (isOver && options.knownByName === true) return undefined;
  // An ended step that is identified by its input is the same whatever its class has become: its effect has happened.
  const isIdentifiedByInput = isOver && hash !== undefined && 'input' in options;
  if (!isIdentifiedByInput && before !== undefined && before !== effect && (isOver || intent !== undefined))
    return `step ${key} is recorded as ${before}, and is called as ${effect}; give a step of another class another name`;
  if (!isIdentifiedByInput) return undefined;
  if (hashOfInput(core, activation, key, options.input) === hash) return undefined;
  return `step ${key} is recorded for another input; a step's input must be the same whenever its node is repeated`;
}

/** A call of `ctx.step` whose end is not recorded. */
class StepCall<T> {
  readonly #core: RunCore;
  readonly #activation: Activation;
  readonly #key: string;
  readonly #options: StepOptions;
  readonly #fn: StepFunction<T>;
  readonly #generation: number;

  constructor(core: RunCore, activation: Activation, key: string, options: StepOptions, fn: StepFunction<T>) {
    this.#core = core;
    this.#activation = activation;
    this.#key = key;
    this.#options = options;
    this.#fn = fn;
    this.#generation = activation.generation;
  }

  /** Whether the calling attempt still runs. Calls of an attempt that is over change nothing. */
  readonly #isCurrent = (): boolean =>
    this.#activation.generation === this.#generation && this.#activation.phase === 'running';

  async perform(): Promise<T> {
    if (!this.#isCurrent()) return never<T>();
    this.#refuse(stepFault(this.#options));
    checkStepCount(this.#core, ensureSteps(this.#activation));
    const effort = new StepEffort(this.#core, this.#activation, {
      key: this.#key,
      hash: this.#inputHash(),
      options: this.#options,
    });
    if (effort.fields() === undefined) {
      const isFree = !isEffect(effort) || effort.isModelCall || this.#options.followsRecord === true;
      if (!isFree) await afterRecorded(this.#core, this.#activation, this.#key);
      if (!this.#isCurrent()) return never<T>();
      noteNewCall(this.#core, this.#activation);
    }
    const taken = await this.#takeOver(effort);
    if (taken !== undefined) return taken.output as T;
    if (isRefused(this.#core, effort)) return this.#standIn(effort);
    if (this.#core.root.released === true) announceUntraced(this.#core, effort, effort.fields()?.attempt ?? 1);
    const isOpen = effort.intent !== undefined;
    // In a fork that cannot act the only effects that come so far are calls of models: nobody is asked whether those happened.
    const isJudged = isOpen && this.#core.root.noEffects === undefined;
    const judged = isJudged ? await judgeStep(this.#core, effort, this.#isCurrent) : undefined;
    if (judged !== undefined && 'output' in judged) return judged.output as T;
    noteRepeatedStep(this.#core, effort);
    // Read only now, because while the step was judged a person may have answered that it is to be retried at once.
    const { attempt = 1, retryAt = 0 } = effort.fields() ?? {};
    await this.#untilDue(attempt, retryAt);
    return this.#attempts(effort, attempt, judged);
  }

  /** @throws NODE_CALL_REFUSED an option is unknown, or its value invalid */
  #refuse(reason: string | undefined): void {
    const node = this.#activation.path.join('/');
    if (reason !== undefined) throw new CairnError('NODE_CALL_REFUSED', { call: 'step', node, reason });
  }

  #inputHash(): string {
    if (!('input' in this.#options)) return inputHashOf(this.#activation).hash;
    return hashOfInput(this.#core, this.#activation, this.#key, this.#options.input);
  }

  /** In a fork: takes over what its ancestors recorded of the step. */
  async #takeOver(effort: StepEffort): Promise<{ readonly output: unknown } | undefined> {
    const { replay } = this.#core;
    const isNew = effort.intent === undefined || this.#core.root.noEffects !== undefined;
    const offer = replay?.offer(effort, isNew ? 'any' : 'announced');
    const taken = offer && (await replay?.readStep(effort, offer));
    if (!this.#isCurrent()) return never();
    if (taken?.step.status === 'failed') throw this.#takeFailure(taken);
    return taken && takeStep(this.#core, effort, this.#isCurrent, taken);
  }

  /** In a fork that cannot act a recorded failure is the step's end, as a result is. @returns what it failed with */
  #takeFailure(taken: TakenStep): unknown {
    const core = this.#core;
    const activation = this.#activation;
    activation.firstEnd ??= core.committer.seq + 1;
    ensureSteps(activation);
    core.replay?.noteStep(activation, undefined, taken);
    const { error, ...failed } = taken.step;
    setStep(core, activation.path, this.#key, { ...taken.step, ...orderIfOverlapping(activation, this.#key) });
    const told = failureNote(core, [...activation.path, this.#key].join('/'), error);
    noteStep(core, activation, this.#key, failed, { error: told });
    return failureOf(taken.step);
  }

  /** What stands in for a call that is refused. Without that, the function stops here for good. */
  async #standIn(effort: StepEffort): Promise<T> {
    const core = this.#core;
    const found = await standInFor(core, effort);
    if (!this.#isCurrent()) return never<T>();
    if (found !== undefined) {
      const note = (): void => closeRefused(core, effort);
      return (await recordKnownEnd(core, effort, this.#isCurrent, found.output, 'stand-in', { note })).output as T;
    }
    openWait(core, this.#activation, this.#key, refusedWait(core, effort));
    await leaveAtWait(core, this.#activation, this.#key);
    return never<T>();
  }

  /** @param made - the first of the attempts, if another process made it, and it failed there */
  async #attempts(effort: StepEffort, first: number, made: FailedAttempt | undefined): Promise<T> {
    const core = this.#core;
    for (let [attempt, failed] = [first, made]; ; [attempt, failed] = [attempt + 1, undefined]) {
      if (!this.#isCurrent()) return never<T>();
      // The time of this slice is over: the function stops here, and the next slice runs it again from its top (HO1).
      if (core.standing.isYielding) await this.#leave();
      const charge = failed === undefined ? await this.#underBudget(effort, attempt) : failed.charge;
      let permit = failed === undefined ? await this.#place() : undefined;
      const renew = async (): Promise<void> => {
        permit?.leave();
        permit = await this.#place();
      };
      try {
        const places = { isStale: () => permit?.isStale() === true, renew };
        if (isEffect(effort) && failed === undefined) await announceAttempt(core, effort, attempt, places);
      } catch (error) {
        permit?.leave();
        throw error;
      }
      const isCurrent = this.#isCurrent();
      const refused = isEffect(effort) || !isCurrent ? undefined : refusal(core, this.#activation);
      if (!isCurrent || refused !== undefined) permit?.leave();
      if (!isCurrent) return never<T>();
      if (refused !== undefined) return refused;
      try {
        if (failed !== undefined) throw failed.failure;
        const { limit } = this.#options;
        const result = await callAttempt(
          core,
          effort,
          { attempt, charge, ...(limit !== undefined && { limit }) },
          this.#fn,
        );
        permit?.leave(usedTokens(charge));
        if (!this.#isCurrent()) return never<T>();
        return (await this.#finish(effort, attempt, result, charge)) as T;
      } catch (thrown) {
        permit?.leave(usedTokens(charge));
        if (!this.#isCurrent()) return never<T>();
        const error = readableThrown(thrown);
        // When the run is cancelled, the function may end by itself. A failure elsewhere lets running work finish (E7, G8).
        if (core.standing.isCancelling) throw error;
        if (!core.standing.mayFinish) return never<T>();
        const after = await afterFailure(core, effort, error, attempt);
        if (!this.#isCurrent()) return never<T>();
        if (after.kind === 'happened') {
          const taken = { note: (): void => book(core, charge) };
          return (await recordKnownEnd(core, effort, this.#isCurrent, after.output, 'reconcile', taken)).output as T;
        }
        book(core, charge);
        if (after.kind === 'fail') throw this.#fail(effort, attempt, error, after.isWithheld);
        const retryAt = planRetry(core, effort, { attempt: attempt + 1, delayMs: after.delayMs, error });
        core.loop.requestFlush();
        await this.#untilDue(attempt + 1, retryAt);
      }
    }
  }

  /** Waits for places of the limits that the step is under. The run may be given back meanwhile: then the function stops here. */
  async #place(): Promise<Permit | undefined> {
    const { limit, tokens } = this.#options;
    if (limit === undefined) return undefined;
    const permit = await enterStep(this.#core, this.#activation, { limit, tokens });
    if (permit !== undefined) return permit;
    await this.#leave();
    return never();
  }

  /** The most that the step spends. A function tells it where that matters. */
  #atMost(): AtMost | undefined {
    const { atMost } = this.#options;
    if (typeof atMost !== 'function') return atMost;
    if (!isBudgeted(this.#activation)) return undefined;
    const reported = atMost();
    this.#refuse(atMostFault(reported));
    return reported;
  }

  /** Starts the cost account of an attempt that fits its budgets. @throws BUDGET_EXCEEDED */
  async #underBudget(effort: StepEffort, attempt: number): Promise<Charge> {
    const core = this.#core;
    const activation = this.#activation;
    const atMost = this.#atMost();
    for (;;) {
      const charge = new Charge(activation, effort, atMost);
      const met = budgetMet(core, charge);
      if (met === undefined) {
        if (charge.atMost !== undefined) core.ledger.open(charge);
        return charge;
      }
      if (met.decision === 'wait') await new Promise<void>((resolve) => core.ledger.whenChanged(resolve));
      else {
        if (met.onBudget === 'fail') throw this.#fail(effort, attempt, budgetExceeded(met, effort.name));
        askForBudget(core, activation, this.#key, met);
        core.ledger.whenChanged(() => wakeUp(core, activation, this.#generation, this.#key));
        await this.#leave();
      }
      if (!this.#isCurrent()) await never();
    }
  }

  async #finish(effort: StepEffort, attempt: number, result: unknown, charge: Charge): Promise<unknown> {
    const admitted = await offloadValue(this.#core, admitStep(this.#core, this.#activation, this.#key, result));
    if (!this.#isCurrent()) return never();
    book(this.#core, charge);
    this.#activation.firstEnd ??= this.#core.committer.seq + 1;
    const { effect, hash, account } = effort;
    const begun = attempt > 1 ? { attempt } : {};
    const done: StepRecord = { kind: 'step', status: 'done', effect, hash, ...begun, ...account };
    const { loop } = this.#core;
    const key = loop.isWatched ? effortKeyOf(this.#core, effort) : undefined;
    const output = finishStep(this.#core, this.#activation, this.#key, done, admitted);
    if (key !== undefined) loop.stepEnded(key);
    return output;
  }

  /** Waits until the next attempt is due. If that is not soon, the function stops here, so that the run can pause (E6). */
  async #untilDue(attempt: number, retryAt: number): Promise<void> {
    const core = this.#core;
    const delayMs = retryAt - core.env.clock.now();
    if (delayMs <= 0) return;
    if (delayMs <= core.env.bounds.holdTimersMs) return this.#hold(delayMs);
    openWait(core, this.#activation, this.#key, retryWait(this.#activation.path, attempt, retryAt));
    await this.#leave();
  }

  /** Waits in this process. The run need not wait too, if the function's signal is aborted meanwhile. @throws why it is to stop */
  async #hold(delayMs: number): Promise<void> {
    const { signal } = this.#activation;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancelTimer = holdTimer(this.#core, delayMs, resolve);
    const stop = (): void => {
      cancelTimer();
      resolve();
    };
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    await promise;
    signal.removeEventListener('abort', stop);
    if (!signal.aborted) return;
    const { isCancelling, mayFinish } = this.#core.standing;
    if (!this.#isCurrent() || !(isCancelling || mayFinish)) await never();
    signal.throwIfAborted();
  }

  /** Stops at a wait. If the function is still running when the wait is closed, it continues here. */
  async #leave(): Promise<void> {
    await leaveAtWait(this.#core, this.#activation, this.#key);
    if (isEffect({ effect: this.#options.effect ?? 'pure' })) this.#activation.beginEffect(this.#key);
  }

  #fail(effort: StepEffort, attempt: number, error: unknown, isWithheld?: true): unknown {
    const activation = this.#activation;
    activation.firstEnd ??= this.#core.committer.seq + 1;
    const intent = effort.intent;
    const applied = appliedOf(error);
    const failed: StepRecord = {
      kind: 'step',
      status: 'failed',
      effect: effort.effect,
      hash: effort.hash,
      ...(attempt > 1 ? { attempt } : {}),
      ...(applied === undefined ? {} : { applied }),
      ...(intent === undefined ? {} : { intent: endedIntent(intent) }),
      ...(isWithheld === true ? { withheld: true } : {}),
      ...effort.account,
    };
    const admitted = admitError(this.#core, error, [...activation.path, this.#key]);
    ensureSteps(activation);
    const order = orderIfOverlapping(activation, this.#key);
    setStep(this.#core, activation.path, this.#key, { ...failed, ...order, error: admitted.value });
    noteStep(this.#core, activation, this.#key, failed, { error: failureNote(this.#core, effort.name, error) });
    return failureOf({ ...failed, error: admitted.value }, (error as Partial<Error> | undefined)?.stack);
  }
}
