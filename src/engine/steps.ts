/** Steps: the recorded finer units of a composed node, with their intents, retries and timeouts (X4). */
import { CairnError } from '../errors.ts';
import type { StepContext, StepOptions } from '../graph/node-contract.ts';
import { admitValue } from '../state/codec.ts';
import { hashText } from '../state/hash.ts';
import type { StepRecord } from '../state/tree.ts';
import type { Activation } from './activation.ts';
import { offloadValue } from './admit-outcome.ts';
import { isEffect } from './effect.ts';
import { maybeLeave } from './leave.ts';
import { factsOf, retryDelayMs } from './retry.ts';
import type { RunCore } from './run-core.ts';
import { inputHashOf } from './settle.ts';
import {
  admitStep,
  checkStepCount,
  effectKey,
  finishStep,
  guardCall,
  never,
  nextStepKey,
  noteStep,
  recordedStep,
} from './step-calls.ts';
import { judgeStep } from './step-judge.ts';
import { ensureSteps, setStep } from './step-record.ts';
import { holdTimer } from './timers.ts';

export async function runStep<T>(
  core: RunCore,
  activation: Activation,
  name: string,
  options: StepOptions,
  fn: (step: StepContext) => Promise<T> | T,
): Promise<T> {
  const { generation } = activation;
  guardCall(activation, generation, 'step');
  const key = nextStepKey(core, activation, name);
  const recorded = recordedStep(activation, key);
  if (recorded?.status === 'done') return recorded.output as T;
  if (recorded?.status === 'failed') throw recorded.error;
  activation.stepsInFlight += 1;
  try {
    if (core.committer.isFull) await core.drained();
    return await performStep(core, activation, key, options, fn, recorded);
  } finally {
    if (activation.generation === generation) {
      activation.stepsInFlight -= 1;
      maybeLeave(core, activation);
    }
  }
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
  const effect = options.effect ?? 'pure';
  const record = ensureSteps(activation);
  checkStepCount(core, record);
  const hash = stepHash(core, activation, key, options);
  let attempt = recorded?.attempt ?? 1;
  if (recorded?.intent !== undefined) {
    const judged = await judgeStep(core, activation, key, options, recorded);
    if (judged !== undefined) return judged.output as T;
  } else if (core.replay !== undefined) {
    const replayed = await core.replay.stepOutcome(core, activation, key, effect, hash);
    if (replayed !== undefined)
      return finishStep(
        core,
        activation,
        key,
        { kind: 'step', status: 'done', effect, hash },
        admitStep(core, activation, key, replayed.output),
      ) as T;
  }
  for (;;) {
    if (isEffect({ effect })) await writeStepIntent(core, activation, key, effect, hash, attempt, options);
    if (activation.generation !== generation || activation.phase !== 'running') return never<T>();
    try {
      const context: StepContext = {
        idempotencyKey: effectKey(core, activation, key),
        attempt,
        signal: activation.signal,
      };
      const result = await inEffect(core, effect, context.idempotencyKey, () =>
        withTimeout(core, activation, options.timeoutMs, () => fn(context)),
      );
      if (activation.generation !== generation || activation.phase !== 'running') return never<T>();
      const admitted = await offloadValue(core, admitStep(core, activation, key, result));
      return finishStep(
        core,
        activation,
        key,
        { kind: 'step', status: 'done', effect, hash, ...(attempt > 1 ? { attempt } : {}) },
        admitted,
      ) as T;
    } catch (error) {
      if (activation.generation !== generation || activation.phase !== 'running') return never<T>();
      // A failure elsewhere leaves what runs to its end (G8).
      if (core.isStopping && !core.isOnlyFailing) return never<T>();
      const delayMs = await stepRetryDelay(core, activation, key, options, attempt, error);
      if (delayMs === undefined) throw failStep(core, activation, key, effect, hash, attempt, error);
      attempt += 1;
      countAttempt(core, activation, key, effect, hash, attempt);
      await new Promise<void>((resolve) => holdTimer(core, delayMs, resolve));
    }
  }
}

