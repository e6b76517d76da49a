/** The recorded finer units of a composed node: steps, questions, timers, signals, saves (X4). */
import { CairnError } from '../errors.ts';
import type { Question, StepContext, StepOptions } from '../graph/node-contract.ts';
import { admitValue, encodeValue, type Admitted } from '../state/codec.ts';
import { hashText } from '../state/hash.ts';
import type { NodeRecord, StepKind, StepRecord, WaitRecord } from '../state/tree.ts';
import type { Activation } from './activation.ts';
import { offloadValue } from './admit-outcome.ts';
import { encodeError } from './encode-error.ts';
import { doubtWait, judgeEffect } from './judge.ts';
import { takeEarlySignal } from './message-intake.ts';
import { openWait } from './open-wait.ts';
import { isEffect } from './effect.ts';
import { factsOf, retryDelayMs } from './retry.ts';
import type { RunCore } from './run-core.ts';
import { inputHashOf } from './settle.ts';
import { maybeLeave } from './leave.ts';
import { ensureSteps, setStep } from './step-record.ts';
import { holdTimer } from './timers.ts';

/** A promise for what will never come in this attempt: the function is left where it stands. */
const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** @throws NODE_CALL_REFUSED the attempt is over, or the node's class cannot be composed */
export function guardCall(activation: Activation, generation: number, call: string): void {
  const refuse = (reason: string): never => {
    throw new CairnError('NODE_CALL_REFUSED', { call, node: activation.path.join('/'), reason });
  };
  if (activation.generation !== generation || activation.phase !== 'running') refuse('this attempt is over');
  if (isEffect(activation.node))
    refuse(
      `a node of class ${activation.node.effect} cannot be composed; make it read, and its steps ${activation.node.effect}`,
    );
}

/** The key of the n-th call of a name, by call order. */
export function nextStepKey(core: RunCore, activation: Activation, name: string): string {
  if (name.length > core.env.limits.idBytes)
    throw new CairnError('ID_INVALID', { kind: 'step name', id: `${name.slice(0, 40)}…`, reason: 'it is too long' });
  const ordinal = (activation.ordinals.get(name) ?? 0) + 1;
  activation.ordinals.set(name, ordinal);
  return ordinal === 1 ? name : `${name}\0${ordinal}`;
}

export function recordedStep(activation: Activation, key: string): StepRecord | undefined {
  const steps = activation.frameRun.openRecordOf(activation.node)?.steps;
  return steps !== undefined && Object.hasOwn(steps, key) ? steps[key] : undefined;
}

/** A step's key among those of all saves: names recur after ctx.save, their effects must not (X1). */
function effectKey(core: RunCore, activation: Activation, key: string): string {
  const saves = activation.frameRun.openRecordOf(activation.node)?.saves ?? 0;
  return activation.keyFor(core.runId, saves === 0 ? key : `${key}\0save${saves}`);
}

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
    const judged = await judgeStep<T>(core, activation, key, options, recorded);
    if (judged !== undefined) return judged.output;
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
      if (activation.generation !== generation || activation.phase !== 'running' || core.isStopping) return never<T>();
      const delayMs = await stepRetryDelay(core, activation, key, options, attempt, error);
      if (delayMs === undefined) throw failStep(core, activation, key, effect, hash, attempt, error);
      attempt += 1;
      await new Promise<void>((resolve) => holdTimer(core, delayMs, resolve));
    }
  }
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

function checkStepCount(core: RunCore, record: NodeRecord): void {
  const count = (record as NodeRecord & { stepCount?: number }).stepCount ?? Object.keys(record.steps ?? {}).length;
  Object.defineProperty(record, 'stepCount', {
    value: count + 1,
    enumerable: false,
    writable: true,
    configurable: true,
  });
  if (count >= core.env.limits.steps)
    throw new CairnError('RUN_LIMIT', { limit: 'steps', value: core.env.limits.steps });
}

function stepHash(core: RunCore, activation: Activation, key: string, options: StepOptions): string {
  if (!('input' in options)) return inputHashOf(activation).hash;
  return hashText(admitValue(options.input, [...activation.path, key, 'input'], core.env.limits, core.redact).json);
}

