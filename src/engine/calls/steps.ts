/** Steps: the recorded finer units of a composed node, with their intents, retries and timeouts (X4). */
import { CairnError } from '../../errors.ts';
import type { StepContext, StepOptions } from '../../graph/node-contract.ts';
import { stepFault } from '../../graph/validate-calls.ts';
import { admitValue } from '../../state/values/codec.ts';
import { hashText } from '../../state/values/hash.ts';
import type { StepRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { isEffect, keptIntent } from '../run/effect.ts';
import { enterEffect } from '../run/effects-in-flight.ts';
import { admitError } from '../admit/encode-error.ts';
import { maybeLeave, leaveAtWait } from '../waits/leave.ts';
import { offloadValue } from '../admit/offload.ts';
import { openWait } from '../waits/open-wait.ts';
import { factsOf, retryDelayMs } from '../effects/retry.ts';
import type { RunCore } from '../run/run-core.ts';
import { inputHashOf } from '../settle/settle.ts';
import { admitStep, checkStepCount, finishStep, noteStep } from '../record/finish-step.ts';
import { effectKey, nextStepKey, recordedStep } from '../record/step-keys.ts';
import { guardCall, never } from '../run/guard-call.ts';
import { withDeadline } from '../effects/step-deadline.ts';
import { writeStepIntent, type StepCall } from '../effects/step-intent.ts';
import { judgeStep } from '../effects/step-judge.ts';
import { ensureSteps, setStep } from '../record/step-record.ts';
import { holdTimer } from '../run/timers.ts';
import { retryWait } from '../waits/wait.ts';

/** `ctx.step`: returns what is recorded, or runs the function and records its output. @throws NODE_CALL_REFUSED, ID_INVALID, RUN_LIMIT, VALUE_UNSTORABLE, EFFECT_IN_DOUBT, NODE_TIMED_OUT, and whatever the function throws */
export async function runStep<T>(
  core: RunCore,
  activation: Activation,
  name: string,
  options: StepOptions,
  fn: (step: StepContext) => Promise<T> | T,
  onWaiting: (() => void) | undefined,
): Promise<T> {
  const { generation } = activation;
  guardCall(activation, generation, 'step');
  const key = nextStepKey(core, activation, name);
  const recorded = recordedStep(activation, key);
  if (recorded?.status === 'done') return recorded.output as T;
  if (recorded?.status === 'failed') throw recorded.error;
  activation.stepsInFlight += 1;
  activation.notePart(key, onWaiting);
  if (isEffect({ effect: options.effect ?? 'pure' })) activation.beginEffect(key);
  try {
    if (core.committer.isFull) await core.drained();
    // It may be over by now: what it called for changes nothing any more.
    if (activation.generation !== generation || activation.phase !== 'running') return await never<T>();
    return await performStep(core, activation, key, options, fn, recorded);
  } finally {
    if (activation.generation === generation) {
      activation.stepsInFlight -= 1;
      activation.endEffect(key);
      if (activation.isEnding) core.requestTurn();
      maybeLeave(core, activation);
    }
  }
}

/** @throws NODE_CALL_REFUSED an option that a step does not have, or a value that it cannot be */
function checkOptions({ path }: Activation, options: StepOptions): void {
  const reason = stepFault(options);
  if (reason !== undefined) throw new CairnError('NODE_CALL_REFUSED', { call: 'step', node: path.join('/'), reason });
}

async function performStep<T>(
  core: RunCore,
  activation: Activation,
  key: string,
  options: StepOptions,
  fn: (step: StepContext) => Promise<T> | T,
  recorded: StepRecord | undefined,
): Promise<T> {
  const { generation } = activation;
  const isCurrent = (): boolean => activation.generation === generation && activation.phase === 'running';
  const effect = options.effect ?? 'pure';
  checkOptions(activation, options);
  const record = ensureSteps(activation);
  checkStepCount(core, record);
  const hash = stepHash(core, activation, key, options);
  let begun = recorded;
  if (core.replay !== undefined) {
    const due = { key, effect, hash: 'input' in options ? hash : undefined };
    const { replay } = core;
    const taken = await (recorded?.intent === undefined
      ? replay.stepOutcome(activation, due)
      : replay.openStep(activation, due));
    if (!isCurrent()) return never<T>();
    if (taken !== undefined) {
      if (taken.doubt === undefined) {
        const output = await offloadValue(core, admitStep(core, activation, key, taken.output));
        if (!isCurrent()) return never<T>();
        core.replay.noteTaken(taken);
        return finishStep(core, activation, key, { kind: 'step', status: 'done', effect, hash }, output) as T;
      }
      core.replay.noteTaken(taken);
      begun = taken.doubt;
      setStep(core, activation.path, record, key, begun);
    }
  }
  // An effect that was begun under a key goes on under it, in a fork too.
  const idempotencyKey = begun?.intent?.key ?? effectKey(activation, key, core.runId);
  const call: StepCall = { key, effect, hash, idempotencyKey, options };
  if (begun?.intent !== undefined) {
    const judged = await judgeStep(core, activation, key, options, begun);
    if (judged !== undefined) return judged.output as T;
  }
  let attempt = begun?.attempt ?? 1;
  await untilRetry(core, activation, key, attempt, begun?.retryAt ?? 0);
  for (;;) {
    if (!isCurrent()) return never<T>();
    if (isEffect({ effect })) await writeStepIntent(core, activation, call, attempt);
    if (!isCurrent()) return never<T>();
    try {
      const result = await inEffect(core, call, () => withDeadline(core, activation, call, attempt, fn));
      if (!isCurrent()) return never<T>();
      const admitted = await offloadValue(core, admitStep(core, activation, key, result));
      if (!isCurrent()) return never<T>();
      const done: StepRecord = { kind: 'step', status: 'done', effect, hash, ...(attempt > 1 ? { attempt } : {}) };
      return finishStep(core, activation, key, done, admitted) as T;
    } catch (error) {
      if (!isCurrent()) return never<T>();
      // Cancelled, the function may end by itself; a failure elsewhere leaves what runs to its end (E7, G8).
      if (core.isCancelling) throw error;
      if (core.isStopping && !core.isOnlyFailing) return never<T>();
      const delayMs = await stepRetryDelay(core, call, attempt, error);
      if (!isCurrent()) return never<T>();
      if (delayMs === undefined) throw failStep(core, activation, call, attempt, error);
      attempt += 1;
      const retryAt = core.env.clock.now() + delayMs;
      countAttempt(core, activation, call, { attempt, retryAt, error });
      await untilRetry(core, activation, key, attempt, retryAt);
    }
  }
}

/** Resolves when the next attempt of a step is due. If that is not soon the function is left, so that the run may pause (E6). */
async function untilRetry(
  core: RunCore,
  activation: Activation,
  key: string,
  attempt: number,
  retryAt: number,
): Promise<void> {
  const delayMs = retryAt - core.env.clock.now();
  if (delayMs <= 0) return;
  if (delayMs <= core.env.limits.holdTimersMs)
    return new Promise<void>((resolve) => void holdTimer(core, delayMs, resolve));
  openWait(core, activation, key, retryWait(activation.path, attempt, retryAt));
  await leaveAtWait(core, activation, key);
}

/** How often a step was tried, and when it is tried next, survive a crash (E6). What may have happened keeps its intent, and so its key (X3). */
function countAttempt(
  core: RunCore,
  activation: Activation,
  call: StepCall,
  next: { readonly attempt: number; readonly retryAt: number; readonly error: unknown },
): void {
  const { key, effect, hash, options } = call;
  const { attempt, retryAt, error } = next;
  const mayHaveHappened = isEffect({ effect }) && options.idempotent === true && !isUnapplied(error);
  const kept = keptIntent(
    recordedStep(activation, key)?.intent,
    effectKey(activation, key, core.runId),
    mayHaveHappened,
  );
  setStep(core, activation.path, ensureSteps(activation), key, {
    kind: 'step',
    status: 'started',
    effect,
    hash,
    attempt,
    retryAt,
    ...kept,
  });
  const by = options.retry?.when === undefined ? {} : { by: 'when' };
  core.committer.note(JSON.stringify({ kind: 'retry', node: activation.path, step: key, attempt, ...by }));
  core.requestFlush();
}

async function inEffect<T>(core: RunCore, call: StepCall, run: () => Promise<T>): Promise<T> {
  if (!isEffect(call)) return run();
  const leaveEffect = enterEffect(core.env.effectsInFlight, call.idempotencyKey);
  try {
    return await run();
  } finally {
    leaveEffect();
  }
}

function stepHash(core: RunCore, activation: Activation, key: string, options: StepOptions): string {
  if (!('input' in options)) return inputHashOf(activation).hash;
  return hashText(admitValue(options.input, [...activation.path, key, 'input'], core.env.limits, core.redact).json);
}

/** The failure certainly had no effect. */
function isUnapplied(error: unknown): boolean {
  return (error as { applied?: unknown } | undefined)?.applied === 'no';
}

function failStep(core: RunCore, activation: Activation, call: StepCall, attempt: number, error: unknown): unknown {
  const { key, effect, hash } = call;
  const record = ensureSteps(activation);
  const intent = recordedStep(activation, key)?.intent;
  const failed: StepRecord = {
    kind: 'step',
    status: 'failed',
    effect,
    hash,
    ...(attempt > 1 ? { attempt } : {}),
    ...(isUnapplied(error) ? { applied: 'no' } : {}),
    ...(intent === undefined ? {} : { intent }),
  };
  const admitted = admitError(core, error, [...activation.path, key]);
  setStep(core, activation.path, record, key, { ...failed, error: admitted.value });
  noteStep(core, activation, key, failed);
  return error;
}

async function stepRetryDelay(
  core: RunCore,
  { effect, options, idempotencyKey }: StepCall,
  attempt: number,
  error: unknown,
): Promise<number | undefined> {
  const delayMs = retryDelayMs(options.retry, attempt, factsOf(error), () => core.env.ids.random());
  if (delayMs === undefined) return undefined;
  if (!isEffect({ effect }) || options.idempotent === true || isUnapplied(error)) return delayMs;
  if (options.reconcile === undefined) return undefined;
  const found = await options.reconcile(idempotencyKey);
  return found.happened === false ? delayMs : undefined;
}