/** The number of attempts survives a crash (E6); what certainly did not happen leaves no intent. */
function countAttempt(
  core: RunCore,
  activation: Activation,
  key: string,
  effect: string,
  hash: string,
  attempt: number,
): void {
  setStep(core, activation.path, ensureSteps(activation), key, {
    kind: 'step',
    status: 'started',
    effect,
    hash,
    attempt,
  });
  core.committer.note(JSON.stringify({ kind: 'retry', node: activation.path, step: key, attempt }));
  core.requestFlush();
}

async function inEffect<T>(core: RunCore, effect: string, key: string, run: () => Promise<T>): Promise<T> {
  if (!isEffect({ effect })) return run();
  core.env.effectsInFlight.add(key);
  try {
    return await run();
  } finally {
    core.env.effectsInFlight.delete(key);
  }
}

function stepHash(core: RunCore, activation: Activation, key: string, options: StepOptions): string {
  if (!('input' in options)) return inputHashOf(activation).hash;
  return hashText(admitValue(options.input, [...activation.path, key, 'input'], core.env.limits, core.redact).json);
}

/** Makes the intent durable, with everything before it, and only then returns (E3, E4). */
async function writeStepIntent(
  core: RunCore,
  activation: Activation,
  key: string,
  effect: string,
  hash: string,
  attempt: number,
  options: StepOptions,
): Promise<void> {
  const record = ensureSteps(activation);
  const deadlineAt = core.env.clock.now() + (options.timeoutMs ?? core.env.limits.effectMs);
  const intent = { key: effectKey(core, activation, key), attempt, deadlineAt, by: core.env.ids.workerId };
  const step: StepRecord = {
    kind: 'step',
    status: 'started',
    effect,
    hash,
    intent,
    ...(attempt > 1 ? { attempt } : {}),
  };
  setStep(core, activation.path, record, key, step);
  core.committer.note(
    `{"kind":"intent","node":${JSON.stringify(activation.path)},"step":${JSON.stringify(key)},"effect":"${effect}"}`,
  );
  await core.durable();
  if (core.env.clock.monotonic() >= core.leaseUntilMs) {
    core.fail(new CairnError('CLAIM_LOST', { runId: core.runId }));
    await never();
  }
}

function failStep(
  core: RunCore,
  activation: Activation,
  key: string,
  effect: string,
  hash: string,
  attempt: number,
  error: unknown,
): unknown {
  const record = ensureSteps(activation);
  const applied = (error as { applied?: unknown } | undefined)?.applied === 'no' ? ({ applied: 'no' } as const) : {};
  const intent = recordedStep(activation, key)?.intent;
  const failed: StepRecord = {
    kind: 'step',
    status: 'failed',
    effect,
    hash,
    ...(attempt > 1 ? { attempt } : {}),
    ...applied,
    ...(intent === undefined ? {} : { intent }),
  };
  const thrown = error instanceof Error ? error : new Error(String(error));
  setStep(core, activation.path, record, key, { ...failed, error: thrown });
  noteStep(core, activation, key, failed);
  return error;
}

/** Runs `fn` with a deadline of its own, if it has one. */
async function withTimeout<T>(
  core: RunCore,
  activation: Activation,
  timeoutMs: number | undefined,
  fn: () => Promise<T> | T,
): Promise<T> {
  if (timeoutMs === undefined) return fn();
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    cancel = core.env.clock.setTimer(timeoutMs, () =>
      reject(new CairnError('NODE_TIMED_OUT', { node: activation.path.join('/'), timeoutMs })),
    );
  });
  try {
    return await Promise.race([fn(), late]);
  } finally {
    cancel();
  }
}

async function stepRetryDelay(
  core: RunCore,
  activation: Activation,
  key: string,
  options: StepOptions,
  attempt: number,
  error: unknown,
): Promise<number | undefined> {
  const delayMs = retryDelayMs(options.retry, attempt, factsOf(error), () => core.env.ids.random());
  if (delayMs === undefined) return undefined;
  const isSafe =
    !isEffect({ effect: options.effect ?? 'pure' }) ||
    options.idempotent === true ||
    (error as { applied?: unknown } | undefined)?.applied === 'no';
  if (isSafe) return delayMs;
  if (options.reconcile === undefined) return undefined;
  const found = await options.reconcile(effectKey(core, activation, key));
  return found.happened === false ? delayMs : undefined;
}