function admitStep(core: RunCore, activation: Activation, key: string, value: unknown): Admitted {
  return admitValue(value, ['outputs', activation.node.id, key], core.env.limits, core.redact);
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

function finishStep(core: RunCore, activation: Activation, key: string, step: StepRecord, admitted: Admitted): unknown {
  const record = ensureSteps(activation);
  const { value } = admitted;
  setStep(
    core,
    activation.path,
    record,
    key,
    value === undefined ? step : { ...step, output: value },
    value === undefined ? undefined : admitted.json,
  );
  noteStep(core, activation, key, step);
  return value;
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
  const errorJson = encodeError(core, error, [...activation.path, key]);
  const thrown = error instanceof Error ? error : new Error(String(error));
  setStep(core, activation.path, record, key, { ...failed, error: thrown });
  noteStep(core, activation, key, failed, errorJson.length);
  return error;
}

function noteStep(core: RunCore, activation: Activation, key: string, step: StepRecord, _sizeBytes = 0): void {
  const attempt = step.attempt === undefined ? '' : `,"attempt":${step.attempt}`;
  const status = step.status === 'done' ? '' : `,"status":"${step.status}"`;
  const hash = step.hash === undefined ? '' : `,"hash":"${step.hash}"`;
  core.committer.note(
    `{"kind":"step","node":${JSON.stringify(activation.path)},"step":${JSON.stringify(key)},"effect":"${step.effect ?? 'pure'}"${attempt}${status}${hash}}`,
  );
  core.requestFlush();
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

/** A step that started and has no result: undefined means that it runs again. */
async function judgeStep<T>(
  core: RunCore,
  activation: Activation,
  key: string,
  options: StepOptions,
  recorded: StepRecord,
): Promise<{ readonly output: T } | undefined> {
  const { generation } = activation;
  const intent = recorded.intent as NonNullable<StepRecord['intent']>;
  const taken = await core.replay?.openStepOutcome(core, activation, key, intent);
  const verdict =
    taken === undefined
      ? await judgeEffect(core, {
          intent,
          isIdempotent: options.idempotent === true,
          applied: recorded.applied,
          decision: recorded.decision,
          reconcile: options.reconcile,
        })
      : ({ kind: 'happened', output: taken.output, by: 'replay' } as const);
  if (activation.generation !== generation || activation.phase !== 'running') return never();
  if (verdict.kind === 'run') return undefined;
  if (verdict.kind === 'happened') {
    const step: StepRecord = {
      kind: 'step',
      status: 'done',
      effect: recorded.effect ?? 'write',
      ...(recorded.hash === undefined ? {} : { hash: recorded.hash }),
      by: verdict.by,
    };
    return {
      output: finishStep(
        core,
        activation,
        key,
        step,
        await offloadValue(core, admitStep(core, activation, key, verdict.output)),
      ) as T,
    };
  }
  if (verdict.kind === 'failed')
    throw new CairnError('EFFECT_IN_DOUBT', { node: [...activation.path, key].join('/'), decided: 'fail' });
  const path = activation.path;
  const waitId = openWait(
    core,
    activation,
    key,
    doubtWait(path, `in doubt: ${key}`, recorded.effect ?? 'write', intent.key),
    recorded.wait,
  );
  if (recorded.wait === undefined) setStep(core, path, ensureSteps(activation), key, { ...recorded, wait: waitId });
  return leaveAtWait(core, activation);
}

/** The call will not return in this attempt. */
function leaveAtWait<T>(core: RunCore, activation: Activation): Promise<T> {
  activation.openWaits += 1;
  activation.stepsInFlight -= 1;
  maybeLeave(core, activation);
  return never<T>();
}

interface WaitCall {
  readonly kind: StepKind;
  readonly name: string;
  readonly wait: WaitRecord;
}

/** Returns what ended the wait if that is recorded, else opens it and leaves the function. */
async function waitFor(core: RunCore, activation: Activation, call: WaitCall): Promise<unknown> {
  const key = nextStepKey(core, activation, call.name);
  const recorded = recordedStep(activation, key);
  if (recorded?.status === 'done') return recorded.output;
  if (recorded?.status === 'failed') throw recorded.error;
  if (recorded === undefined && call.kind === 'signal') {
    const early = takeEarlySignal(core, call.name);
    if (early !== undefined) {
      return finishStep(
        core,
        activation,
        key,
        { kind: 'signal', status: 'done', by: early.by ?? 'signal' },
        admitStep(core, activation, key, early.value),
      );
    }
  }
  activation.stepsInFlight += 1;
  if (recorded === undefined && core.replay !== undefined) {
    const replayed = await core.replay.stepOutcome(core, activation, key, 'human', inputHashOf(activation).hash);
    if (replayed !== undefined) {
      activation.stepsInFlight -= 1;
      return finishStep(
        core,
        activation,
        key,
        { kind: call.kind, status: 'done', by: replayed.by ?? 'replay' },
        admitStep(core, activation, key, replayed.output),
      );
    }
  }
  const record = ensureSteps(activation);
  checkStepCount(core, record);
  const waitId = openWait(core, activation, key, call.wait, recorded?.wait);
  if (recorded === undefined) {
    const hash = inputHashOf(activation).hash;
    setStep(core, activation.path, record, key, {
      kind: call.kind,
      status: 'open',
      wait: waitId,
      hash,
      ...(call.wait.dueAt === undefined ? {} : { dueAt: call.wait.dueAt }),
    });
  }
  return leaveAtWait(core, activation);
}

export function ask(core: RunCore, activation: Activation, question: Question): Promise<unknown> {
  guardCall(activation, activation.generation, 'ask');
  const name = question.name ?? 'question';
  const wait: WaitRecord = {
    kind: 'question',
    node: activation.path,
    name,
    prompt: question.prompt,
    ...(question.choices === undefined ? {} : { choices: question.choices }),
    ...(question.schema === undefined ? {} : { schema: question.schema }),
    ...(question.metadata === undefined ? {} : { metadata: question.metadata }),
    ...(question.deadlineAt === undefined ? {} : { dueAt: question.deadlineAt }),
    ...('defaultAnswer' in question ? { defaultAnswer: question.defaultAnswer } : {}),
  };
  const admitted = admitValue(wait, [...activation.path, name], core.env.limits, core.redact).value as WaitRecord;
  return waitFor(core, activation, { kind: 'ask', name, wait: admitted });
}

export async function sleepUntil(
  core: RunCore,
  activation: Activation,
  time: number | Date,
  name: string,
): Promise<void> {
  guardCall(activation, activation.generation, 'sleepUntil');
  const dueAt = typeof time === 'number' ? time : time.getTime();
  if (!Number.isFinite(dueAt))
    throw new CairnError('NODE_CALL_REFUSED', {
      call: 'sleepUntil',
      node: activation.path.join('/'),
      reason: 'it needs a time',
    });
  await waitFor(core, activation, { kind: 'sleep', name, wait: { kind: 'timer', node: activation.path, name, dueAt } });
}

export async function receive(core: RunCore, activation: Activation, signal: string): Promise<unknown> {
  guardCall(activation, activation.generation, 'receive');
  return waitFor(core, activation, {
    kind: 'signal',
    name: signal,
    wait: { kind: 'signal', node: activation.path, name: signal },
  });
}

/** Commits the node's inner state; the steps recorded so far are retired with it. */
export async function save(core: RunCore, activation: Activation, state: unknown): Promise<void> {
  guardCall(activation, activation.generation, 'save');
  const record = ensureSteps(activation);
  if (activation.stepsInFlight > 0 || activation.openWaits > 0) {
    throw new CairnError('NODE_CALL_REFUSED', {
      call: 'save',
      node: activation.path.join('/'),
      reason: 'steps are still running',
    });
  }
  const { frame } = activation.frameRun;
  const admitted = admitValue(state, [...activation.path, 'saved'], core.env.limits, core.redact);
  const next: NodeRecord = { ...record, saved: admitted.value, saves: (record.saves ?? 0) + 1, steps: {} };
  delete next.children;
  frame.setNode(activation.node.id, next, encodeValue(next));
  activation.ordinals.clear();
  core.committer.note(`{"kind":"save","node":${JSON.stringify(activation.path)}}`);
  await core.durable();
}
